//! What one plugin may see of one node: the policy's selectors held against the kernel's device tree.

mod facts;
mod files;
mod here;
mod log_capture;
mod reach;
mod vfio;

use crate::status::StatusRecorder;
use crate::units::{GrantedNode, UnitRecord};
use devgate_node::{DeviceNode, DevicePath, Node, ReadError, Subsystem};
use devgate_policy::{DeviceFacts, NodeGrant, PluginPolicy, Selector, Use, dangerous_node};
use devgate_types::component::LogLevel;
use devgate_types::{Bucket, LogThrottle, Mutex, NodeKind, NodeNumber};
use facts::Facts;
pub use files::NotGranted;
pub use here::{PathMatch, Sight};
pub use log_capture::Line;
pub(crate) use log_capture::LogCapture;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Buses on which a driver puts parts of one device: the ports of a USB adapter, those of a UART's driver, and what a virtio
/// function is.
const PARTS: [&str; 3] = ["serial-base", "usb-serial", "virtio"];

/// Parts that are on the bus of what they are parts of, by their `DEVTYPE`: the interfaces of a USB device, and what has the node of a
/// work queue of the driver idxd (`idxd_cdev_device_type` in `drivers/dma/idxd/cdev.c`).
const PART_TYPES: [&str; 2] = ["idxd_cdev", "usb_interface"];

/// `/dev/null`, which every kernel lists in `/sys/dev/char`.
const NULL: NodeNumber = NodeNumber { kind: NodeKind::Character, major: 1, minor: 3 };

/// A plugin's policy on a node. Decides, and remembers nothing that it decides by: the tree may change between two questions.
#[derive(Clone)]
pub struct Grants {
    pub(crate) node: Node,
    pub(crate) policy: Arc<PluginPolicy>,
    /// The policy's configuration of the component, as that reads it.
    pub(crate) config: Arc<str>,
    /// Refusals that the admin was told of: a component makes up as many as it likes.
    pub(crate) refusals: Arc<Mutex<LogThrottle>>,
    /// What the component said: it remembers nothing between calls, and says of a device that sleeps the same at every look.
    pub(crate) lines: Arc<Mutex<LogThrottle>>,
    /// Where lines go besides the log, if anywhere.
    pub(crate) log_capture: Option<LogCapture>,
    /// Where refusals are counted.
    pub(crate) recorder: Arc<StatusRecorder>,
}

/// A device that selectors match by themselves, for people.
#[derive(Debug, Clone)]
pub struct Match {
    /// The device.
    pub device: DevicePath,
    /// The subsystem that it was found in.
    pub subsystem: String,
    /// Whether it may back what is offered, or only be looked at.
    pub usage: Use,
    /// The nodes that come with it.
    pub nodes: Vec<GrantedNode>,
    /// Nodes that the policy offers and the host does not give, and why.
    pub withheld: Vec<Withheld>,
}

/// A node that the policy offers and the host does not give.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Withheld {
    /// Its path, or the name of the device that it belongs to.
    pub what: String,
    /// Why; escaped.
    pub why: String,
}

impl Grants {
    /// What `policy` grants on `node`.
    #[must_use]
    pub fn new(node: Node, policy: Arc<PluginPolicy>) -> Self {
        Self {
            node,
            config: policy.config.to_string().into(),
            policy,
            refusals: Arc::new(Mutex::new(LogThrottle::new(64, Bucket::new(64, Duration::from_secs(30))))),
            lines: Arc::new(Mutex::new(LogThrottle::new(256, Bucket::new(u32::MAX, Duration::from_secs(1))))),
            log_capture: None,
            recorder: Arc::default(),
        }
    }

    /// Keeps a line for commands that show it.
    pub(crate) fn hear(&self, level: LogLevel, refusal: bool, text: &str) {
        if let Some(log_capture) = &self.log_capture {
            let text = text.to_owned();
            log_capture.line(Line { level, refusal, text });
        }
    }

    /// The same, with refusals counted there.
    pub(crate) fn noting(mut self, recorder: Arc<StatusRecorder>) -> Self {
        self.recorder = recorder;
        self
    }

    /// The selectors that cover a device: those that match it, or the nearest ancestor that they reach down from.
    ///
    /// Descent stops at any device of a bus: a function behind a granted bridge or a device behind a granted hub must
    /// match by itself. What a driver puts between a device and its nodes is a part of it, not a device behind it.
    pub(crate) fn covering(&self, device: &DevicePath) -> Vec<&Selector> {
        self.reach(device).map(|(_, covering)| covering).unwrap_or_default()
    }

    /// The device that covering selectors match: this one, or the one that they reach down from; and those selectors.
    fn reach(&self, device: &DevicePath) -> Option<(DevicePath, Vec<&Selector>)> {
        self.reach_of(&Facts::new(&self.node, device))
    }

    fn reach_of(&self, device: &Facts<'_>) -> Option<(DevicePath, Vec<&Selector>)> {
        let matching = self.matching(device);
        if !matching.is_empty() {
            return Some((device.device.clone(), matching));
        }
        if device.is_bus() && !self.is_part(device.device, DeviceFacts::subsystem(device)) {
            return None;
        }
        self.reach(&self.node.parent(device.device)?)
    }

    fn matching(&self, device: &Facts<'_>) -> Vec<&Selector> {
        self.policy.hardware.iter().filter(|s| s.matches(device)).collect()
    }

    /// Whether a device of a bus is a part of the one above it rather than another one.
    fn is_part(&self, device: &DevicePath, bus: &str) -> bool {
        PARTS.contains(&bus) || self.node.devtype(device).is_some_and(|kind| PART_TYPES.contains(&kind.as_str()))
    }

    /// Whether the plugin may hold this device, and what for.
    pub(crate) fn usage(&self, device: &DevicePath) -> Option<Use> {
        widest(&self.covering(device))
    }

    /// All granted devices of a subsystem, sorted by location, with what each says that it is part of.
    pub(crate) fn devices(&self, subsystem: &str) -> Result<Vec<(DevicePath, Option<Subsystem>)>, ReadError> {
        let mut granted = Vec::new();
        for device in self.node.devices(subsystem)? {
            let facts = Facts::new(&self.node, &device);
            if self.reach_of(&facts).is_some() {
                let known = facts.subsystem.into_inner().and_then(Result::ok).flatten();
                granted.push((device, known));
            }
        }
        Ok(granted)
    }

    /// The devices beneath `device`, at any depth, as far as descent goes.
    pub fn beneath(&self, device: &DevicePath) -> Result<Vec<DevicePath>, ReadError> {
        let mut found = Vec::new();
        let mut open = vec![device.clone()];
        while let Some(at) = open.pop() {
            for child in self.node.child_devices(&at)? {
                if self.usage(&child).is_some() {
                    open.push(child.clone());
                    found.push(child);
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// The nodes of a device and of those beneath it that the policy offers; with each that it offers and the host
    /// withholds, and why. `known` is what the device is part of, where it has said so.
    pub(crate) fn nodes(
        &self,
        device: &DevicePath,
        known: Option<&Subsystem>,
    ) -> Result<(Vec<GrantedNode>, Vec<Withheld>), ReadError> {
        let (mut granted, mut withheld) = (Vec::new(), Vec::new());
        let known = std::iter::once(known.cloned()).chain(std::iter::repeat(None));
        for (owner, known) in std::iter::once(device.clone()).chain(self.beneath(device)?).zip(known) {
            let mut facts = Facts::new(&self.node, &owner);
            if known.is_some() {
                facts.subsystem = Ok(known).into();
            }
            let group = self.offered_group(&owner).map(|group| {
                let (group, grant) = group?;
                let device = group.device.as_ref().map(|device| Facts::new(&self.node, device));
                Some(self.grant(group.node, grant, device.as_ref()))
            });
            let own = self.offer_for(&facts).map(|grant| -> Result<_, ReadError> {
                let is_block = || Ok(facts.asked().clone()?.is_some_and(|found| found.name == "block"));
                let node = self.node.own_node_of(&owner, is_block)?;
                Ok(node.map(|node| self.grant(node, grant, Some(&facts))))
            });
            for node in std::iter::once(group).chain(own) {
                match node {
                    Ok(None) => {}
                    Ok(Some(Ok(node))) => granted.push(node),
                    Ok(Some(Err(why))) => withheld.push(why),
                    // The kernel names a node that is not there, or is another one: said, so that it can be explained.
                    Err(error) => withheld.push(Withheld { what: owner.name().to_owned(), why: error.to_string() }),
                }
            }
        }
        granted.sort_by(|a, b| a.node.cmp(&b.node));
        // Functions of one group have one node for all.
        granted.dedup_by(|a, b| a.node == b.node);
        Ok((granted, withheld))
    }

    /// A node that the policy offers, unless the host does not give it away.
    fn grant(&self, node: DeviceNode, grant: NodeGrant, owner: Option<&Facts<'_>>) -> Result<GrantedNode, Withheld> {
        let refused = self.refusal(&node, owner).map_or(Ok(()), Err);
        match refused.and_then(|()| self.group_of(&node, owner).map_err(|why| why.to_string())) {
            Ok(group) => Ok(GrantedNode { node, grant, owner: owner.map(|owner| owner.device.clone()), group }),
            Err(why) => Err(Withheld { what: node.path, why }),
        }
    }

    /// How the node that belongs to `owner` may be given, if a covering selector offers it.
    fn offer_for(&self, owner: &Facts<'_>) -> Option<NodeGrant> {
        let subsystem = owner.asked().as_ref().ok()?.as_ref()?;
        let (_, covering) = self.reach_of(owner)?;
        let offers = covering.into_iter().filter(|s| s.usage == Use::Offer);
        offers.filter_map(|s| s.node_offer(&subsystem.name, owner.device.name())).reduce(least)
    }

    /// A node by its path, as the policy's `host-nodes` list it. The error says why it is not given; escaped, and for the component as
    /// well.
    pub fn node_at(&self, path: &str) -> Result<GrantedNode, NotGranted> {
        let grant = self.policy.host_nodes.grant(path).ok_or(NotGranted::Unlisted("host-nodes matches it"))?;
        let node = self.node.node_at(path)?;
        let owner = self.node.owner_of(node.number);
        // Where a selector offers it as well, neither the order of questions nor the wider grant decides.
        let owner = owner.as_ref().map(|owner| Facts::new(&self.node, owner));
        let offered = owner.as_ref().and_then(|owner| self.offer_for(owner));
        let grant = match offered {
            Some(offered) => least(offered, grant),
            None => grant,
        };
        let granted = self.grant(node, grant, owner.as_ref());
        granted.map_err(|withheld| NotGranted::Refused(withheld.why, None))
    }

    /// What is wrong with giving a node away at this moment, if anything. A disk that was idle when it was enumerated may
    /// have been mounted since.
    pub(crate) fn problem_now(&self, granted: &GrantedNode) -> Option<String> {
        if let Err(changed) = self.node.check_node(&granted.node) {
            return Some(format!("node {} {changed}", granted.node.path));
        }
        self.in_use(&granted.node, granted.owner.as_ref())
    }

    /// Why the policy does not offer a unit's hardware any more, if so: a driver or an attribute that a selector states may be
    /// another by now.
    pub(crate) fn no_longer_offered(&self, unit: &UnitRecord) -> Option<String> {
        let lost = |device: &&DevicePath| self.usage(device) != Some(Use::Offer);
        if let Some(device) = unit.backing.iter().find(lost) {
            return Some(format!("device {} is not offered by the policy any more", device.name()));
        }
        for node in &unit.nodes {
            let owner = node.owner.as_ref().map(|owner| Facts::new(&self.node, owner));
            let by_path = || self.policy.host_nodes.grant(&node.node.path).is_some();
            let offered = owner.as_ref().is_some_and(|owner| self.offer_for(owner).is_some());
            if !offered && node.group.is_none() && !by_path() {
                return Some(format!("node {} is not offered by the policy any more", node.node.path));
            }
            if let Some(why) = self.refusal(&node.node, owner.as_ref()) {
                return Some(why);
            }
        }
        self.group_problem(&unit.nodes, &unit.backing)
    }

    /// Why the host does not give a node away whatever the policy offers.
    fn refusal(&self, node: &DeviceNode, owner: Option<&Facts<'_>>) -> Option<String> {
        let found = owner.is_none().then(|| self.node.owner_of(node.number)).flatten();
        let found = found.as_ref().map(|found| Facts::new(&self.node, found));
        let owner = owner.or(found.as_ref());
        let subsystem = owner.and_then(|owner| owner.asked().as_ref().ok()?.as_ref());
        let class = subsystem.map(|s| s.name.as_str());
        let owner = owner.map(|owner| owner.device);
        let danger = dangerous_node(class, owner.map(DevicePath::name), node.number);
        if let Some(danger) = danger.filter(|danger| !self.policy.accepts(danger)) {
            return Some(format!(
                "{} ({}) is dangerous to give away: it {}, and needs \"dangerous: [{}]\" in the policy",
                node.path, node.number, danger.why, danger.key
            ));
        }
        if owner.is_none() && !self.node.is_recorded() && self.node.owner_of(NULL).is_none() {
            let path = &node.path;
            return Some(format!("{path}: cannot tell what it is: the node's /sys/dev is not there to look it up"));
        }
        self.in_use(node, owner)
    }

    /// Why a disk that the node reaches is not idle.
    fn in_use(&self, node: &DeviceNode, owner: Option<&DevicePath>) -> Option<String> {
        let used = match (node.number.kind, owner) {
            (NodeKind::Block, _) => self.node.block_in_use(node.number),
            (NodeKind::Character, Some(owner)) => self.node.nvme_in_use(owner),
            (NodeKind::Character, None) => Ok(None),
        };
        match used {
            Ok(None) => None,
            Ok(Some(why)) => Some(format!("{} is in use by this node: {why}", node.path)),
            Err(error) => Some(format!("{}: cannot tell whether it is in use: {error}", node.path)),
        }
    }

    /// Every device that a selector matches by itself, for people: what the grants mean here.
    pub fn matches(&self) -> Result<Vec<Match>, ReadError> {
        let mut found = Vec::new();
        for subsystem in self.subsystems() {
            for device in self.node.devices(subsystem)? {
                let Some(usage) = widest(&self.matching(&Facts::new(&self.node, &device))) else {
                    continue;
                };
                let (nodes, withheld) = self.nodes(&device, None)?;
                found.push(Match { device, subsystem: subsystem.to_owned(), usage, nodes, withheld });
            }
        }
        Ok(found)
    }

    /// How many devices the selectors match here: what limits scale with, and whether there is anything to do at all.
    pub(crate) fn matched(&self) -> Result<usize, ReadError> {
        let matches = |device: &&DevicePath| !self.matching(&Facts::new(&self.node, device)).is_empty();
        let of = |subsystem: &str| Ok(self.node.devices(subsystem)?.iter().filter(matches).count());
        self.subsystems().into_iter().map(of).sum()
    }

    /// Of which the selectors are.
    fn subsystems(&self) -> BTreeSet<&str> {
        self.policy.hardware.iter().map(|s| s.subsystem.as_str()).collect()
    }
}

/// What all these selectors let be done with a device together, if there are any.
fn widest(selectors: &[&Selector]) -> Option<Use> {
    selectors.iter().map(|selector| selector.usage).max()
}

/// The lesser of two grants of one node: exclusive rather than shared, what both allow, and in the place that both name.
pub(crate) fn least(a: NodeGrant, b: NodeGrant) -> NodeGrant {
    NodeGrant {
        shared: a.shared && b.shared,
        access: a.access.both(b.access).unwrap_or(a.access),
        container_path: a.container_path.filter(|path| b.container_path.as_ref() == Some(path)),
    }
}
