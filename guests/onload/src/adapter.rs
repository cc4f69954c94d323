//! One adapter's port: each is a PCI function of its own.
//!
//! Its interface is described by the kernel's `Documentation/ABI/testing/sysfs-class-net` (`operstate`, `carrier`).

use crate::config::Config;
use devgate_sdk::{Device, Presence, Verdict};

/// Solarflare's id, which AMD has kept.
const VENDOR: &str = "0x1924";
/// The kernel's drivers: `sfc`, and `sfc_ef100` for adapters that are programmable.
const DRIVERS: [&str; 2] = ["sfc", "sfc_ef100"];

/// What is known of it.
#[derive(Debug, PartialEq)]
pub(crate) struct Adapter {
    pci: String,
    driver: String,
    device: String,
    /// Its interface, unless it is in a pod's network namespace.
    interface: Option<String>,
}

impl Adapter {
    /// Reads it; nothing where the function is something else.
    ///
    /// # Errors
    /// Why it cannot be described now.
    pub(crate) fn of(function: &Device) -> Result<Option<Self>, String> {
        match function.attribute("vendor").if_present() {
            Ok(Some(vendor)) if vendor == VENDOR => {}
            Ok(_) => return Ok(None),
            Err(error) => return Err(error.message),
        }
        let Some(driver) = function.driver() else {
            return Err("it has no driver".to_owned());
        };
        if !DRIVERS.contains(&driver.as_str()) {
            return Ok(None);
        }
        Ok(Some(Self {
            pci: function.name(),
            driver,
            device: function.attribute("device").unwrap_or_default(),
            interface: interfaces(function).into_iter().next(),
        }))
    }

    /// For rules, filters and people.
    pub(crate) fn properties(self) -> Vec<(&'static str, String)> {
        let mut properties = vec![("pci", self.pci), ("driver", self.driver), ("device", self.device)];
        properties.extend(self.interface.map(|name| ("interface", name)));
        properties
    }
}

fn interfaces(function: &Device) -> Vec<String> {
    function.entries("net").unwrap_or_default()
}

/// How it is. The host watches presence itself.
pub(crate) fn health(config: &Config, function: &Device) -> Verdict {
    match function.attribute("vendor") {
        Ok(vendor) if vendor == VENDOR => {}
        Ok(vendor) => return Verdict::Unhealthy(format!("it does not answer: vendor reads {vendor}")),
        Err(error) if error.is_absence() => return Verdict::Unhealthy("its PCI function is gone".to_owned()),
        Err(error) => return Verdict::Unknown(error.message),
    }
    match function.driver() {
        Some(driver) if DRIVERS.contains(&driver.as_str()) => {}
        Some(driver) => return Verdict::Unhealthy(format!("its driver is {driver} now")),
        None => return Verdict::Unhealthy("it has no driver now".to_owned()),
    }
    if !config.link {
        return Verdict::Healthy;
    }
    // Without an interface here it is in some network namespace, and what it is like cannot be told.
    let mut verdict = Verdict::Healthy;
    for name in interfaces(function) {
        let text = |attribute: &str| function.attribute(&format!("net/{name}/{attribute}"));
        match text("operstate").if_present() {
            Ok(operstate) => {
                if let Some(problem) = link_problem(&name, operstate.as_deref(), text("carrier").ok().as_deref()) {
                    return Verdict::Unhealthy(problem);
                }
            }
            Err(error) => verdict = Verdict::Unknown(error.message),
        }
    }
    verdict
}

/// What is wrong with an interface, if anything. `carrier` cannot be read while it is administratively down.
fn link_problem(name: &str, operstate: Option<&str>, carrier: Option<&str>) -> Option<String> {
    match (operstate, carrier) {
        (Some("up"), _) | (None, _) => None,
        (Some("unknown"), carrier) if carrier != Some("0") => None,
        (Some("down"), None) => Some(format!("interface {name} is administratively down")),
        (Some(state), Some("0")) => Some(format!("interface {name} is {state}, no carrier")),
        (Some(state), _) => Some(format!("interface {name} is {state}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_told_by_its_state_and_then_by_its_carrier() {
        for (operstate, carrier, expected) in [
            (Some("up"), Some("1"), None),
            (Some("unknown"), Some("1"), None),
            (Some("unknown"), None, None),
            (None, None, None),
            (Some("unknown"), Some("0"), Some("interface a is unknown, no carrier")),
            (Some("down"), Some("0"), Some("interface a is down, no carrier")),
            (Some("down"), None, Some("interface a is administratively down")),
            (Some("dormant"), Some("1"), Some("interface a is dormant")),
        ] {
            assert_eq!(link_problem("a", operstate, carrier).as_deref(), expected, "{operstate:?} {carrier:?}");
        }
    }
}
