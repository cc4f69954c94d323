//! The link of a physical function, on which all its virtual functions depend.
//!
//! After the kernel's `Documentation/ABI/testing/sysfs-class-net` (`operstate`, `carrier`, `phys_port_name`) and
//! `Documentation/ABI/stable/sysfs-class-infiniband` (`ports/<n>/state`, such as `4: ACTIVE`).

use crate::select::LinkType;
use devgate_sdk::{Device, Error, Presence, Verdict};
use std::collections::HashMap;

/// How the links of the physical functions are that were asked for in this call, so that each is read once.
#[derive(Default)]
pub(crate) struct Links(HashMap<String, Verdict>);

impl Links {
    /// How a physical function's link is.
    pub(crate) fn verdict(&mut self, pf: &Device) -> Verdict {
        let known = self.0.entry(pf.name()).or_insert_with(|| look(pf));
        known.clone()
    }
}

/// The interfaces of a physical function that are its own ports: in switchdev mode, it has the representors of its virtual
/// functions as well, whose port is named `pf0vf1`.
///
/// # Errors
/// When they cannot be listed.
pub(crate) fn uplinks(pf: &Device) -> Result<Vec<String>, Error> {
    let mut names = pf.entries("net").if_present()?.unwrap_or_default();
    if names.len() > 1 {
        names.retain(|name| {
            // Without a name of its port (EOPNOTSUPP, or empty) it is no representor.
            let port = pf.attribute(&format!("net/{name}/phys_port_name")).unwrap_or_default();
            is_uplink(&port)
        });
    }
    Ok(names)
}

/// `p0` and `p0s1` are ports (`include/net/devlink.h`: physical, and split); `pf0vf1`, `pf0`, `c1pf0sf2` are representors.
fn is_uplink(port: &str) -> bool {
    match port.strip_prefix('p') {
        None => port.is_empty(),
        Some(rest) => rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains("pf") && !rest.contains("vf"),
    }
}

fn look(pf: &Device) -> Verdict {
    // An interface that is not here is in some network namespace, and what it is like cannot be told.
    let names = match uplinks(pf) {
        Ok(names) => names,
        Err(error) => return Verdict::Unknown(error.message),
    };
    let kind = |name: &String| pf.attribute(&format!("net/{name}/type")).ok();
    let kind = names.iter().filter_map(kind).find_map(|number| LinkType::from_number(&number));
    if kind == Some(LinkType::InfiniBand) {
        // IP over InfiniBand may be down while the port is not.
        return match ports(pf) {
            Ok(ports) => best(ports.into_iter().map(port_verdict)),
            Err(error) => Verdict::Unknown(error.message),
        };
    }
    let interface = |name: String| Interface {
        operstate: present(pf.attribute(&format!("net/{name}/operstate"))),
        carrier: pf.attribute(&format!("net/{name}/carrier")).ok(),
        name,
    };
    best(names.into_iter().map(interface).map(|interface| interface.verdict()))
}

/// What the kernel says; nothing of what has gone into another network namespace; else why it cannot be read.
type Said = Option<Result<String, String>>;

fn present(value: Result<String, Error>) -> Said {
    value.if_present().map_err(|error| error.message).transpose()
}

/// An interface as the kernel tells of it.
#[derive(Debug, Clone)]
struct Interface {
    name: String,
    /// RFC 2863: `unknown`, `notpresent`, `down`, `lowerlayerdown`, `testing`, `dormant`, `up`.
    operstate: Said,
    /// `0` or `1`; cannot be read (EINVAL) while the interface is administratively down.
    carrier: Option<String>,
}

impl Interface {
    fn verdict(&self) -> Verdict {
        let (name, carrier) = (&self.name, self.carrier.as_deref());
        let state = match &self.operstate {
            Some(Ok(state)) => state.as_str(),
            Some(Err(why)) => return Verdict::Unknown(format!("interface {name}: {why}")),
            // Gone in this moment: into another namespace.
            None => return Verdict::Healthy,
        };
        match (state, carrier) {
            ("up", _) => Verdict::Healthy,
            // A driver that does not tell: then the carrier does.
            ("unknown", carrier) if carrier != Some("0") => Verdict::Healthy,
            ("down", None) => Verdict::Unhealthy(format!("interface {name} is administratively down")),
            (state, Some("0")) => Verdict::Unhealthy(format!("interface {name} is {state}, no carrier")),
            (state, _) => Verdict::Unhealthy(format!("interface {name} is {state}")),
        }
    }
}

/// One port that works is enough; one that cannot be read may work. Of none nothing is known, and nothing is held against it.
fn best(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::Healthy => 0,
        Verdict::Unknown(_) => 1,
        Verdict::Unhealthy(_) => 2,
    };
    verdicts.into_iter().min_by_key(rank).unwrap_or(Verdict::Healthy)
}

/// The ports of a function's RDMA devices: name, and state as the kernel writes it.
fn ports(pf: &Device) -> Result<Vec<(String, Said)>, Error> {
    let mut found = Vec::new();
    for device in pf.entries("infiniband").if_present()?.unwrap_or_default() {
        let numbers = pf.entries(&format!("infiniband/{device}/ports")).if_present()?;
        for port in numbers.unwrap_or_default() {
            let state = pf.attribute(&format!("infiniband/{device}/ports/{port}/state"));
            found.push((format!("{device} port {port}"), present(state)));
        }
    }
    Ok(found)
}

fn port_verdict((name, state): (String, Said)) -> Verdict {
    let state = match state {
        Some(Ok(state)) => state,
        Some(Err(why)) => return Verdict::Unknown(format!("{name}: {why}")),
        // A port has a state: one without it cannot be told.
        None => return Verdict::Unknown(format!("{name} has no state")),
    };
    if state.split(':').next() == Some("4") {
        return Verdict::Healthy;
    }
    let word = state.split_once(": ").map_or(state.as_str(), |(_, word)| word);
    Verdict::Unhealthy(format!("{name} is {word}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(operstate: Option<Result<&str, &str>>, carrier: Option<&str>) -> Interface {
        Interface {
            name: "p0".to_owned(),
            operstate: operstate.map(|said| said.map(str::to_owned).map_err(str::to_owned)),
            carrier: carrier.map(str::to_owned),
        }
    }

    /// Nothing where it works.
    fn problem(verdict: Verdict) -> Option<String> {
        match verdict {
            Verdict::Healthy => None,
            Verdict::Unhealthy(why) => Some(why),
            Verdict::Unknown(why) => Some(format!("unknown: {why}")),
        }
    }

    #[test]
    fn a_link_is_told_by_its_state_and_then_by_its_carrier() {
        for (operstate, carrier, expected) in [
            (Some(Ok("up")), Some("1"), None),
            (Some(Ok("up")), None, None),
            (Some(Ok("unknown")), Some("1"), None),
            (Some(Ok("unknown")), None, None),
            (Some(Ok("unknown")), Some("0"), Some("interface p0 is unknown, no carrier")),
            (Some(Ok("down")), Some("0"), Some("interface p0 is down, no carrier")),
            (Some(Ok("down")), None, Some("interface p0 is administratively down")),
            (Some(Ok("dormant")), Some("1"), Some("interface p0 is dormant")),
            (Some(Ok("lowerlayerdown")), Some("1"), Some("interface p0 is lowerlayerdown")),
            (Some(Err("EIO")), Some("1"), Some("unknown: interface p0: EIO")),
            (Some(Err("EIO")), Some("0"), Some("unknown: interface p0: EIO")),
            // It has gone into another namespace.
            (None, Some("0"), None),
            (None, None, None),
        ] {
            let found = problem(interface(operstate, carrier).verdict());
            assert_eq!(found.as_deref(), expected, "{operstate:?} {carrier:?}");
        }
    }

    #[test]
    fn one_port_is_enough_and_no_interface_says_nothing() {
        let of = |states: &[Result<&str, &str>]| {
            let verdicts = states.iter().map(|state| interface(Some(*state), None).verdict());
            problem(best(verdicts))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[Ok("down"), Ok("up")]), None);
        assert_eq!(of(&[Err("EIO"), Ok("up")]), None);
        let down = "interface p0 is administratively down";
        assert_eq!(of(&[Ok("down"), Ok("down")]).as_deref(), Some(down));
        let unknown = "unknown: interface p0: EIO";
        assert_eq!(of(&[Ok("down"), Err("EIO")]).as_deref(), Some(unknown));
    }

    #[test]
    fn ports_of_infiniband_are_active_or_not() {
        for (state, expected) in [
            (Some(Ok("4: ACTIVE")), None),
            (Some(Ok("2: INIT")), Some("mlx5_0 port 1 is INIT")),
            (Some(Ok("40: x")), Some("mlx5_0 port 1 is x")),
            (Some(Err("EIO")), Some("unknown: mlx5_0 port 1: EIO")),
            (None, Some("unknown: mlx5_0 port 1 has no state")),
        ] {
            let said = state.map(|said| said.map(str::to_owned).map_err(str::to_owned));
            let found = problem(port_verdict(("mlx5_0 port 1".to_owned(), said)));
            assert_eq!(found.as_deref(), expected, "{state:?}");
        }
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
