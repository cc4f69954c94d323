//! Devices that are bound to vfio, and what their iommu group ties together.

use crate::error::found;
use crate::node::Node;
use crate::{DeviceNode, DevicePath, ReadError};
use devgate_types::NodeKind;
use std::collections::{BTreeMap, BTreeSet};

/// The node of an iommu group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupNode {
    /// The group, such as `42`.
    pub group: String,
    /// Its name in the class `vfio`: the group's, with `noiommu-` in front where no iommu keeps the devices to themselves.
    pub name: String,
    /// The node.
    pub node: DeviceNode,
    /// The kernel device that the node belongs to, where the class is there.
    pub device: Option<DevicePath>,
}

impl Node {
    /// Whether a driver gives the device to processes: not vfio-pci alone, as several vendors have
    /// variants of it with names of their own (`VENDOR_vfio_pci`, `VENDOR-gpu-vfio-pci`).
    #[must_use]
    pub fn is_bound_to_vfio(&self, device: &DevicePath) -> bool {
        self.driver(device).is_some_and(|driver| driver.contains("vfio"))
    }

    /// The node of the device's iommu group (`/dev/vfio/42`, or `/dev/vfio/noiommu-42`), for a device that is bound to a
    /// vfio driver; none for any other, and where the kernel makes none. The device's own node
    /// (`/dev/vfio/devices/vfio7`), which newer kernels have besides, is that of a device of the class `vfio-dev` beneath it. Fails with
    /// [`ReadError::NodeDiffers`] or [`ReadError::NotANode`] where something else is in the node's place.
    pub fn vfio_group(&self, device: &DevicePath) -> Result<Option<GroupNode>, ReadError> {
        if !self.is_bound_to_vfio(device) {
            return Ok(None);
        }
        let Ok(group) = self.link(device, "iommu_group") else {
            return Ok(None);
        };
        // A kernel that makes no group nodes, or none of the other kind, is no error.
        for name in [group.clone(), format!("noiommu-{group}")] {
            match self.device("vfio", &name) {
                Ok(device) => {
                    let node = found(self.own_node(&device))?.flatten();
                    return Ok(node.map(|node| GroupNode { group, name, node, device: Some(device) }));
                }
                Err(ReadError::NotFound | ReadError::NotADevice) => {}
                Err(error) => return Err(error),
            }
        }
        // A recording may have the node and not the class.
        let Some(node) = found(self.node_at(&format!("/dev/vfio/{group}")))? else {
            return Ok(None);
        };
        if node.number.kind != NodeKind::Character {
            return Err(ReadError::NotANode);
        }
        Ok(Some(GroupNode { name: group.clone(), group, node, device: None }))
    }

    /// The devices of an iommu group, sorted by location: a container that gets one of them through vfio can reach them all.
    pub fn group_members(&self, group: &str) -> Result<Vec<DevicePath>, ReadError> {
        // The kernel's own list, which a recording or a container of the host may not have.
        let directory = format!("sys/kernel/iommu_groups/{group}/devices");
        match self.tree().links(&directory) {
            Ok(links) => {
                // One that cannot be looked at is a member all the same: the rule of the group must not do without it.
                let member = |(_, target): &(String, String)| self.device_at(&directory, target);
                let members = links.iter().map(member).collect::<Result<BTreeSet<_>, _>>()?;
                Ok(members.into_iter().collect())
            }
            Err(_) => Ok(self.iommu_groups()?.remove(group).unwrap_or_default()),
        }
    }

    /// The devices of every iommu group, as the devices themselves say it. Reads one link of every device there is.
    pub fn iommu_groups(&self) -> Result<BTreeMap<String, Vec<DevicePath>>, ReadError> {
        let mut groups: BTreeMap<String, BTreeSet<DevicePath>> = BTreeMap::new();
        for (bus, _) in self.tree().list("sys/bus")? {
            for device in self.devices(&bus)? {
                match self.link(&device, "iommu_group") {
                    Ok(group) => drop(groups.entry(group).or_default().insert(device)),
                    Err(ReadError::NotFound | ReadError::Gone) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let sorted = |(group, members): (String, BTreeSet<_>)| (group, members.into_iter().collect());
        Ok(groups.into_iter().map(sorted).collect())
    }

    /// The number of the device's iommu group and all devices in that group, this one among them, sorted by location;
    /// nothing for a device without one. Fails with [`ReadError::Gone`] where the device went.
    pub fn iommu_group(&self, device: &DevicePath) -> Result<Option<(String, Vec<DevicePath>)>, ReadError> {
        let Some(group) = found(self.link(device, "iommu_group"))? else {
            return Ok(None);
        };
        let mut members: BTreeSet<_> = self.group_members(&group)?.into_iter().collect();
        members.insert(device.clone());
        Ok(Some((group, members.into_iter().collect())))
    }
}
