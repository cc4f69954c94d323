//! The ports of an RDMA device as the kernel tells of them.
//!
//! After its `Documentation/ABI/stable/sysfs-class-infiniband`, and `drivers/infiniband/core/sysfs.c` for the form: `state` is
//! `4: ACTIVE`, `phys_state` is `5: LinkUp`, `link_layer` is `InfiniBand` or `Ethernet` (RoCE), `counters/link_downed` a number.

use devgate_sdk::{Device, Error, Presence, Verdict};

/// One port.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Port {
    /// From 1.
    pub(crate) number: String,
    /// What the kernel says, or why that could not be read.
    pub(crate) state: Result<String, String>,
    pub(crate) phys_state: Result<String, String>,
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
        let text = |name: &str| {
            let value = device.attribute(&format!("ports/{number}/{name}"));
            value.map_err(|error| error.message)
        };
        Port {
            state: text("state"),
            phys_state: text("phys_state"),
            link_layer: text("link_layer").ok(),
            rate: text("rate").ok(),
            downed: text("counters/link_downed").ok().and_then(|count| count.parse().ok()),
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
    /// Whether data goes through it: what it is like otherwise, or that this cannot be told. A port always has both attributes, so that
    /// one that is not there cannot be read either.
    fn verdict(&self) -> Verdict {
        let is = |text: &Result<String, String>, number: &str| {
            let text = text.as_deref().ok();
            text.is_some_and(|text| text.split(':').next() == Some(number))
        };
        let (state, phys) = match (&self.state, &self.phys_state) {
            (Ok(state), Ok(phys)) => (word(state), word(phys)),
            (Err(why), _) | (_, Err(why)) => return Verdict::Unknown(format!("port {}: {why}", self.number)),
        };
        if is(&self.state, "4") && is(&self.phys_state, "5") {
            return Verdict::Healthy;
        }
        // Initialized and not active: nobody has told it its address.
        let hint = match self.link_layer.as_deref() {
            Some("InfiniBand") if is(&self.state, "2") => ": is there a subnet manager?",
            _ => "",
        };
        Verdict::Unhealthy(format!("port {} is {state} ({phys}){hint}", self.number))
    }
}

/// How the ports of a device are together: all of them must work, or one.
pub(crate) fn verdict(ports: &[Port], all: bool) -> Verdict {
    let verdicts = ports.iter().map(Port::verdict);
    if all { worst(verdicts) } else { best(verdicts) }
}

/// Healthy if one is; unhealthy only if each is, with the first one's reason. Of none: healthy.
pub(crate) fn best(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    first_by(verdicts, |verdict| match verdict {
        Verdict::Healthy => 0,
        Verdict::Unknown(_) => 1,
        Verdict::Unhealthy(_) => 2,
    })
}

/// Healthy only if each is; unhealthy if one is.
fn worst(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    first_by(verdicts, |verdict| match verdict {
        Verdict::Unhealthy(_) => 0,
        Verdict::Unknown(_) => 1,
        Verdict::Healthy => 2,
    })
}

fn first_by(verdicts: impl IntoIterator<Item = Verdict>, rank: fn(&Verdict) -> u8) -> Verdict {
    verdicts.into_iter().min_by_key(rank).unwrap_or(Verdict::Healthy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(number: &str, state: &str, phys_state: &str, layer: &str) -> Port {
        Port {
            number: number.to_owned(),
            state: Ok(state.to_owned()),
            phys_state: Ok(phys_state.to_owned()),
            link_layer: Some(layer.to_owned()),
            rate: None,
            downed: None,
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
    fn a_port_works_when_it_is_active_and_its_link_is_up() {
        for (state, phys, layer, expected) in [
            ("4: ACTIVE", "5: LinkUp", "InfiniBand", None),
            ("4: ACTIVE", "5: LinkUp", "Ethernet", None),
            ("1: DOWN", "3: Disabled", "Ethernet", Some("port 1 is DOWN (Disabled)")),
            ("1: DOWN", "2: Polling", "InfiniBand", Some("port 1 is DOWN (Polling)")),
            ("2: INIT", "5: LinkUp", "InfiniBand", Some("port 1 is INIT (LinkUp): is there a subnet manager?")),
            (
                "5: ACTIVE_DEFER",
                "6: LinkErrorRecovery",
                "InfiniBand",
                Some("port 1 is ACTIVE_DEFER (LinkErrorRecovery)"),
            ),
            ("44: x", "5: LinkUp", "Ethernet", Some("port 1 is x (LinkUp)")),
        ] {
            let verdict = port("1", state, phys, layer).verdict();
            assert_eq!(problem(verdict).as_deref(), expected, "{state} {phys} {layer}");
        }
    }

    #[test]
    fn a_port_that_cannot_be_read_is_unknown() {
        let up = port("1", "4: ACTIVE", "5: LinkUp", "InfiniBand");
        let state = Port { state: Err("EIO".to_owned()), ..up.clone() };
        let phys = Port { phys_state: Err("EBUSY".to_owned()), ..up };
        assert_eq!(problem(state.verdict()).unwrap(), "unknown: port 1: EIO");
        assert_eq!(problem(phys.verdict()).unwrap(), "unknown: port 1: EBUSY");
    }

    #[test]
    fn one_port_or_all_must_work() {
        let up = port("1", "4: ACTIVE", "5: LinkUp", "InfiniBand");
        let down = port("2", "1: DOWN", "3: Disabled", "InfiniBand");
        let blind = Port { number: "3".to_owned(), state: Err("EIO".to_owned()), ..up.clone() };
        let of = |ports: &[&Port], all| problem(verdict(&ports.iter().copied().cloned().collect::<Vec<_>>(), all));
        let (is_down, is_unknown) = (Some("port 2 is DOWN (Disabled)"), Some("unknown: port 3: EIO"));
        for (ports, any, all) in [
            (&[][..], None, None),
            (&[&up, &down], None, is_down),
            (&[&down], is_down, is_down),
            (&[&up, &blind], None, is_unknown),
            (&[&down, &blind], is_unknown, is_down),
        ] {
            assert_eq!(of(ports, false).as_deref(), any, "{ports:?}");
            assert_eq!(of(ports, true).as_deref(), all, "{ports:?}");
        }
    }
}
