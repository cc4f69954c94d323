//! What one plugin is interested in.

use super::{Asked, Wake, takes_away};
use crate::inventory::Inventory;
use crate::kernel_log::MatchedLines;
use devgate_node::{DeviceEvent, DevicePath, NodeEvent, Told};
use devgate_policy::PluginPolicy;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a plugin's policy and units are about, and how it is woken.
pub(crate) struct Interest {
    wake: Arc<Wake>,
    /// Of which its selectors and their nodes are.
    subsystems: BTreeSet<String>,
    /// What its units are made of, sorted.
    devices: Vec<DevicePath>,
    /// Where its nodes and files are.
    pub(super) directories: BTreeMap<String, Told>,
    /// Directories in which a pattern names more of them, so that whatever is in them may be on the way to what it means.
    ways: BTreeSet<String>,
    /// Its units' nodes, sorted.
    nodes: Vec<String>,
    policy: Arc<PluginPolicy>,
    pub(super) matched_lines: Arc<MatchedLines>,
}

impl Interest {
    /// What `policy` and the units that there are now are about.
    pub(crate) fn new(
        policy: &Arc<PluginPolicy>,
        inventory: &Inventory,
        wake: Arc<Wake>,
        matched_lines: Arc<MatchedLines>,
    ) -> Self {
        let mut subsystems = BTreeSet::new();
        for selector in &policy.hardware {
            subsystems.insert(selector.subsystem.clone());
            subsystems.extend(selector.nodes.iter().map(|node| node.subsystem.clone()));
        }
        let files = policy.files.patterns().map(|(pattern, _)| (pattern, Told::Contents));
        let nodes = policy.host_nodes.patterns().map(|(pattern, ..)| (pattern, Told::Entries));
        let (mut directories, mut ways) = (BTreeMap::new(), BTreeSet::new());
        for (pattern, told) in files.chain(nodes) {
            let Some((directory, goes_on)) = directory_of_pattern(pattern) else {
                continue;
            };
            if goes_on {
                ways.insert(directory.to_owned());
            }
            let most = directories.entry(directory.to_owned()).or_insert(told);
            *most = told.max(*most);
        }
        let mut devices = Vec::new();
        for unit in inventory.units() {
            devices.extend(unit.backing.iter().cloned());
            devices.extend(unit.nodes.iter().filter_map(|node| node.owner.clone()));
        }
        let units = inventory.units().flat_map(|unit| &unit.nodes);
        let shared = inventory.pools.values().flat_map(|pool| &pool.shared_nodes);
        let mut nodes: Vec<_> = units.chain(shared).map(|node| node.node.path.clone()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for (directory, _) in nodes.iter().filter_map(|node| node.rsplit_once('/')) {
            directories.entry(directory.to_owned()).or_insert(Told::Entries);
        }
        // Others after a reload.
        matched_lines.replace(&policy.kernel_log);
        devices.sort_unstable();
        devices.dedup();
        Self { wake, subsystems, devices, directories, ways, nodes, policy: Arc::clone(policy), matched_lines }
    }

    /// Whether the plugin has been woken, and lets it sleep again.
    #[cfg(test)]
    pub(super) fn take(&self) -> bool {
        self.wake.take().is_some()
    }

    /// Wakes the plugin if an event that a watch tells of may be about what it is interested in.
    pub(super) fn tell(&self, watch: u64, event: &NodeEvent) {
        let is_of_log = matches!(event, NodeEvent::Log(_) | NodeEvent::Line(_) | NodeEvent::Gap);
        if is_of_log && !self.matched_lines.listens_to(watch) {
            return;
        }
        self.wake.away.tell(event);
        let asked = match event {
            NodeEvent::Device(event) if !self.is_about(event) => return,
            NodeEvent::Device(event) if takes_away(event.action) => Asked::HARDWARE | Asked::UNITS,
            // Word of a driver changes nothing about what there is, as a rule; but it may.
            NodeEvent::Device(_) | NodeEvent::Driver(_) => Asked::UNITS,
            NodeEvent::Path(path) if self.is_near(path) => Asked::HARDWARE | Asked::UNITS,
            NodeEvent::Log(source) if self.matched_lines.comes_from(watch, source) => Asked::HEALTH,
            NodeEvent::Line(line) if self.matched_lines.record(line) => Asked::HEALTH,
            NodeEvent::Gap => {
                self.matched_lines.record_gap();
                Asked::HEALTH
            }
            NodeEvent::Lost => Asked::HARDWARE | Asked::UNITS,
            _ => return,
        };
        self.wake.ask(asked);
    }

    pub(super) fn is_about(&self, event: &DeviceEvent) -> bool {
        self.subsystems.contains(&event.subsystem)
            || self.has_part(&event.device)
            || event.node.as_deref().is_some_and(|node| self.is_near(node))
    }

    /// Whether a unit is made of this device, of something beneath it, or of something above it.
    fn has_part(&self, device: &DevicePath) -> bool {
        let at = self.devices.partition_point(|known| known < device);
        let next = self.devices.get(at);
        let is_known = |above: &str| self.devices.binary_search_by(|known| known.location().cmp(above)).is_ok();
        let mut above = std::iter::successors(Some(device.location()), |at| Some(at.rsplit_once('/')?.0));
        next.is_some_and(|known| known.is_beneath(device)) || above.any(is_known)
    }

    /// Whether a path is one of those that the policy or a unit names, or on the way to one.
    fn is_near(&self, path: &str) -> bool {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        self.nodes.binary_search_by(|node| node.as_str().cmp(path)).is_ok()
            || self.policy.host_nodes.matching(path).next().is_some()
            || self.policy.files.matching(path).next().is_some()
            || self.ways.contains(directory)
            || self.hangs_on(path)
    }

    /// Whether one of the directories is this, or somewhere beneath it.
    fn hangs_on(&self, path: &str) -> bool {
        let beneath = |directory: &String| directory.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        self.directories.contains_key(path) || self.directories.keys().any(beneath)
    }
}

/// The directory that all paths of a pattern are in, or beneath; and whether they may be beneath.
fn directory_of_pattern(pattern: &str) -> Option<(&str, bool)> {
    let plain = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    let (directory, _) = pattern.get(..plain)?.rsplit_once('/')?;
    let rest = pattern.get(plain..)?;
    let goes_on = rest.contains('/') || rest.contains("**");
    (!directory.is_empty()).then_some((directory, goes_on))
}
