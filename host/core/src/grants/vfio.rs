//! Nodes of vfio: who gets one can reach every function of its iommu group.

use super::{Facts, Grants};
use crate::units::GrantedNode;
use devgate_node::{DeviceNode, DevicePath, GroupNode, ReadError};
use devgate_policy::{NodeGrant, Use};
use devgate_types::escape;

/// The class of group nodes, and that of devices' own nodes.
const GROUP: &str = "vfio";
const OWN: &str = "vfio-dev";
/// vfio's container, which gives nothing by itself, and the directory of all other nodes of vfio.
const CONTAINER: &str = "/dev/vfio/vfio";
const DIRECTORY: &str = "/dev/vfio/";
/// In front of the name of a group that no iommu keeps to itself.
const NO_IOMMU: &str = "noiommu-";
/// Base class of PCI bridges.
const BRIDGE: &[u8] = b"0x06";

/// It cannot be told which group a node of vfio opens.
#[derive(Debug, thiserror::Error)]
#[error("{0}: cannot tell which iommu group it opens")]
pub(super) struct NoGroup(String);

impl Grants {
    /// The node of the device's iommu group, if a selector offers it. The device's own node is that of a device beneath it,
    /// as any other.
    pub(super) fn offered_group(&self, device: &DevicePath) -> Result<Option<(GroupNode, NodeGrant)>, ReadError> {
        let offers = |selector: &devgate_policy::Selector| {
            selector.usage == Use::Offer && selector.nodes.iter().any(|offer| offer.subsystem == GROUP)
        };
        if !self.policy.hardware.iter().any(offers) {
            return Ok(None);
        }
        let Some(found) = self.node.vfio_group(device)? else {
            return Ok(None);
        };
        let covering = self.covering(device).into_iter().filter(|s| s.usage == Use::Offer);
        let grant = covering.filter_map(|s| s.node_offer(GROUP, &found.name)).reduce(super::least);
        Ok(grant.map(|grant| (found, grant)))
    }

    /// The iommu group that a node opens; none where it is no node of vfio, or opens nothing by itself. Told by what the node
    /// is and not by its path, where the kernel says it. Fails where it is one, and which group it opens cannot be told.
    pub(super) fn group_of(&self, node: &DeviceNode, owner: Option<&Facts<'_>>) -> Result<Option<String>, NoGroup> {
        let unknown = || NoGroup(node.path.clone());
        let Some(owner) = owner else {
            return match node.path.strip_prefix(DIRECTORY) {
                None => Ok(None),
                Some(_) if node.path == CONTAINER => Ok(None),
                Some(name) if name.contains('/') || name.starts_with(NO_IOMMU) => Err(unknown()),
                Some(name) => Ok(Some(group_name(name))),
            };
        };
        let subsystem = owner.asked().as_ref().map_err(|_| unknown())?;
        match subsystem.as_ref().map(|s| s.name.as_str()) {
            Some(GROUP) => Ok(Some(group_name(owner.device.name()))),
            Some(OWN) => {
                let device = self.node.parent(owner.device).ok_or_else(unknown)?;
                self.node.link(&device, "iommu_group").map(Some).map_err(|_| unknown())
            }
            _ => Ok(None),
        }
    }

    /// What is wrong with handing out these nodes for these devices, if anything: every function of an iommu group must be
    /// among the devices.
    pub(crate) fn group_problem(&self, nodes: &[GrantedNode], backing: &[DevicePath]) -> Option<String> {
        self.group_problem_with(nodes, backing, |group| self.node.group_members(group))
    }

    /// The same, asking for a group's members elsewhere.
    pub(crate) fn group_problem_with(
        &self,
        nodes: &[GrantedNode],
        backing: &[DevicePath],
        members: impl Fn(&str) -> Result<Vec<DevicePath>, ReadError>,
    ) -> Option<String> {
        nodes.iter().find_map(|granted| {
            let group = granted.group.as_deref()?;
            let (path, shown) = (&granted.node.path, escape(group, 40));
            let members = match members(group) {
                Ok(members) if !members.is_empty() => members,
                Ok(_) => return Some(format!("node {path}: no device is in its iommu group {shown} any more")),
                Err(error) => {
                    return Some(format!("node {path}: cannot tell what is in its iommu group {shown}: {error}"));
                }
            };
            let missing = members.iter().find(|member| !backing.contains(member) && !self.is_idle_bridge(member))?;
            Some(format!(
                "node {path} opens iommu group {shown}, and function {} of that group does not back this id: all of a group go to one container or none does",
                escape(missing.name(), 80)
            ))
        })
    }

    /// Whether a member of a group is a bridge that cannot be driven through vfio: the port above the functions, which most
    /// groups have.
    fn is_idle_bridge(&self, device: &DevicePath) -> bool {
        let class = self.node.attribute(device, "class", 32).unwrap_or_default();
        class.starts_with(BRIDGE) && !self.node.is_bound_to_vfio(device)
    }
}

/// The group's own name, without what says that no iommu stands behind it.
fn group_name(name: &str) -> String {
    name.strip_prefix(NO_IOMMU).unwrap_or(name).to_owned()
}
