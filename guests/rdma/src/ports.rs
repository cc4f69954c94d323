//! The ports of an RDMA device as the kernel tells of them.
//!
//! After its `Documentation/ABI/stable/sysfs-class-infiniband`, and `drivers/infiniband/core/sysfs.c` for the form: `state` is
//! `4: ACTIVE`, `phys_state` is `5: LinkUp`, `link_layer` is `InfiniBand` or `Ethernet` (RoCE), `counters/link_downed` a number.

use devgate_sdk::{Device, Error, Presence};

/// One port.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Port {
    /// From 1.
    pub(crate) number: String,
    pub(crate) state: Option<String>,
    pub(crate) phys_state: Option<String>,
    pub(crate) link_layer: Option<String>,
    pub(crate) rate: Option<String>,
    /// How often its link went down, as far as the device counts it.
    pub(crate) downed: Option<u64>,
}

/// The ports of a device; none where it is not there.
///
/// # Errors
/// Where they cannot be listed.
pub(crate) fn of(device: &Device) -> Result<Vec<Port>, Error> {
    let numbers = device.entries("ports").if_present()?.unwrap_or_default();
    let port = |number: String| {
        let text = |name: &str| device.attribute(&format!("ports/{number}/{name}")).ok();
        Port {
            state: text("state"),
            phys_state: text("phys_state"),
            link_layer: text("link_layer"),
            rate: text("rate"),
            downed: text("counters/link_downed").and_then(|count| count.parse().ok()),
            number,
        }
    };
    Ok(numbers.into_iter().map(port).collect())
}

/// What stands behind the number: `ACTIVE` of `4: ACTIVE`.
fn word(text: &str) -> &str {
    text.split_once(": ").map_or(text, |(_, word)| word)
}

impl Port {
    /// What keeps data from it, if anything. What cannot be read says nothing.
    pub(crate) fn problem(&self) -> Option<String> {
        let is = |text: &Option<String>, number: &str| match text {
            Some(text) => text.split(':').next() == Some(number),
            None => true,
        };
        if is(&self.state, "4") && is(&self.phys_state, "5") {
            return None;
        }
        let state = self.state.as_deref().map_or("?", word);
        let phys = self.phys_state.as_deref().map_or("?", word);
        // Initialized and not active: nobody has told it its address.
        let hint = match self.link_layer.as_deref() {
            Some("InfiniBand") if is(&self.state, "2") => ": is there a subnet manager?",
            _ => "",
        };
        Some(format!("port {} is {state} ({phys}){hint}", self.number))
    }
}

/// What is wrong with the ports of a device, if anything: with one of them where `all` must work, or with each.
pub(crate) fn problem(ports: &[Port], all: bool) -> Option<String> {
    let problems: Vec<_> = ports.iter().map(Port::problem).collect();
    if !all && problems.iter().any(Option::is_none) {
        return None;
    }
    problems.into_iter().flatten().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(number: &str, state: &str, phys_state: &str, layer: &str) -> Port {
        Port {
            number: number.to_owned(),
            state: Some(state.to_owned()),
            phys_state: Some(phys_state.to_owned()),
            link_layer: Some(layer.to_owned()),
            ..Port::default()
        }
    }

    #[test]
    fn a_port_works_when_it_is_active_and_its_link_is_up() {
        let of = |state, phys, layer| port("1", state, phys, layer).problem();
        assert_eq!(of("4: ACTIVE", "5: LinkUp", "InfiniBand"), None);
        assert_eq!(of("4: ACTIVE", "5: LinkUp", "Ethernet"), None);
        assert_eq!(
            of("1: DOWN", "3: Disabled", "Ethernet").unwrap(),
            "port 1 is DOWN (Disabled)"
        );
        assert_eq!(
            of("1: DOWN", "2: Polling", "InfiniBand").unwrap(),
            "port 1 is DOWN (Polling)"
        );
        assert_eq!(
            of("2: INIT", "5: LinkUp", "InfiniBand").unwrap(),
            "port 1 is INIT (LinkUp): is there a subnet manager?"
        );
        assert_eq!(
            of("5: ACTIVE_DEFER", "6: LinkErrorRecovery", "InfiniBand").unwrap(),
            "port 1 is ACTIVE_DEFER (LinkErrorRecovery)"
        );
        assert_eq!(of("44: x", "5: LinkUp", "Ethernet").unwrap(), "port 1 is x (LinkUp)");
        assert_eq!(Port::default().problem(), None);
    }

    #[test]
    fn one_port_or_all_must_work() {
        let up = port("1", "4: ACTIVE", "5: LinkUp", "InfiniBand");
        let down = port("2", "1: DOWN", "3: Disabled", "InfiniBand");
        assert_eq!(problem(&[], true), None);
        assert_eq!(problem(&[up.clone(), down.clone()], false), None);
        assert_eq!(problem(&[up, down.clone()], true).unwrap(), "port 2 is DOWN (Disabled)");
        assert_eq!(problem(&[down], false).unwrap(), "port 2 is DOWN (Disabled)");
    }
}
