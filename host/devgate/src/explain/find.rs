//! What somebody means who writes `nvidia.com/gpu`, `0000:3b:00.0`, `/dev/nvidia0` or `GPU-1234`: all that it can be here.

use super::World;
use devgate_model::ResourceName;
use devgate_node::DevicePath;
use devgate_plugin::SurveyedUnit;
use std::collections::BTreeSet;

/// Where a device is looked for that is named without its subsystem, besides where the policy's selectors look.
const SUBSYSTEMS: [&str; 16] = [
    "accel",
    "block",
    "drm",
    "fpga_region",
    "hidraw",
    "infiniband",
    "input",
    "misc",
    "net",
    "nvme",
    "pci",
    "platform",
    "sound",
    "tty",
    "usb",
    "video4linux",
];

/// What was meant.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// As it was written.
    pub(super) what: String,
    /// A resource's name.
    pub(super) resource: Option<ResourceName>,
    /// A node's path.
    pub(super) node: Option<String>,
    /// Kernel devices.
    pub(super) devices: Vec<DevicePath>,
}

pub(super) fn find(world: &World, what: &str) -> Found {
    let mut found = Found {
        what: what.to_owned(),
        ..Found::default()
    };
    if what.starts_with("/dev/") {
        found.node = Some(what.to_owned());
        let node = world.node.node_at(what).ok();
        found.devices = node
            .and_then(|node| world.node.owner_of(node.number))
            .into_iter()
            .collect();
        return found;
    }
    if let Some((subsystem, name)) = what.split_once('/') {
        found.devices = world.node.device(subsystem, name).into_iter().collect();
        if found.devices.is_empty() {
            found.resource = ResourceName::try_new(what).ok();
        }
        return found;
    }
    let named = world.policy.plugins.values().flat_map(|plugin| &plugin.hardware);
    let named = named.map(|selector| selector.subsystem.as_str());
    let subsystems: BTreeSet<&str> = named.chain(SUBSYSTEMS).collect();
    let devices: BTreeSet<_> = subsystems
        .into_iter()
        .filter_map(|subsystem| world.node.device(subsystem, what).ok())
        .collect();
    found.devices = devices.into_iter().collect();
    found
}

impl Found {
    /// Whether a unit is it, or is made of it.
    pub(super) fn is(&self, unit: &SurveyedUnit) -> bool {
        let id = unit.id.as_str() == self.id();
        let resource = self.resource.as_ref() == Some(&unit.resource);
        let node = |path: &String| unit.nodes.iter().any(|granted| granted.node.path == *path);
        let device = |device: &DevicePath| {
            let backing = unit.backing.iter().any(|b| b == device || device.is_beneath(b));
            backing || unit.nodes.iter().any(|granted| granted.owner.as_ref() == Some(device))
        };
        id || resource || self.node.as_ref().is_some_and(node) || self.devices.iter().any(device)
    }

    /// As a unit's id; the kubelet knows replicas by a number after it.
    pub(super) fn id(&self) -> &str {
        match self.what.rsplit_once("::") {
            Some((id, n)) if !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) => id,
            _ => &self.what,
        }
    }
}
