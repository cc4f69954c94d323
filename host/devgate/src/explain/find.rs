//! What an admin means who writes `example.com/gpu`, `0000:3b:00.0`, `/dev/acme0` or `GPU-1234`: all that it can be here.

use super::World;
use devgate_core::{GrantedNode, LeftOut, SurveyedUnit};
use devgate_node::{DeviceNode, DevicePath, Node};
use devgate_types::{NodeNumber, ResourceName, UnitId};

/// The class of the nodes that open iommu groups, their directory, and what is before the name of a group without an iommu.
const GROUP: &str = "vfio";
const GROUPS: &str = "/dev/vfio/";
const NO_IOMMU: &str = "noiommu-";

/// What was meant.
#[derive(Debug, Default)]
pub(super) struct Target {
    /// As it was written.
    pub(super) what: String,
    /// A resource's name.
    pub(super) resource: Option<ResourceName>,
    /// A node's path, and its number where it is there.
    pub(super) node: Option<String>,
    number: Option<NodeNumber>,
    /// Kernel devices.
    pub(super) devices: Vec<DevicePath>,
}

pub(super) fn find(world: &World, what: &str) -> Target {
    let is_node = what.starts_with("/dev/");
    let mut target = Target {
        what: what.to_owned(),
        devices: named(&world.node, what),
        node: is_node.then(|| what.to_owned()),
        ..Target::default()
    };
    if is_node {
        target.number = world.node.node_at(what).ok().map(|node| node.number);
    } else if let (Some((subsystem, _)), true) = (what.split_once('/'), target.devices.is_empty()) {
        let resource = ResourceName::try_new(what).ok();
        target.resource = resource.filter(|resource| is_resource(world, resource, subsystem));
    }
    target
}

/// The kernel devices that an admin means by a node in `/dev`, a path of sysfs, a subsystem and a name, or a name.
pub fn named(node: &Node, what: &str) -> Vec<DevicePath> {
    if what.starts_with("/dev/") {
        return behind(node, what, node.node_at(what).ok().as_ref());
    }
    if let Some(path) = what.strip_prefix("/sys/") {
        return in_sysfs(node, path.trim_end_matches('/'));
    }
    match what.split_once('/') {
        Some((subsystem, name)) => node.device(subsystem, name).into_iter().collect(),
        None => node.devices_named(what).unwrap_or_default(),
    }
}

/// Whether a resource is meant rather than a device that is not there: a plugin uses the name, or it reads like one.
fn is_resource(world: &World, resource: &ResourceName, subsystem: &str) -> bool {
    let mut plugins = world.policy.plugins.values();
    let known = plugins.any(|plugin| plugin.knows_resource(resource));
    let is_subsystem = || world.node.devices(subsystem).is_ok_and(|devices| !devices.is_empty());
    known || (subsystem.contains('.') && !is_subsystem())
}

/// The devices that a node belongs to: its owner, or the functions of the iommu group that it opens.
fn behind(node: &Node, path: &str, found: Option<&DeviceNode>) -> Vec<DevicePath> {
    let owner = found.and_then(|found| node.owner_of(found.number));
    let group = match &owner {
        Some(owner) => {
            let subsystem = node.subsystem(owner).ok().flatten();
            subsystem.filter(|s| s.name == GROUP).map(|_| owner.name())
        }
        None => path.strip_prefix(GROUPS).filter(|name| !name.contains('/')),
    };
    let name = group.map(|group| group.strip_prefix(NO_IOMMU).unwrap_or(group));
    let members = name.and_then(|name| node.group_members(name).ok()).unwrap_or_default();
    if members.is_empty() { owner.into_iter().collect() } else { members }
}

/// A device by a path of sysfs, without `/sys/`, as people paste it.
fn in_sysfs(node: &Node, path: &str) -> Vec<DevicePath> {
    let parts: Vec<_> = path.split('/').collect();
    match parts.as_slice() {
        ["bus", subsystem, "devices", name] | ["class", subsystem, name] | [subsystem @ "block", name] => {
            node.device(subsystem, name).into_iter().collect()
        }
        ["devices", .., name] => {
            let mut named = node.devices_named(name).unwrap_or_default();
            named.retain(|device| path.strip_prefix("devices/") == Some(device.location()));
            named
        }
        _ => Vec::new(),
    }
}

impl Target {
    /// Whether a unit is it, or is made of it.
    pub(super) fn is(&self, unit: &SurveyedUnit) -> bool {
        self.names(&unit.record.id, &unit.resource) || self.has(&unit.record.backing, &unit.nodes().collect::<Vec<_>>())
    }

    /// The same for a unit that `only` or `except` leaves out.
    pub(super) fn is_left(&self, left: &LeftOut) -> bool {
        self.names(&left.id, &left.resource) || self.has(&left.backing, &left.nodes.iter().collect::<Vec<_>>())
    }

    fn names(&self, id: &UnitId, resource: &ResourceName) -> bool {
        id.as_str() == self.id() || self.resource.as_ref() == Some(resource)
    }

    /// Whether what has these devices and nodes has it. A node is a part of what hands it out: that its device is, is not enough.
    fn has(&self, backing: &[DevicePath], nodes: &[&GrantedNode]) -> bool {
        if let Some(path) = &self.node {
            return nodes.iter().any(|granted| match self.number {
                Some(number) => granted.node.number == number,
                None => granted.node.path == *path,
            });
        }
        self.devices.iter().any(|device| {
            let backs = backing.iter().any(|b| b == device || device.is_beneath(b));
            backs || nodes.iter().any(|granted| granted.owner.as_ref() == Some(device))
        })
    }

    /// As a unit's id; the kubelet knows replicas by a number after it.
    pub(super) fn id(&self) -> &str {
        match self.what.rsplit_once("::") {
            Some((id, n)) if !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) => id,
            _ => &self.what,
        }
    }
}
