//! What one plugin is interested in.

use super::{Asked, Wake, takes_away};
use crate::captures::Captures;
use crate::inventory::Inventory;
use devgate_node::{DeviceEvent, DevicePath, LogSource, NodeEvent};
use devgate_policy::PluginPolicy;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a plugin's policy and units are about, and how it is woken.
pub(crate) struct Interest {
    wake: Arc<Wake>,
    /// Of which its selectors and their nodes are.
    subsystems: BTreeSet<String>,
    /// What its units are made of, sorted.
    devices: Vec<DevicePath>,
    /// Where its nodes and files are.
    directories: BTreeSet<String>,
    captures: Arc<Captures>,
}

impl Interest {
    /// What `policy` and the units that there are now are about.
    pub(crate) fn new(policy: &PluginPolicy, inventory: &Inventory, wake: Arc<Wake>, captures: Arc<Captures>) -> Self {
        let mut subsystems = BTreeSet::new();
        for selector in &policy.hardware {
            subsystems.insert(selector.subsystem.clone());
            subsystems.extend(selector.nodes.iter().map(|node| node.subsystem.clone()));
        }
        let files = policy.files.patterns().map(|(pattern, _)| pattern);
        let nodes = policy.host_nodes.patterns().map(|(pattern, ..)| pattern);
        let mut directories: BTreeSet<_> = files.chain(nodes).filter_map(directory_of_pattern).collect();
        let mut devices = Vec::new();
        for unit in inventory.units() {
            devices.extend(unit.backing.iter().cloned());
            devices.extend(unit.nodes.iter().filter_map(|node| node.owner.clone()));
        }
        let units = inventory.units().flat_map(|unit| &unit.nodes);
        for node in units.chain(inventory.pools.values().flat_map(|pool| &pool.shared_nodes)) {
            match node.node.path.rsplit_once('/') {
                Some((directory, _)) if !directories.contains(directory) => {
                    directories.insert(directory.to_owned());
                }
                _ => {}
            }
        }
        // Others after a reload.
        captures.replace(&policy.kernel_log);
        devices.sort_unstable();
        devices.dedup();
        Self {
            wake,
            subsystems,
            devices,
            directories,
            captures,
        }
    }

    /// Whether the plugin has been woken, and lets it sleep again.
    #[cfg(test)]
    pub(super) fn take(&self) -> bool {
        self.wake.take().is_some()
    }

    pub(super) fn directories(&self) -> impl Iterator<Item = &String> {
        self.directories.iter()
    }

    pub(super) fn wants_kernel_log(&self) -> bool {
        self.captures.wants_lines()
    }

    /// Whether nobody has told it of the log's lines so far, those that were there before among them.
    pub(super) fn has_no_lines(&self) -> bool {
        self.captures.is_new()
    }

    /// Says where the lines come from.
    pub(super) fn log_is(&self, source: &LogSource) {
        match source {
            LogSource::NotAsked => {}
            LogSource::Off { why } => self.captures.is_off(why),
            _ => self.captures.is_read(),
        }
    }

    /// Wakes the plugin if an event may be about what it is interested in.
    pub(super) fn tell(&self, event: &NodeEvent) {
        let asked = match event {
            NodeEvent::Device(event) if !self.is_about(event) => return,
            NodeEvent::Device(event) if takes_away(event.action) => Asked::HARDWARE | Asked::UNITS,
            // Word of a driver changes nothing about what there is, as a rule; but it may.
            NodeEvent::Device(_) | NodeEvent::Driver(_) => Asked::UNITS,
            NodeEvent::Path(path) if self.is_near(path) => Asked::HARDWARE | Asked::UNITS,
            NodeEvent::Line(line) if self.captures.take(line) => Asked::HEALTH,
            NodeEvent::Gap if self.captures.wants_lines() => {
                self.captures.lost();
                Asked::HEALTH
            }
            NodeEvent::Lost => Asked::HARDWARE | Asked::UNITS,
            _ => return,
        };
        self.wake.ask(asked);
    }

    fn is_about(&self, event: &DeviceEvent) -> bool {
        self.subsystems.contains(&event.subsystem)
            || self.has_part(&event.device)
            || event.node.as_deref().is_some_and(|node| self.is_near(node))
    }

    /// Whether a unit is made of this device, of something beneath it, or of something above it.
    fn has_part(&self, device: &DevicePath) -> bool {
        let at = self.devices.partition_point(|known| known < device);
        let beneath = self
            .devices
            .get(at)
            .is_some_and(|known| known == device || known.is_beneath(device));
        beneath || {
            let mut above = device.location();
            std::iter::from_fn(|| {
                above = above.rsplit_once('/')?.0;
                Some(above)
            })
            .any(|above| {
                self.devices
                    .binary_search_by(|known| known.location().cmp(above))
                    .is_ok()
            })
        }
    }

    /// Whether a path is in one of the directories, or is one of them.
    fn is_near(&self, path: &str) -> bool {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        self.directories.contains(directory) || self.hangs_on(path)
    }

    /// Whether one of the directories is this, or somewhere beneath it.
    pub(super) fn hangs_on(&self, path: &str) -> bool {
        let beneath = |directory: &String| directory.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        self.directories.contains(path) || self.directories.iter().any(beneath)
    }
}

/// The directory that all paths of a pattern are in, or beneath.
fn directory_of_pattern(pattern: &str) -> Option<String> {
    let plain = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    let (directory, _) = pattern.get(..plain)?.rsplit_once('/')?;
    (!directory.is_empty()).then(|| directory.to_owned())
}
