//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use crate::select::{LinkType, PfNames, Selector};
use devgate_sdk::Error;
use devgate_sdk::fields::{Field, Fields};

/// The whole configuration.
#[derive(Debug, PartialEq)]
pub(crate) struct Config {
    /// In the order written: the first that matches a function has it.
    pub(crate) pools: Vec<Pool>,
}

/// One resource.
#[derive(Debug, PartialEq)]
pub(crate) struct Pool {
    pub(crate) resource: String,
    /// Functions that one of these matches; all where there is none.
    pub(crate) select: Vec<Selector>,
    /// Functions with an RDMA device and no others, whose nodes come with them.
    pub(crate) rdma: bool,
    /// Whether containers get `/dev/vhost-net` and `/dev/net/tun`.
    pub(crate) vhost_net: bool,
    /// Whether containers get the description of their functions as JSON.
    pub(crate) info: bool,
    /// Whether the physical function's link decides about health.
    pub(crate) link: bool,
}

impl Config {
    /// The pool of a resource.
    ///
    /// # Errors
    /// `not-found` where the configuration has none: it is another than the one that the resource was listed under.
    pub(crate) fn pool(&self, resource: &str) -> Result<&Pool, Error> {
        let found = self.pools.iter().find(|pool| pool.resource == resource);
        found.ok_or_else(|| Error::not_found(format!("config: no pool is {resource}")))
    }
}

/// Parses the configuration as the host gives it.
///
/// # Errors
/// `invalid`, naming the place and what would be right there.
pub(crate) fn parse(json: &str) -> Result<Config, Error> {
    let mut root = Fields::parse(json)?;
    if root.is_empty() {
        return Err(root.refused("empty; write `pools:` with a list of resources"));
    }
    let list = root.require("pools")?.list()?;
    root.end()?;
    let mut pools: Vec<Pool> = Vec::new();
    for field in list {
        let pool = pool(field.fields()?, &pools)?;
        pools.push(pool);
    }
    Ok(Config { pools })
}

fn pool(mut fields: Fields, before: &[Pool]) -> Result<Pool, Error> {
    let resource = fields.require("resource")?;
    let name = resource.resource()?;
    if before.iter().any(|pool| pool.resource == name) {
        let problem = format!("{name} is there already; one pool may have several entries in `select`");
        return Err(resource.refused(&problem));
    }
    let pool = Pool {
        resource: name.to_owned(),
        select: match fields.take("select") {
            None => Vec::new(),
            Some(select) => select.list()?.into_iter().map(selector).collect::<Result<_, _>>()?,
        },
        rdma: fields.switch("rdma")?.unwrap_or(false),
        vhost_net: fields.switch("vhost-net")?.unwrap_or(false),
        info: fields.switch("info")?.unwrap_or(false),
        link: fields.choice("link", &[("watch", true), ("ignore", false)])?.unwrap_or(true),
    };
    fields.end()?;
    Ok(pool)
}

fn selector(field: Field) -> Result<Selector, Error> {
    let mut fields = field.fields()?;
    let selector = Selector {
        vendors: each(&mut fields, "vendors", id)?,
        devices: each(&mut fields, "devices", id)?,
        drivers: fields.texts("drivers")?.unwrap_or_default(),
        pci_addresses: fields.texts("pci-addresses")?.unwrap_or_default(),
        pf_names: each(&mut fields, "pf-names", |field| {
            PfNames::parse(field.text()?).map_err(|problem| field.refused(&problem))
        })?,
        link_types: each(&mut fields, "link-types", |field| field.choice(&LinkType::WORDS))?,
    };
    fields.end()?;
    Ok(selector)
}

/// One or several; none where the key is not there.
fn each<T>(fields: &mut Fields, key: &str, read: fn(&Field) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    match fields.take(key) {
        None => Ok(Vec::new()),
        Some(field) => field.several()?.iter().map(read).collect(),
    }
}

/// A PCI id as the kernel writes it, without `0x`.
fn id(field: &Field) -> Result<String, Error> {
    let text = field.text()?;
    let digits = text.strip_prefix("0x").unwrap_or(text).to_ascii_lowercase();
    let fine = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    fine.then_some(digits).ok_or_else(|| field.refused("must be four hexadecimal digits in quotes, as in \"15b3\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_read_with_all_its_keys() {
        let json = r#"{"pools": [
            {"resource": "v.com/a"},
            {"resource": "v.com/b", "rdma": true, "vhost-net": true, "info": true, "link": "ignore", "select": [
                {"vendors": ["0x15B3"], "devices": "101e", "drivers": ["mlx5_core"], "pf-names": ["p0#1-5,7", "0000:1c:00.0"],
                 "pci-addresses": "0000:1c:00.1", "link-types": ["ether", "infiniband"]}]}]}"#;
        let config = parse(json).unwrap();
        let plain = Pool {
            resource: "v.com/a".to_owned(),
            select: vec![],
            rdma: false,
            vhost_net: false,
            info: false,
            link: true,
        };
        assert_eq!(config.pool("v.com/a").unwrap(), &plain);
        let all = config.pool("v.com/b").unwrap();
        assert!(all.rdma && all.vhost_net && all.info && !all.link);
        let selector = Selector {
            vendors: vec!["15b3".to_owned()],
            devices: vec!["101e".to_owned()],
            drivers: vec!["mlx5_core".to_owned()],
            pci_addresses: vec!["0000:1c:00.1".to_owned()],
            pf_names: vec![PfNames::parse("p0#1-5,7").unwrap(), PfNames::parse("0000:1c:00.0").unwrap()],
            link_types: vec![LinkType::Ethernet, LinkType::InfiniBand],
        };
        assert_eq!(all.select, [selector]);
        assert_eq!(config.pool("v.com/c").unwrap_err().message, "config: no pool is v.com/c");
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        let select = |inner: &str| format!(r#"{{"pools": [{{"resource": "v.com/a", "select": [{inner}]}}]}}"#);
        for (json, message) in [
            ("null".to_owned(), "config: empty; write `pools:` with a list of resources"),
            ("[]".to_owned(), "config: must be a mapping, is a list"),
            ("{}".to_owned(), "config: empty; write `pools:` with a list of resources"),
            (r#"{"pool": 1}"#.to_owned(), "config: `pools` is missing"),
            (r#"{"pools": []}"#.to_owned(), "config pools: must not be empty"),
            (r#"{"pools": [{}]}"#.to_owned(), "config pools[0]: `resource` is missing"),
            (
                r#"{"pools": [{"resource": "v.com/a"}, {"resource": "v.com/a"}]}"#.to_owned(),
                "config pools[1].resource: v.com/a is there already; one pool may have several entries in `select`",
            ),
            (
                r#"{"pools": [{"resource": "v.com/a", "isRdma": true}]}"#.to_owned(),
                "config pools[0]: unknown key `isRdma`; known here: resource, select, rdma, vhost-net, info, link",
            ),
            (
                r#"{"pools": [{"resource": 3}]}"#.to_owned(),
                "config pools[0].resource: must be a resource's name, such as vendor.com/device, is a number",
            ),
            (
                r#"{"pools": [{"resource": "v.com/a", "rdma": 1}]}"#.to_owned(),
                "config pools[0].rdma: must be true or false, is a number",
            ),
            (
                r#"{"pools": [{"resource": "v.com/a", "link": "up"}]}"#.to_owned(),
                "config pools[0].link: must be watch or ignore",
            ),
            (
                select(r#"{"vendors": ["15b"]}"#),
                "config pools[0].select[0].vendors[0]: must be four hexadecimal digits in quotes, as in \"15b3\"",
            ),
            (
                select(r#"{"vendors": [5555]}"#),
                "config pools[0].select[0].vendors[0]: must be text in quotes, is a number",
            ),
            (select(r#"{"link-types": "eth"}"#), "config pools[0].select[0].link-types: must be ether or infiniband"),
            (
                select(r#"{"pf-names": ["p0#5-1"]}"#),
                "config pools[0].select[0].pf-names[0]: `5-1` must be a number or a range of them, such as 1-5",
            ),
        ] {
            assert_eq!(parse(&json).unwrap_err().message, message);
        }
        assert!(parse("{").unwrap_err().message.starts_with("config: not JSON"));
    }
}
