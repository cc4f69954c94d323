//! GPUs that are bound to vfio, for virtual machines: no GPU of NVIDIA's driver, but what its iommu group opens.

use crate::survey::is_gpu;
use devgate_sdk::{Device, Error, Pool, Property, Unit, hardware};

/// The GPUs on vfio, by iommu group: what one group has is given together, such as a card's audio function.
pub(crate) fn pool(resource: &str, notes: &mut Vec<String>) -> Result<Pool, Error> {
    let groups = devgate_vfio::groups(|why| notes.push(why))?;
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
    let nodes = devgate_vfio::nodes(&members)?;
    Ok(Unit { id, nodes, properties, backing: members })
}

/// Whether a unit is one of these.
pub(crate) fn is_unit(unit: &Unit) -> bool {
    unit.property("vfio-group").is_some()
}
