//! Which accelerators there are: hardware of the buses with a device of the class `accel` beneath it.

use crate::config::Config;
use crate::drivers::{self, Driver};
use crate::{ACCEL, BUSES};
use devgate_sdk::{Device, Error, Node, Presence, Unit, hardware};
use std::collections::BTreeMap;

/// What a look found.
#[derive(Default)]
pub(crate) struct Found {
    /// By resource.
    pub(crate) units: BTreeMap<String, Vec<Unit>>,
    /// By resource, the names of hardware that is there and cannot be described now.
    pub(crate) unread: BTreeMap<String, Vec<String>>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
}

/// Looks for all accelerators.
///
/// # Errors
/// When a bus cannot be listed at all.
pub(crate) fn look(config: &Config) -> Result<Found, Error> {
    let mut found = Found::default();
    for bus in BUSES {
        for device in hardware::devices(bus)? {
            let name = device.name();
            let resource = whose(&device, config);
            match accelerator(device, config) {
                Ok(Ok((resource, unit))) => found.units.entry(resource.to_owned()).or_default().push(unit),
                Ok(Err(Some(note))) => found.notes.push(format!("{name} is left out: {note}")),
                Ok(Err(None)) => {}
                Err(error) => {
                    found.notes.push(format!("{name} cannot be described now: {}", error.message));
                    if let Some(resource) = resource {
                        found.unread.entry(resource.to_owned()).or_default().push(name);
                    }
                }
            }
        }
    }
    Ok(found)
}

/// What hardware is offered as, by its driver, or by its vendor where it has none.
fn whose<'a>(device: &Device, config: &'a Config) -> Option<&'a str> {
    let name = device.driver().or_else(|| {
        let vendor = device.attribute("vendor").ok()?;
        drivers::of_vendor(&vendor).map(|driver| driver.name.to_owned())
    })?;
    config.resource(&name)
}

/// A resource's name and the unit; where it is none, why, if that is worth a word.
type Looked<'a> = Result<(&'a str, Unit), Option<String>>;

fn accelerator(device: Device, config: &Config) -> Result<Looked<'_>, Error> {
    let Some(driver) = device.driver() else {
        return Err(Error::not_found("it has no driver"));
    };
    let Some(resource) = config.resource(&driver) else {
        // A driver of the class that is not in the table, or something else that the policy's selectors match.
        let note = format!("nothing says what devices of {driver} are offered as (config: resources)");
        return Ok(Err(number(&device)?.map(|_| note)));
    };
    let known = drivers::of(&driver);
    let Some(index) = number(&device)? else {
        return Err(Error::not_found(format!("{driver} has made no device of the class {ACCEL} for it")));
    };
    let mut nodes = device.nodes()?;
    nodes.extend(known.map(|known| control(known, index)).transpose()?.into_iter().flatten());
    let mut unit = Unit::of(id(&device.name()), device.duplicate(), nodes)
        .with("driver", driver)
        .with("device", device.name())
        .with("index", index.to_string());
    if device.subsystem() == "pci" {
        unit = unit.with("pci", device.name());
    }
    let attributes = known.map(|known| known.attributes).unwrap_or_default();
    for (attribute, name) in attributes {
        if let Some(value) = device.attribute(attribute).ok().filter(|value| !value.is_empty()) {
            unit = unit.with(*name, value);
        }
    }
    if let Some(numa) = device.numa_node() {
        unit = unit.with("numa", numa.to_string());
    }
    Ok(Ok((resource, unit)))
}

/// The nodes of the device of the class that controls the one of this number. It may be beneath the hardware, and then its nodes are
/// among those already; the host takes each once.
fn control(driver: &Driver, index: u32) -> Result<Vec<Node>, Error> {
    let Some(name) = driver.control else {
        return Ok(Vec::new());
    };
    let device = hardware::device_by_name(ACCEL, &format!("{name}{index}")).if_present()?;
    device.map_or_else(|| Ok(Vec::new()), |device| device.nodes())
}

/// The number of the device of the class that is beneath some hardware, if its driver has made one: the kernel puts them in one
/// directory.
fn number(device: &Device) -> Result<Option<u32>, Error> {
    let names = device.entries(ACCEL).if_present()?.unwrap_or_default();
    Ok(names.iter().find_map(|name| index(name)))
}

/// The number of a device of the class: `accel0` has 0, `accel_controlD0` has none.
fn index(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(ACCEL)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The kernel's name as an id: what an id may not contain becomes `_`.
fn id(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || ['.', ':', '-', '_'].contains(&c);
    name.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_all_that_follows() {
        assert_eq!((index("accel0"), index("accel12")), (Some(0), Some(12)));
        for none in ["accel", "accel_controlD0", "accel-1", "accel0x", "card0", "accel99999999999"] {
            assert_eq!(index(none), None, "{none}");
        }
    }

    #[test]
    fn names_are_ids() {
        assert_eq!(id("0000:19:00.0"), "0000:19:00.0");
        assert_eq!(id("fdab0000.npu"), "fdab0000.npu");
        assert_eq!(id("npu@fdab0000"), "npu_fdab0000");
    }
}
