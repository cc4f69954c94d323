//! Devices that are bound to vfio, and what their iommu group ties together.

use crate::node::Node;
use crate::{DeviceNode, DevicePath, ReadError};
use devgate_model::NodeKind;
use std::collections::BTreeSet;

impl Node {
    /// The nodes through which a process drives this device itself, for one that is bound to a vfio driver: that of
    /// its iommu group (`/dev/vfio/42`, or `/dev/vfio/noiommu-42`), and its own (`/dev/vfio/devices/vfio7`) where the
    /// kernel makes one. None for any other device.
    ///
    /// # Errors
    /// [`ReadError::NodeDiffers`] or [`ReadError::NotANode`] where something else is in a node's place.
    pub fn vfio_nodes(&self, device: &DevicePath) -> Result<Vec<DeviceNode>, ReadError> {
        // Not vfio-pci alone: mlx5_vfio_pci, nvgrace-gpu-vfio-pci and others are variants of it.
        if !self.driver(device).is_some_and(|driver| driver.contains("vfio")) {
            return Ok(Vec::new());
        }
        let mut found = BTreeSet::new();
        if let Ok(group) = self.link(device, "iommu_group") {
            found.extend(self.group_node(&group)?);
        }
        for child in self.child_devices(device)? {
            if self
                .subsystem(&child)?
                .is_some_and(|subsystem| subsystem.name == "vfio-dev")
            {
                found.extend(present(self.own_node(&child))?);
            }
        }
        Ok(found.into_iter().collect())
    }

    /// The node of an iommu group.
    fn group_node(&self, group: &str) -> Result<Option<DeviceNode>, ReadError> {
        for name in [group.to_owned(), format!("noiommu-{group}")] {
            match self.device("vfio", &name) {
                Ok(device) => return present(self.own_node(&device)),
                Err(ReadError::NotFound | ReadError::NotADevice) => {}
                Err(error) => return Err(error),
            }
        }
        // A recording may have the node and not the class.
        let node = match self.node_at(&format!("/dev/vfio/{group}")) {
            Ok(node) => node,
            Err(ReadError::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        if node.number.kind == NodeKind::Character {
            Ok(Some(node))
        } else {
            Err(ReadError::NotANode)
        }
    }

    /// The number of the device's iommu group and all devices in that group, this one among them, sorted by location;
    /// nothing for a device without one. Whoever gets one of them through vfio can reach them all.
    ///
    /// # Errors
    /// [`ReadError::Gone`] where the device went.
    pub fn iommu_group(&self, device: &DevicePath) -> Result<Option<(String, Vec<DevicePath>)>, ReadError> {
        let group = match self.link(device, "iommu_group") {
            Ok(group) => group,
            Err(ReadError::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        // Asked of the devices, not of /sys/kernel/iommu_groups, which a container of the host need not see.
        let mut members = BTreeSet::from([device.clone()]);
        for (bus, _) in self.tree().list("sys/bus")? {
            let devices = self.devices(&bus)?.into_iter();
            members.extend(devices.filter(|member| self.link(member, "iommu_group").as_ref() == Ok(&group)));
        }
        Ok(Some((group, members.into_iter().collect())))
    }
}

/// A node that the kernel names and that is there: a kernel that makes no group nodes, or none of the other kind, is
/// no error.
fn present(node: Result<Option<DeviceNode>, ReadError>) -> Result<Option<DeviceNode>, ReadError> {
    match node {
        Err(ReadError::NotFound) => Ok(None),
        node => node,
    }
}
