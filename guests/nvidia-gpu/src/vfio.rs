//! GPUs that are bound to vfio, for virtual machines: no GPU of NVIDIA's driver, but what its iommu group opens.

use crate::survey::is_gpu;
use devgate_sdk::{Device, Error, Node, Pool, Property, Unit, Verdict, hardware};
use std::collections::BTreeMap;

/// The GPUs on vfio, by iommu group: what one group has is given together, such as a card's audio function.
pub(crate) fn pool(resource: &str, notes: &mut Vec<String>) -> Result<Pool, Error> {
    let mut groups: BTreeMap<String, Vec<Device>> = BTreeMap::new();
    for device in hardware::devices("pci")?.into_iter().filter(is_on_vfio) {
        match device.link("iommu_group") {
            Ok(group) => groups.entry(group).or_default().push(device),
            Err(error) => {
                notes.push(format!("{} is not offered: it has no iommu group: {}", device.name(), error.message))
            }
        }
    }
    let (mut pool, mut unread) = (Pool::new(resource, Vec::new()), Vec::new());
    for (group, members) in groups {
        if let Some(first) = members.iter().find(|device| is_gpu(*device)).map(Device::name) {
            let names: Vec<String> = members.iter().map(Device::name).collect();
            match unit(first, &group, members) {
                Ok(unit) => pool.units.push(unit),
                Err(error) => {
                    notes.push(format!("iommu group {group} cannot be described now: {}", error.message));
                    unread.extend(names);
                }
            }
        }
    }
    pool.properties.extend(crate::survey::unread(&unread));
    // The node that programs open to tie groups together. It gives nothing by itself.
    let all = hardware::devices("misc")?;
    for container in all.iter().filter(|device| device.name() == "vfio") {
        match container.nodes() {
            Ok(nodes) => pool.shared_nodes.extend(nodes),
            Err(error) => notes.push(error.message),
        }
    }
    Ok(pool)
}

fn unit(id: String, group: &str, members: Vec<Device>) -> Result<Unit, Error> {
    let addresses: Vec<String> = members.iter().map(Device::name).collect();
    let gpus: Vec<&Device> = members.iter().filter(|device| is_gpu(*device)).collect();
    let mut properties = vec![
        Property::new("pci", addresses.join(" ")),
        Property::new("vfio-group", group),
        Property::new("gpus", gpus.iter().map(|gpu| gpu.name()).collect::<Vec<_>>().join(" ")),
    ];
    if let Some(gpu) = gpus.first() {
        let id = |key| u16::from_str_radix(gpu.attribute(key).ok()?.strip_prefix("0x")?, 16).ok();
        let ids = id("vendor").zip(id("device"));
        properties.extend(ids.map(|(vendor, device)| Property::new("device", format!("{vendor:04x}:{device:04x}"))));
        properties.extend(gpu.numa_node().map(|numa| Property::new("numa", numa.to_string())));
        let model = gpu.attribute("device").ok().as_deref().and_then(crate::models::of);
        properties.extend(model.map(|model| Property::new("architecture", model.architecture)));
    }
    let mut nodes: Vec<Node> = Vec::new();
    for member in &members {
        for node in member.nodes()? {
            // One node opens the whole group; its functions have it all.
            if !nodes.iter().any(|held| held.path() == node.path()) {
                nodes.push(node);
            }
        }
    }
    Ok(Unit { id, nodes, properties, backing: members })
}

/// Whether a unit is one of these.
pub(crate) fn is_unit(unit: &Unit) -> bool {
    unit.property("vfio-group").is_some()
}

/// The kernel asks a GPU on vfio nothing: that it is there and on vfio is all there is to know.
pub(crate) fn health(unit: &Unit) -> Verdict {
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

fn is_on_vfio(device: &Device) -> bool {
    device.driver().is_some_and(|driver| is_vfio(&driver))
}

/// Whether a driver is one of vfio's: `vfio-pci` and its variants, such as `nvgrace_gpu_vfio_pci`.
pub(crate) fn is_vfio(driver: &str) -> bool {
    driver.contains("vfio")
}
