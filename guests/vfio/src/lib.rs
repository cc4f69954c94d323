//! What accelerators have in common that are bound to vfio, for programs in user space (DPDK) and virtual machines: the
//! kernel asks such a function nothing, so that it is there, on vfio, and has a node is all there is to know of the
//! function itself.
#![forbid(unsafe_code)]

use devgate_sdk::{Device, Edits, Error, Node, Presence, Unit, Verdict, hardware, log};

/// What opens groups of vfio, and what functions are attached to that are opened by nodes of their own (`vfio-dev`).
const OPENERS: [&str; 2] = ["vfio", "iommu"];

/// Whether a driver gives the function to programs in user space: vfio-pci, or a vendor's variant of it.
#[must_use]
pub fn is_vfio(driver: &str) -> bool {
    driver.contains("vfio")
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
