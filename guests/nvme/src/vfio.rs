//! Drives that are bound to vfio, for programs in user space and virtual machines: no disk of the kernel's, but a PCI function.

use devgate_sdk::{Device, Error, Node, Pool, Property, Unit, hardware};

/// PCI mass storage, non-volatile memory (`include/linux/pci_ids.h`).
const CLASS: &str = "0x0108";

/// The drives on vfio, by iommu group: what one group has is given together.
pub(crate) fn pool(resource: &str, note: impl Fn(&str)) -> Result<Pool, Error> {
    let groups = devgate_vfio::groups(|why| note(&why))?;
    let (mut pool, mut unread) = (Pool::new(resource, Vec::new()), Vec::new());
    // The node that programs open to tie groups together. It gives nothing by itself.
    let shared = shared_nodes();
    for (group, members) in groups {
        let has_drive =
            members.iter().any(|device| device.attribute("class").is_ok_and(|class| class.starts_with(CLASS)));
        if !has_drive {
            continue;
        }
        let names: Vec<String> = members.iter().map(Device::name).collect();
        let found = match &shared {
            Ok(_) => unit(&group, members).map_err(|error| error.message),
            Err(error) => Err(error.message.clone()),
        };
        match found {
            Ok(unit) => pool.units.extend(unit),
            Err(why) => {
                note(&format!("{} is not offered now: {why}", names.join(" ")));
                unread.extend(names);
            }
        }
    }
    pool.shared_nodes = shared.unwrap_or_default();
    Ok(pool.with_unread(unread))
}

fn shared_nodes() -> Result<Vec<Node>, Error> {
    let mut nodes = Vec::new();
    for device in hardware::devices("misc")? {
        if device.name() == "vfio" {
            nodes.extend(device.nodes()?);
        }
    }
    Ok(nodes)
}

fn unit(group: &str, members: Vec<Device>) -> Result<Option<Unit>, Error> {
    let addresses: Vec<String> = members.iter().map(Device::name).collect();
    let Some(first) = members.first() else {
        return Ok(None);
    };
    let mut properties = vec![Property::new("pci", addresses.join(" ")), Property::new("iommu-group", group)];
    let id = |key: &str| {
        let id = first.attribute(key).unwrap_or_default();
        id.trim_start_matches("0x").chars().take(8).collect::<String>()
    };
    properties.push(Property::new("device", format!("{}:{}", id("vendor"), id("device"))));
    properties.extend(first.numa_node().map(|numa| Property::new("numa", numa.to_string())));
    let nodes = devgate_vfio::nodes(&members)?;
    Ok(Some(Unit { id: first.name(), nodes, properties, backing: members }))
}
