//! Which functions a pool means. What cannot be told of one, because its interface is in a pod's network namespace, leaves the
//! question open: a function must not change pools because a pod has it.

use crate::config::{Config, Pool};
use crate::facts::Facts;

/// Which functions are meant; everything that is stated must hold.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Selector {
    /// Four hexadecimal digits each.
    pub(crate) vendors: Vec<String>,
    pub(crate) devices: Vec<String>,
    pub(crate) drivers: Vec<String>,
    pub(crate) pci_addresses: Vec<String>,
    pub(crate) pf_names: Vec<PfNames>,
    pub(crate) link_types: Vec<LinkType>,
}

/// What runs on a link, as the kernel numbers it (`type` of an interface, `include/uapi/linux/if_arp.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkType {
    Ethernet,
    InfiniBand,
}

impl LinkType {
    /// The configuration's words for them.
    pub(crate) const WORDS: [(&str, Self); 2] = [("ether", Self::Ethernet), ("infiniband", Self::InfiniBand)];

    /// From the attribute `type`: ARPHRD_ETHER is 1, ARPHRD_INFINIBAND is 32.
    pub(crate) fn from_number(number: &str) -> Option<Self> {
        match number {
            "1" => Some(Self::Ethernet),
            "32" => Some(Self::InfiniBand),
            _ => None,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ethernet => "ether",
            Self::InfiniBand => "infiniband",
        }
    }
}

/// A physical function, by its interface's name or its own address, and which of its virtual functions.
#[derive(Debug, PartialEq)]
pub(crate) struct PfNames {
    name: String,
    /// First and last; all where there is none.
    ranges: Vec<(u32, u32)>,
}

impl PfNames {
    /// `p0`, `p0#3`, `p0#0-2,7`, `0000:1c:00.0#1-5`: as the common SR-IOV plugin writes them.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, ranges) = match text.split_once('#') {
            None => (text, Vec::new()),
            Some((name, ranges)) => (name, ranges.split(',').map(range).collect::<Result<_, _>>()?),
        };
        if name.is_empty() {
            return Err("must begin with an interface's name or a PCI address".to_owned());
        }
        Ok(Self { name: name.to_owned(), ranges })
    }

    fn means(&self, facts: &Facts) -> Answer {
        let named = facts.pf_address == self.name || facts.pf_names.contains(&self.name);
        // The address is always known; an interface may be elsewhere.
        if !named {
            let is_address = self.name.contains(':');
            return if facts.pf_names.is_empty() && !is_address { Answer::Open } else { Answer::No };
        }
        match facts.index {
            _ if self.ranges.is_empty() => Answer::Yes,
            Some(index) => self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&index)).into(),
            None => Answer::Open,
        }
    }
}

fn range(text: &str) -> Result<(u32, u32), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => Err(format!("`{text}` must be a number or a range of them, such as 1-5")),
    }
}

/// Whether something holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// Not told at the moment.
    Open,
}

impl From<bool> for Answer {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl Answer {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Open,
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::No, Self::No) => Self::No,
            _ => Self::Open,
        }
    }
}

impl Selector {
    fn means(&self, facts: &Facts) -> Answer {
        let listed = |list: &[String], value: &str| list.is_empty() || list.iter().any(|one| one == value);
        let plain = listed(&self.vendors, &facts.vendor)
            && listed(&self.devices, &facts.device)
            && listed(&self.drivers, &facts.driver)
            && listed(&self.pci_addresses, &facts.pci);
        let pf = match self.pf_names.as_slice() {
            [] => Answer::Yes,
            names => names.iter().map(|name| name.means(facts)).fold(Answer::No, Answer::or),
        };
        let link = match facts.link_type {
            _ if self.link_types.is_empty() => Answer::Yes,
            Some(link) => self.link_types.contains(&link).into(),
            None => Answer::Open,
        };
        Answer::from(plain).and(pf).and(link)
    }
}

impl Pool {
    pub(crate) fn means(&self, facts: &Facts) -> Answer {
        let rdma = match facts.rdma {
            _ if !self.rdma => Answer::Yes,
            Some(has) => has.into(),
            None => Answer::Open,
        };
        let selected = match self.select.as_slice() {
            [] => Answer::Yes,
            several => several.iter().map(|one| one.means(facts)).fold(Answer::No, Answer::or),
        };
        rdma.and(selected)
    }
}

/// Where a function belongs.
#[derive(Debug, PartialEq)]
pub(crate) enum Place<'a> {
    In(&'a Pool),
    Nowhere,
    /// This pool may mean it, which cannot be told now.
    Open(&'a Pool),
}

/// The first pool that means a function has it.
pub(crate) fn place<'a>(config: &'a Config, facts: &Facts) -> Place<'a> {
    for pool in &config.pools {
        match pool.means(facts) {
            Answer::Yes => return Place::In(pool),
            Answer::Open => return Place::Open(pool),
            Answer::No => {}
        }
    }
    Place::Nowhere
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn facts() -> Facts {
        Facts {
            pci: "0000:1c:00.2".to_owned(),
            vendor: "15b3".to_owned(),
            device: "101e".to_owned(),
            driver: "mlx5_core".to_owned(),
            pf_address: "0000:1c:00.0".to_owned(),
            pf_names: vec!["p0".to_owned()],
            index: Some(1),
            link_type: Some(LinkType::Ethernet),
            rdma: Some(true),
            rdma_device: Some("mlx5_3".to_owned()),
        }
    }

    /// The names of the pools that have the function, might have it, or nothing.
    fn placed(pools: &str, facts: &Facts) -> String {
        let config = config::parse(&format!(r#"{{"pools": [{pools}]}}"#)).unwrap();
        let name = match place(&config, facts) {
            Place::In(pool) => pool.resource.clone(),
            Place::Open(pool) => format!("{}?", pool.resource),
            Place::Nowhere => String::new(),
        };
        name.trim_start_matches("v.com/").to_owned()
    }

    fn selected(select: &str, facts: &Facts) -> String {
        placed(&format!(r#"{{"resource": "v.com/x", "select": [{select}]}}"#), facts)
    }

    #[test]
    fn all_that_is_stated_must_hold_and_one_entry_is_enough() {
        let yes = [
            r#"{"vendors": ["8086", "15b3"], "devices": ["101e"], "drivers": ["mlx5_core"]}"#,
            r#"{"pci-addresses": ["0000:1c:00.2"]}"#,
            r#"{"link-types": ["ether"]}"#,
            r#"{"vendors": ["8086"]}, {"vendors": ["15b3"]}"#,
            "{}",
        ];
        for select in yes {
            assert_eq!(selected(select, &facts()), "x", "{select}");
        }
        let no = [
            r#"{"vendors": ["15b3"], "drivers": ["vfio-pci"]}"#,
            r#"{"devices": ["101d"]}"#,
            r#"{"pci-addresses": ["0000:1c:00.20"]}"#,
            r#"{"link-types": ["infiniband"]}"#,
        ];
        for select in no {
            assert_eq!(selected(select, &facts()), "", "{select}");
        }
        assert_eq!(placed(r#"{"resource": "v.com/x"}"#, &facts()), "x");
    }

    #[test]
    fn physical_functions_are_named_with_ranges() {
        for (name, expected) in [
            ("p0", "x"),
            ("p0#1", "x"),
            ("p0#0-5", "x"),
            ("p0#0,2-3", ""),
            ("p0#0,1-1,9", "x"),
            ("0000:1c:00.0#1", "x"),
            ("0000:1c:00.0#2", ""),
            ("p1", ""),
            ("p", ""),
            ("p00", ""),
        ] {
            assert_eq!(selected(&format!(r#"{{"pf-names": ["{name}"]}}"#), &facts()), expected, "{name}");
        }
        for wrong in ["", "#1", "p0#", "p0#a", "p0#1-", "p0#-1", "p0#3-2", "p0#4294967296"] {
            assert!(PfNames::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_first_pool_that_means_a_function_has_it() {
        let rdma = r#"{"resource": "v.com/rdma", "rdma": true}"#;
        let rest = r#"{"resource": "v.com/rest"}"#;
        let both = [rdma, rest].join(",");
        assert_eq!(placed(&both, &facts()), "rdma");
        let without = Facts { rdma: Some(false), ..facts() };
        assert_eq!(placed(&both, &without), "rest");
        assert_eq!(placed(&[rest, rdma].join(","), &facts()), "rest");
    }

    /// What a pod has must not fall into a later pool because its interface is not seen.
    #[test]
    fn what_cannot_be_told_is_left_open() {
        let moved = Facts { rdma: None, link_type: None, ..facts() };
        let rest = r#"{"resource": "v.com/rest"}"#;
        assert_eq!(placed(&format!(r#"{{"resource": "v.com/r", "rdma": true}},{rest}"#), &moved), "r?");
        let ether = r#"{"resource": "v.com/e", "select": [{"link-types": ["ether"]}]}"#;
        assert_eq!(placed(&format!("{ether},{rest}"), &moved), "e?");
        // What is told decides all the same.
        let other = r#"{"resource": "v.com/o", "rdma": true, "select": [{"vendors": ["8086"]}]}"#;
        assert_eq!(placed(&format!("{other},{rest}"), &moved), "rest");
        let no_names = Facts { pf_names: vec![], index: None, ..facts() };
        assert_eq!(selected(r#"{"pf-names": ["p0"]}"#, &no_names), "x?");
        assert_eq!(selected(r#"{"pf-names": ["0000:1c:00.0"]}"#, &no_names), "x");
        assert_eq!(selected(r#"{"pf-names": ["0000:1c:00.0#1"]}"#, &no_names), "x?");
        assert_eq!(selected(r#"{"pf-names": ["0000:1d:00.0"]}"#, &no_names), "");
    }
}
