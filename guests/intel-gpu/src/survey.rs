//! Which GPUs there are: PCI functions with the driver i915 or xe, and the DRM devices beneath them.

use crate::config::{Config, Monitoring};
use crate::{DRIVERS, PCI, models};
use devgate_sdk::{Device, Error, Node, Presence, Unit, hardware};
use std::collections::BTreeMap;

/// The only id of the resource for monitoring.
const ALL: &str = "all";
/// The most tiles of a GPU that are looked at; there are at most two.
const MAX_TILES: u32 = 8;

/// What a look found.
#[derive(Default)]
pub(crate) struct Found {
    /// By driver.
    pub(crate) units: BTreeMap<&'static str, Vec<Unit>>,
    pub(crate) monitoring: Option<Unit>,
    /// The names of functions that are there and cannot be described now.
    pub(crate) unread: Vec<String>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
}

/// Looks for all GPUs.
///
/// # Errors
/// When the functions cannot be listed at all.
pub(crate) fn look(config: &Config) -> Result<Found, Error> {
    let mut found = Found::default();
    let mut all = Vec::new();
    for function in hardware::devices(PCI)? {
        let address = function.name();
        match gpu(&function, config) {
            Ok(Some((driver, unit))) => match watched(&function, config.monitoring) {
                Ok(nodes) => {
                    all.extend(nodes);
                    found.units.entry(driver).or_default().push(unit);
                }
                Err(error) => found.cannot(address, &error),
            },
            Ok(None) => {}
            Err(error) => found.cannot(address, &error),
        }
    }
    if !all.is_empty() {
        found.monitoring = Some(Unit { id: ALL.to_owned(), backing: Vec::new(), nodes: all, properties: Vec::new() });
    }
    Ok(found)
}

impl Found {
    fn cannot(&mut self, address: String, error: &Error) {
        self.notes.push(format!("GPU {address} cannot be described now: {}", error.message));
        self.unread.push(address);
    }
}

/// The nodes of a GPU that the unit for monitoring has.
fn watched(function: &Device, monitoring: Monitoring) -> Result<Vec<Node>, Error> {
    if monitoring == Monitoring::None {
        return Ok(Vec::new());
    }
    let nodes = function.nodes()?.into_iter();
    Ok(nodes.filter(|node| is_wanted(node, monitoring)).collect())
}

/// A function's unit; nothing where it is not offered.
fn gpu(function: &Device, config: &Config) -> Result<Option<(&'static str, Unit)>, Error> {
    let id = function.attribute("device")?;
    if !config.wants(&id) {
        return Ok(None);
    }
    let driver = match function.driver() {
        Some(name) => DRIVERS.into_iter().find(|driver| *driver == name),
        None => return Err(Error::not_found("it has no driver")),
    };
    let Some(driver) = driver else { return Ok(None) };
    if virtual_functions(function)? > 0 {
        // What it has is its virtual functions', which are offered if the policy grants them. One that a pod holds stays listed, and
        // its health says this.
        return Ok(None);
    }
    if !devgate_drm::is_made(function)? {
        return Err(Error::not_found(format!("{driver} has made no DRM device for it")));
    }
    let address = function.name();
    let mut unit =
        Unit::of(&address, function.duplicate(), function.nodes()?).with("pci", &address).with("driver", driver);
    if let Some(family) = models::family(&id, &address) {
        unit = unit.with("family", family);
    }
    if let Some(product) = models::product(&id) {
        unit = unit.with("product", product);
    }
    if let Some(bytes) = memory(function) {
        unit = unit.with("memory", bytes.to_string());
    }
    if let Some(numa) = function.numa_node() {
        unit = unit.with("numa", numa.to_string());
    }
    if function.link("physfn").is_ok() {
        unit = unit.with("virtual", "true");
    }
    Ok(Some((driver, unit.with("device", id))))
}

/// How many virtual functions it has; a function that can have none has no such attribute.
pub(crate) fn virtual_functions(function: &Device) -> Result<u64, Error> {
    let text = function.attribute("sriov_numvfs").if_present()?.unwrap_or_default();
    Ok(text.parse().unwrap_or_default())
}

/// The bytes of its own memory: xe tells them for each tile, `tile0/physical_vram_size_bytes` (`xe_vram_sysfs`), Intel's out-of-tree i915
/// for its card, `lmem_total_bytes`. The i915 that comes with the kernel tells nothing.
fn memory(function: &Device) -> Option<u64> {
    let mut sum = 0_u64;
    for tile in 0..MAX_TILES {
        // Both places have been used.
        let places =
            [format!("tile{tile}/physical_vram_size_bytes"), format!("tile{tile}/memory/physical_vram_size_bytes")];
        let texts = function.attributes(&places);
        let Some(bytes) = texts.into_iter().flatten().find_map(|text| bytes(&text)) else {
            break;
        };
        sum = sum.saturating_add(bytes);
    }
    let card = || {
        let names = function.entries("drm").ok()?;
        let card = names.iter().find(|name| name.starts_with("card"))?;
        bytes(&function.attribute(&format!("drm/{card}/lmem_total_bytes")).ok()?)
    };
    (sum > 0).then_some(sum).or_else(card)
}

/// A number of bytes, in the decimal or hexadecimal form that drivers use.
fn bytes(text: &str) -> Option<u64> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.ok().filter(|bytes| *bytes > 0)
}

fn is_wanted(node: &Node, monitoring: Monitoring) -> bool {
    monitoring == Monitoring::All || node.owner().is_some_and(|(name, _)| name.starts_with("card"))
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_in_both_forms() {
        assert_eq!(bytes("17179869184"), Some(17_179_869_184));
        assert_eq!(bytes("0x3fa000000"), Some(17_079_205_888));
        for none in ["", "0", "many", "0x", "-1"] {
            assert_eq!(bytes(none), None, "{none}");
        }
    }
}
