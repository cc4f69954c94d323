//! The link of a physical function, on which all its virtual functions depend.
//!
//! After the kernel's `Documentation/ABI/testing/sysfs-class-net` (`operstate`, `carrier`, `phys_port_name`) and
//! `Documentation/ABI/stable/sysfs-class-infiniband` (`ports/<n>/state`, such as `4: ACTIVE`).

use crate::select::LinkType;
use devgate_sdk::Device;
use std::collections::HashMap;

/// What is wrong with the links of the physical functions that were asked for in this call, so that each is read once.
#[derive(Default)]
pub(crate) struct Links(HashMap<String, Option<String>>);

impl Links {
    /// What is wrong with a physical function's link, if anything.
    pub(crate) fn problem(&mut self, pf: &Device) -> Option<String> {
        let known = self.0.entry(pf.name()).or_insert_with(|| look(pf));
        known.clone()
    }
}

/// The interfaces of a physical function that are its own ports: in switchdev mode, it has the representors of its virtual
/// functions as well, whose port is named `pf0vf1`.
pub(crate) fn uplinks(pf: &Device) -> Vec<String> {
    let mut names = pf.entries("net").unwrap_or_default();
    if names.len() > 1 {
        names.retain(|name| {
            // Without a name of its port (EOPNOTSUPP, or empty) it is no representor.
            let port = pf.attribute(&format!("net/{name}/phys_port_name")).unwrap_or_default();
            is_uplink(&port)
        });
    }
    names
}

/// `p0` and `p0s1` are ports (`include/net/devlink.h`: physical, and split); `pf0vf1`, `pf0`, `c1pf0sf2` are representors.
fn is_uplink(port: &str) -> bool {
    match port.strip_prefix('p') {
        None => port.is_empty(),
        Some(rest) => rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains("pf") && !rest.contains("vf"),
    }
}

fn look(pf: &Device) -> Option<String> {
    // An interface that is not here is in some network namespace, and what it is like cannot be told.
    let names = uplinks(pf);
    let kind = |name: &String| pf.attribute(&format!("net/{name}/type")).ok();
    let kind = names
        .iter()
        .filter_map(kind)
        .find_map(|number| LinkType::from_number(&number));
    if kind == Some(LinkType::InfiniBand) {
        // IP over InfiniBand may be down while the port is not.
        return ports_problem(&ports(pf));
    }
    let interface = |name: &String| Interface {
        name: name.clone(),
        operstate: pf.attribute(&format!("net/{name}/operstate")).ok(),
        carrier: pf.attribute(&format!("net/{name}/carrier")).ok(),
    };
    interfaces_problem(&names.iter().map(interface).collect::<Vec<_>>())
}

/// An interface as the kernel tells of it.
#[derive(Debug, Clone)]
struct Interface {
    name: String,
    /// RFC 2863: `unknown`, `notpresent`, `down`, `lowerlayerdown`, `testing`, `dormant`, `up`.
    operstate: Option<String>,
    /// `0` or `1`; cannot be read (EINVAL) while the interface is administratively down.
    carrier: Option<String>,
}

impl Interface {
    fn problem(&self) -> Option<String> {
        let (name, carrier) = (&self.name, self.carrier.as_deref());
        match self.operstate.as_deref() {
            Some("up") => None,
            // A driver that does not tell: then the carrier does.
            Some("unknown") if carrier != Some("0") => None,
            // Gone in this moment: into another namespace.
            None if carrier.is_none() => None,
            None if carrier == Some("1") => None,
            Some("down") if carrier.is_none() => Some(format!("interface {name} is administratively down")),
            state => {
                let state = state.unwrap_or("unknown");
                let cable = if carrier == Some("0") { ", no carrier" } else { "" };
                Some(format!("interface {name} is {state}{cable}"))
            }
        }
    }
}

/// One port that works is enough.
fn interfaces_problem(interfaces: &[Interface]) -> Option<String> {
    let problems: Vec<_> = interfaces.iter().map(Interface::problem).collect();
    if problems.iter().any(Option::is_none) {
        return None;
    }
    problems.into_iter().flatten().next()
}

/// The ports of a function's RDMA devices: name, and state as the kernel writes it.
fn ports(pf: &Device) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for device in pf.entries("infiniband").unwrap_or_default() {
        for port in pf.entries(&format!("infiniband/{device}/ports")).unwrap_or_default() {
            if let Ok(state) = pf.attribute(&format!("infiniband/{device}/ports/{port}/state")) {
                found.push((format!("{device} port {port}"), state));
            }
        }
    }
    found
}

fn ports_problem(ports: &[(String, String)]) -> Option<String> {
    let is_active = |state: &str| state.split(':').next() == Some("4");
    if ports.iter().any(|(_, state)| is_active(state)) {
        return None;
    }
    let (name, state) = ports.first()?;
    let word = state.split_once(": ").map_or(state.as_str(), |(_, word)| word);
    Some(format!("{name} is {word}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(operstate: Option<&str>, carrier: Option<&str>) -> Interface {
        Interface {
            name: "p0".to_owned(),
            operstate: operstate.map(str::to_owned),
            carrier: carrier.map(str::to_owned),
        }
    }

    #[test]
    fn a_link_is_told_by_its_state_and_then_by_its_carrier() {
        for (operstate, carrier, expected) in [
            (Some("up"), Some("1"), None),
            (Some("unknown"), Some("1"), None),
            (Some("unknown"), None, None),
            (Some("unknown"), Some("0"), Some("interface p0 is unknown, no carrier")),
            (Some("down"), Some("0"), Some("interface p0 is down, no carrier")),
            (Some("down"), None, Some("interface p0 is administratively down")),
            (Some("dormant"), Some("1"), Some("interface p0 is dormant")),
            (
                Some("lowerlayerdown"),
                Some("1"),
                Some("interface p0 is lowerlayerdown"),
            ),
            (None, Some("0"), Some("interface p0 is unknown, no carrier")),
            (None, Some("1"), None),
            (None, None, None),
        ] {
            let problem = interface(operstate, carrier).problem();
            assert_eq!(problem.as_deref(), expected, "{operstate:?} {carrier:?}");
        }
    }

    #[test]
    fn one_port_is_enough_and_no_interface_says_nothing() {
        let (up, down) = (interface(Some("up"), Some("1")), interface(Some("down"), Some("0")));
        assert_eq!(interfaces_problem(&[]), None);
        assert_eq!(interfaces_problem(&[down.clone(), up]), None);
        assert!(interfaces_problem(&[down.clone(), down]).is_some());
    }

    #[test]
    fn ports_of_infiniband_are_active_or_not() {
        let port = |state: &str| ("mlx5_0 port 1".to_owned(), state.to_owned());
        assert_eq!(ports_problem(&[]), None);
        assert_eq!(ports_problem(&[port("4: ACTIVE")]), None);
        assert_eq!(ports_problem(&[port("1: DOWN"), port("4: ACTIVE")]), None);
        assert_eq!(ports_problem(&[port("2: INIT")]).unwrap(), "mlx5_0 port 1 is INIT");
        assert_eq!(ports_problem(&[port("40: x")]).unwrap(), "mlx5_0 port 1 is x");
    }

    #[test]
    fn representors_are_no_uplinks() {
        for port in ["", "p0", "p1", "p0s1", "p12"] {
            assert!(is_uplink(port), "{port}");
        }
        for port in ["pf0vf0", "pf0", "c1pf0vf3", "pf0sf88", "vf1"] {
            assert!(!is_uplink(port), "{port}");
        }
    }
}
