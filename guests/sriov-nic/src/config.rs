//! What the admin writes under `config:`, parsed strictly: a key that means nothing here is refused, not ignored.

use crate::parse::{Fields, fields, refused};
use crate::select::{LinkType, PfNames, Selector};
use devgate_sdk::Error;
use serde_json::Value;

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
    let value: Value = serde_json::from_str(json).map_err(|error| refused("", &format!("not JSON: {error}")))?;
    if value.is_null() {
        return Err(refused("", "empty; write `pools:` with a list of resources"));
    }
    let mut root = fields(String::new(), value)?;
    let Some(list) = root.list("pools")? else {
        return Err(refused("", "`pools` is missing: a list of resources"));
    };
    root.end()?;
    let mut pools: Vec<Pool> = Vec::new();
    for (at, value) in list {
        let pool = pool(fields(at.clone(), value)?)?;
        if pools.iter().any(|other| other.resource == pool.resource) {
            let problem = format!(
                "resource {} is there already; one pool may have several entries in `select`",
                pool.resource
            );
            return Err(refused(&at, &problem));
        }
        pools.push(pool);
    }
    Ok(Config { pools })
}

fn pool(mut fields: Fields) -> Result<Pool, Error> {
    let resource = fields.text("resource")?;
    let resource = resource.ok_or_else(|| refused(fields.at(), "`resource` is missing"))?;
    let select = fields.list("select")?.unwrap_or_default();
    let pool = Pool {
        resource,
        select: select.into_iter().map(selector).collect::<Result<_, _>>()?,
        rdma: fields.flag("rdma")?,
        vhost_net: fields.flag("vhost-net")?,
        info: fields.flag("info")?,
        link: match fields.text("link")?.as_deref() {
            None | Some("watch") => true,
            Some("ignore") => false,
            Some(_) => return Err(refused(&fields.place("link"), "must be watch or ignore")),
        },
    };
    fields.end()?;
    Ok(pool)
}

fn selector((at, value): (String, Value)) -> Result<Selector, Error> {
    let mut fields = fields(at, value)?;
    let plain = |texts: Vec<(String, String)>| texts.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    let selector = Selector {
        vendors: ids(fields.texts("vendors")?)?,
        devices: ids(fields.texts("devices")?)?,
        drivers: plain(fields.texts("drivers")?),
        pci_addresses: plain(fields.texts("pci-addresses")?),
        pf_names: {
            let names = fields.texts("pf-names")?.into_iter();
            let name = |(at, text): (String, String)| PfNames::parse(&text).map_err(|problem| refused(&at, &problem));
            names.map(name).collect::<Result<_, _>>()?
        },
        link_types: {
            let types = fields.texts("link-types")?.into_iter();
            let one = |(at, text): (String, String)| {
                LinkType::from_word(&text).ok_or_else(|| refused(&at, "must be ether or infiniband"))
            };
            types.map(one).collect::<Result<_, _>>()?
        },
    };
    fields.end()?;
    Ok(selector)
}

/// PCI ids as the kernel writes them, without `0x`.
fn ids(texts: Vec<(String, String)>) -> Result<Vec<String>, Error> {
    let id = |(at, text): (String, String)| {
        let digits = text.strip_prefix("0x").unwrap_or(&text).to_ascii_lowercase();
        let fine = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        fine.then_some(digits)
            .ok_or_else(|| refused(&at, "must be four hexadecimal digits in quotes, as in \"15b3\""))
    };
    texts.into_iter().map(id).collect()
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
            pf_names: vec![
                PfNames::parse("p0#1-5,7").unwrap(),
                PfNames::parse("0000:1c:00.0").unwrap(),
            ],
            link_types: vec![LinkType::Ethernet, LinkType::InfiniBand],
        };
        assert_eq!(all.select, [selector]);
        assert_eq!(
            config.pool("v.com/c").unwrap_err().message,
            "config: no pool is v.com/c"
        );
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        let select = |inner: &str| format!(r#"{{"pools": [{{"resource": "v.com/a", "select": [{inner}]}}]}}"#);
        for (json, message) in [
            (
                "null".to_owned(),
                "config: empty; write `pools:` with a list of resources",
            ),
            ("[]".to_owned(), "config: must be a mapping"),
            ("{}".to_owned(), "config: `pools` is missing: a list of resources"),
            (
                r#"{"pools": []}"#.to_owned(),
                "config pools: must be a list with at least one entry",
            ),
            (
                r#"{"pools": [{}]}"#.to_owned(),
                "config pools[0]: `resource` is missing",
            ),
            (
                r#"{"pools": [{"resource": "v.com/a"}, {"resource": "v.com/a"}]}"#.to_owned(),
                "config pools[1]: resource v.com/a is there already; one pool may have several entries in `select`",
            ),
            (
                r#"{"pools": [{"resource": "v.com/a", "isRdma": true}]}"#.to_owned(),
                "config pools[0]: unknown key `isRdma`; known here: resource, select, rdma, vhost-net, info, link",
            ),
            (
                r#"{"pools": [{"resource": 3}]}"#.to_owned(),
                "config pools[0].resource: must be text in quotes",
            ),
            (
                r#"{"pools": [{"resource": "v.com/a", "rdma": 1}]}"#.to_owned(),
                "config pools[0].rdma: must be true or false",
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
                "config pools[0].select[0].vendors[0]: must be text in quotes",
            ),
            (
                select(r#"{"link-types": "eth"}"#),
                "config pools[0].select[0].link-types: must be ether or infiniband",
            ),
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
