//! What the captures of a line of the kernel's log mean. Which pattern of the policy they come from does not matter: what they
//! mean is in their form, so that an admin may leave one out.

use crate::xid::{FALLEN, RECOVERY, Severity};

/// A GPU's place as the driver writes it: domain, bus and device. The function is always the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot {
    domain: u32,
    bus: u8,
    device: u8,
}

impl Slot {
    /// From `PCI:0000:05:00`, `0000:05:00`, `0000:05:00.0` or `05:00`; domains have four digits or eight. In MIG mode the driver
    /// adds the instance (`PCI:0000:05:00 GPU-I:01 GPU-CI:00`), which makes it no other GPU.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.split_once(" GPU-").map_or(text, |(slot, _)| slot);
        let text = text.strip_prefix("PCI:").unwrap_or(text);
        let text = text.split_once('.').map_or(text, |(slot, _)| slot);
        let mut parts = text.rsplit(':');
        let device = u8::from_str_radix(parts.next()?, 16).ok()?;
        let bus = u8::from_str_radix(parts.next()?, 16).ok()?;
        let domain = match parts.next() {
            Some(domain) => u32::from_str_radix(domain, 16).ok()?,
            None => 0,
        };
        parts.next().is_none().then_some(Self { domain, bus, device })
    }
}

impl std::fmt::Display for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}", self.domain, self.bus, self.device)
    }
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// An Xid, or what means the same.
    Xid { slot: Slot, code: u32, severity: Option<Severity> },
    /// Xid 154: what the driver asks for from now on.
    Recovery { slot: Slot, action: u32 },
    /// The first of the three lines that a GPU that has fallen off the bus can be worth.
    Named(Slot),
    /// The last of them.
    Fallen,
    /// The driver has been loaded, and every GPU is initialized anew.
    Loaded,
}

/// What captures mean, if anything.
pub(crate) fn meaning(captures: &[String]) -> Option<Said> {
    let captures: Vec<&str> = captures.iter().map(String::as_str).collect();
    match captures.as_slice() {
        ["loading"] => Some(Said::Loaded),
        ["fallen off the bus"] => Some(Said::Fallen),
        ["The", slot, ""] | ["The", slot] => Some(Said::Named(Slot::parse(slot)?)),
        ["The", slot, _] | [slot] => Some(Said::Xid { slot: Slot::parse(slot)?, code: FALLEN, severity: None }),
        [slot, code, rest @ ..] => xid(slot, code, rest),
        [] => None,
    }
}

fn xid(slot: &str, code: &str, rest: &[&str]) -> Option<Said> {
    let (slot, code) = (Slot::parse(slot)?, code.parse().ok()?);
    let action = rest.iter().find_map(|text| text.strip_prefix("0x"));
    if let (RECOVERY, Some(action)) = (code, action) {
        let action = u32::from_str_radix(action, 16).ok()?;
        return Some(Said::Recovery { slot, action });
    }
    let severity = match rest.first() {
        Some(&"Fatal") => Some(Severity::Fatal),
        Some(&"Nonfatal") => Some(Severity::Nonfatal),
        _ => None,
    };
    Some(Said::Xid { slot, code, severity })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(captures: &[&str]) -> Option<Said> {
        meaning(&captures.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    fn slot(text: &str) -> Slot {
        Slot::parse(text).unwrap()
    }

    #[test]
    fn each_way_to_write_a_place_is_the_same_place() {
        let same = slot("0000:1b:00.0");
        for text in [
            "PCI:0000:1b:00",
            "0000:1B:00",
            "1b:00",
            "00000000:1b:00",
            "PCI:0000:1b:00.0",
            "PCI:0000:1b:00 GPU-I:01",
            "PCI:0000:1b:00 GPU-I:01 GPU-CI:00",
        ] {
            assert_eq!(Slot::parse(text), Some(same), "{text}");
        }
        assert_eq!(same.to_string(), "0000:1b:00");
        assert_ne!(slot("0001:1b:00"), same);
        for bad in ["", "PCI:", "x", "1b", "0:0:0:0:0", "0000:1b:zz", "0000:1bb:00"] {
            assert_eq!(Slot::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn forms_are_told_apart() {
        let xid = |code, severity| {
            let slot = slot("05:00");
            Some(Said::Xid { slot, code, severity })
        };
        assert_eq!(of(&["0000:05:00", "79"]), xid(79, None));
        assert_eq!(of(&["0000:05:00", "79", "", ""]), xid(79, None));
        assert_eq!(of(&["0000:05:00", "149", "Fatal", ""]), xid(149, Some(Severity::Fatal)));
        assert_eq!(of(&["0000:05:00", "149", "Nonfatal", ""]), xid(149, Some(Severity::Nonfatal)));
        assert_eq!(of(&["0000:05:00.0"]), xid(79, None));
        assert_eq!(of(&["The", "0000:05:00.0", "fallen off the bus"]), xid(79, None));
        assert_eq!(of(&["The", "0000:05:00.0", ""]), Some(Said::Named(slot("05:00"))));
        assert_eq!(of(&["fallen off the bus"]), Some(Said::Fallen));
        assert_eq!(of(&["loading"]), Some(Said::Loaded));
        let recovery = |action| {
            let slot = slot("05:00");
            Some(Said::Recovery { slot, action })
        };
        assert_eq!(of(&["0000:05:00", "154", "", "0x1"]), recovery(1));
        assert_eq!(of(&["0000:05:00", "154", "", ""]), xid(154, None));
        for odd in [&[] as &[&str], &["x"], &["0000:05:00", "x"], &["x", "79"], &["0000:05:00", "154", "", "0xzz"]] {
            assert_eq!(of(odd), None, "{odd:?}");
        }
    }
}
