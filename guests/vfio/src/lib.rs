//! What devices have in common that are bound to vfio, for programs in user space (DPDK) and virtual machines: the
//! kernel asks such a function nothing, so that it is there, on vfio, and has a node is all there is to know of the
//! function itself.
#![forbid(unsafe_code)]

use devgate_sdk::{Device, Edits, Error, Node, Presence, Unit, Verdict, hardware, log};
use std::collections::BTreeMap;

/// What opens groups of vfio, and what functions are attached to that are opened by nodes of their own (`vfio-dev`).
const OPENERS: [&str; 2] = ["vfio", "iommu"];

/// Whether a driver gives the function to programs in user space: vfio-pci, or a vendor's variant of it.
#[must_use]
pub fn is_vfio(driver: &str) -> bool {
    driver.contains("vfio")
}

/// Whether a device is bound so.
#[must_use]
pub fn is_on_vfio(device: &Device) -> bool {
    device.driver().is_some_and(|driver| is_vfio(&driver))
}

/// The PCI functions on vfio by iommu group: what one group has is given together. Of one without a group `note` is told.
///
/// # Errors
/// When the bus cannot be listed now.
pub fn groups(mut note: impl FnMut(String)) -> Result<BTreeMap<String, Vec<Device>>, Error> {
    let mut groups: BTreeMap<String, Vec<Device>> = BTreeMap::new();
    for device in hardware::devices("pci")?.into_iter().filter(is_on_vfio) {
        match device.link("iommu_group") {
            Ok(group) => groups.entry(group).or_default().push(device),
            Err(error) => note(format!("{} is not offered: it has no iommu group: {}", device.name(), error.message)),
        }
    }
    Ok(groups)
}

/// The nodes of a group's functions, each once: one opens the whole group.
///
/// # Errors
/// When one is there and cannot be told now.
pub fn nodes(members: &[Device]) -> Result<Vec<Node>, Error> {
    let mut nodes: Vec<Node> = Vec::new();
    for member in members {
        for node in member.nodes()? {
            if !nodes.iter().any(|held| held.path() == node.path()) {
                nodes.push(node);
            }
        }
    }
    Ok(nodes)
}

/// The verdict on a unit of a group's functions.
#[must_use]
pub fn group_health(unit: &Unit) -> Verdict {
    if unit.nodes.is_empty() {
        return Verdict::Unhealthy("the policy offers no node of its iommu group".to_owned());
    }
    match unit.backing.iter().find(|device| !is_on_vfio(device)) {
        None => Verdict::Healthy,
        Some(device) => Verdict::Unhealthy(match device.driver() {
            Some(driver) => format!("{} is bound to {driver} now", device.name()),
            None => format!("{} has no driver now", device.name()),
        }),
    }
}

/// The nodes that programs open functions through, as far as the policy offers them. None gives anything by itself.
///
/// # Errors
/// When one is there and cannot be told now.
pub fn openers() -> Result<Vec<Node>, Error> {
    let mut nodes = Vec::new();
    for name in OPENERS {
        if let Some(device) = hardware::device_by_name("misc", name).if_present()? {
            nodes.extend(device.nodes()?);
        }
    }
    if nodes.is_empty() {
        log::warn(
            "nothing that opens functions on vfio is offered, and containers will miss it: the policy's `hardware` \
             lacks {subsystem: misc, name: vfio, use: offer, nodes: [{shared: true}]}, or vfio is not loaded",
        );
    }
    Ok(nodes)
}

/// The verdict on a unit of one function, as far as vfio is concerned.
#[must_use]
pub fn health(unit: &Unit) -> Verdict {
    let Some(function) = unit.backing.first() else {
        return Verdict::Unknown("nothing is known of its hardware".to_owned());
    };
    match function.attribute("vendor") {
        Ok(_) => {}
        Err(error) if error.is_absence() => return Verdict::Unhealthy("its PCI function is gone".to_owned()),
        Err(error) => return Verdict::Unknown(error.message),
    }
    match function.driver() {
        Some(driver) if is_vfio(&driver) => {}
        Some(driver) => return Verdict::Unhealthy(format!("it is bound to {driver} now, not to vfio")),
        None => return Verdict::Unhealthy("it has no driver now".to_owned()),
    }
    if unit.nodes.is_empty() {
        let why = "no node of vfio is offered: the policy's `nodes:` lacks {subsystem: vfio}, \
                   or the kernel has none (no iommu)";
        return Verdict::Unhealthy(why.to_owned());
    }
    Verdict::Healthy
}

/// `NAME0`, `NAME1` and so on with the addresses of the units, as Intel's plugins number them: at most so many, as the
/// policy has to list each.
#[must_use]
pub fn numbered(name: &str, units: &[Unit], most: u64) -> Edits {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if most != 0 && units.len() > most {
        log::warn(&format!("{} functions are given, and the variables of {most} are set (variables)", units.len()));
    }
    let mut addresses: Vec<String> = units.iter().filter_map(|unit| unit.backing.first().map(Device::name)).collect();
    addresses.sort();
    let set = |edits: Edits, (index, address)| edits.with_env(format!("{name}{index}"), address);
    addresses.into_iter().take(most).enumerate().fold(Edits::none(), set)
}
