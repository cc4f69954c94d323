//! One id as it was handed out, and what is different by now.

use super::is_default;
use crate::units::{GrantedNode, Part, Role, UnitRecord};
use devgate_node::DevicePath;
use devgate_policy::PluginPolicy;
use devgate_types::escape;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One id as it was handed out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AllocatedUnit {
    nodes: Vec<NodeThen>,
    /// Places in the device tree.
    backing: BTreeSet<String>,
    /// The places of the hardware that was its alone, with what its nodes reach besides, where these are not just those of its backing
    /// and its own nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pieces: Option<BTreeSet<String>>,
    /// Whether the policy let its resource share hardware.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) shares: bool,
    /// The plugin of whose parts of a device it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part_of: Option<String>,
    /// As how many it was offered, by ids with numbers behind them where there were several.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    replicas: u32,
    /// Whether a component has to release it before anybody else gets it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) unreleased: bool,
    /// The boot that the nodes' numbers are of, where the kernel says which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) boot: Option<String>,
    /// Whether only the kubelet's records tell of it: what it is made of is not known then, and its nodes are all that its container
    /// got, shared ones among them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) recorded: bool,
    /// Whether only others than our plugins offer its resource, by the kubelet's records.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) others: bool,
}

/// One node as it was handed out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeThen {
    path: String,
    /// Such as `c 195:0`.
    number: String,
    /// The place in the device tree of the device that it belonged to, where the kernel knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    /// Whether others have it as well.
    #[serde(default, skip_serializing_if = "is_default")]
    shared: bool,
    /// Whether it told a part from others.
    #[serde(default, skip_serializing_if = "is_default")]
    own: bool,
    /// Whether other parts could have it as well.
    #[serde(default, skip_serializing_if = "is_default")]
    common: bool,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_one(replicas: &u32) -> bool {
    *replicas == 1
}

impl NodeThen {
    fn of(granted: &GrantedNode, shared: bool, policy: &PluginPolicy) -> Self {
        let shared = shared || granted.grant.shared;
        let partitions = policy.partitions.as_ref().filter(|_| !shared);
        let role = partitions.map(|partitions| Role::of(granted, partitions)).unwrap_or_default();
        Self {
            path: granted.node.path.clone(),
            number: granted.node.number.to_string(),
            device: granted.owner.as_ref().map(|owner| owner.location().to_owned()),
            shared,
            own: role.own,
            common: role.common,
        }
    }

    /// The place of what it belongs to; for a node that belongs to nothing in the tree, its path.
    fn place(&self) -> &str {
        self.device.as_deref().unwrap_or(&self.path)
    }
}

impl AllocatedUnit {
    /// A unit as it is now, with the shared nodes of its pool.
    pub(super) fn of(unit: &UnitRecord, shared_nodes: &[GrantedNode], policy: &PluginPolicy) -> Self {
        let own = unit.nodes.iter().map(|node| NodeThen::of(node, false, policy));
        let shared = shared_nodes.iter().map(|node| NodeThen::of(node, true, policy));
        let nodes: Vec<_> = own.chain(shared).collect();
        let is_part = nodes.iter().any(|node| node.own);
        Self {
            nodes,
            backing: unit.backing.iter().map(|device| device.location().to_owned()).collect(),
            shares: policy.shares_hardware,
            part_of: is_part.then(|| policy.name.to_string()),
            replicas: policy.replicas,
            ..Self::default()
        }
        .with_pieces(&unit.pieces)
    }

    /// What the kubelet's records tell of an id: the paths that went with it, with the devices of what is there and what their nodes
    /// reach, and whether it was one of several replicas.
    pub(super) fn recorded<'a>(
        nodes: impl IntoIterator<Item = (&'a str, Option<DevicePath>)>,
        pieces: &[DevicePath],
        replica: bool,
    ) -> Self {
        let node = |(path, device): (&str, Option<DevicePath>)| NodeThen {
            path: path.to_owned(),
            device: device.map(|device| device.location().to_owned()),
            ..NodeThen::default()
        };
        Self {
            nodes: nodes.into_iter().map(node).collect(),
            replicas: if replica { 2 } else { 1 },
            recorded: true,
            ..Self::default()
        }
        .with_pieces(pieces)
    }

    /// The same, with the hardware that it has for itself.
    fn with_pieces(self, pieces: &[DevicePath]) -> Self {
        let pieces: BTreeSet<_> = pieces.iter().map(|place| place.location().to_owned()).collect();
        let own: BTreeSet<_> = self.own_places().collect();
        let plain = pieces.iter().map(String::as_str).eq(own);
        Self { pieces: (!plain).then_some(pieces), ..self }
    }

    /// Whether what the kubelet's records tell may be this unit: its own nodes are among those that they name.
    pub(super) fn covers(&self, now: &Self) -> bool {
        let named = |own: &NodeThen| self.nodes.iter().any(|node| node.path == own.path);
        self.nodes.is_empty() || now.nodes.iter().filter(|node| !node.shared).all(named)
    }

    /// Whether nothing but its id is known. Of others', another id of the container has what is known.
    pub(super) fn is_bare(&self) -> bool {
        self.recorded && !self.others && self.nodes.is_empty()
    }

    /// Takes out the nodes that are another one's own, of the same container, and their hardware.
    pub(super) fn leave_out(&mut self, other: &Self) -> bool {
        let before = self.nodes.len();
        let is_other = |path: &str| other.nodes.iter().any(|node| !node.shared && node.path == path);
        self.nodes.retain(|node| !is_other(&node.path));
        let less = before != self.nodes.len();
        if let Some(pieces) = self.pieces.as_mut().filter(|_| less) {
            for place in other.pieces() {
                pieces.remove(place);
            }
        }
        less
    }

    /// The same, without the numbers of its nodes where they are of another boot, or of one that is not known.
    pub(super) fn in_boot(mut self, boot: Option<&str>) -> Self {
        if boot.is_none() || self.boot.as_deref() != boot {
            self.nodes.iter_mut().for_each(|node| node.number.clear());
        }
        self
    }

    /// Whether it is made of the same devices.
    pub(super) fn has_same_backing(&self, unit: &UnitRecord) -> bool {
        let now: BTreeSet<_> = unit.backing.iter().map(|device| device.location()).collect();
        self.backing.iter().map(String::as_str).collect::<BTreeSet<_>>() == now
    }

    /// The places of what it is made of.
    pub(super) fn backing(&self) -> impl Iterator<Item = &str> {
        self.backing.iter().map(String::as_str)
    }

    /// Whether both are parts of a device, of one plugin, and may be given together.
    pub(super) fn is_part_beside(&self, other: &Self) -> bool {
        let beside = || Some(self.part()?.is_beside(&other.part()?));
        self.part_of.is_some() && self.part_of == other.part_of && beside().unwrap_or(false)
    }

    fn part(&self) -> Option<Part<&str>> {
        let own = self.nodes.iter().filter(|node| !node.shared);
        Part::new(own.map(|node| {
            let (own, common) = (node.own, node.common);
            (node.place(), Role { own, common })
        }))
    }

    /// The places in the device tree of what the unit has for itself.
    pub(super) fn own_places(&self) -> impl Iterator<Item = &str> {
        let own = self.nodes.iter().filter(|node| !node.shared);
        let backing = self.backing.iter().map(String::as_str);
        backing.chain(own.filter_map(|node| node.device.as_deref()))
    }

    /// The places of the hardware that is the unit's alone, with what its nodes reach besides.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &str> {
        let stated = self.pieces.iter().flatten().map(String::as_str);
        stated.chain(self.own_places().filter(|_| self.pieces.is_none()))
    }

    /// Paths and numbers of its nodes, and whether others may have them as well. A number that is not known is left out.
    pub(super) fn names(&self) -> impl Iterator<Item = (bool, &str)> {
        let names =
            self.nodes.iter().flat_map(|node| [&node.path, &node.number].map(|name| (node.shared, name.as_str())));
        names.filter(|(_, name)| !name.is_empty())
    }

    /// What is different for the consumer that has it: what its answer means, or which ids mean it.
    pub(super) fn difference(&self, now: &Self, keeps_paths: bool) -> Option<String> {
        self.other_hardware(now, keeps_paths).or_else(|| self.other_ids(now))
    }

    /// The kubelet keeps the ids that pods have, and gives others away.
    fn other_ids(&self, now: &Self) -> Option<String> {
        if is_one(&self.replicas) == is_one(&now.replicas) {
            return None;
        }
        let how = |of: &Self| match of.replicas {
            1 => "as a whole".to_owned(),
            several => format!("as {several} replicas"),
        };
        let (then, now) = (how(self), how(now));
        Some(format!("it was handed out {then} and is offered {now} now (replicas)"))
    }

    /// What a kept answer would mean now that it did not mean then.
    ///
    /// A number by itself says little: majors are given out anew at every boot. It counts where nothing else tells what a
    /// node is, neither its place in the tree nor what its unit is made of. A shared node that is not there now means nothing.
    ///
    /// Who keeps no paths looks up what it is whenever a container starts: what is made of the same devices is the same then, wherever its
    /// nodes are by now. What is made of nothing that has a place is what its nodes are.
    pub(super) fn other_hardware(&self, now: &Self, keeps_paths: bool) -> Option<String> {
        if !keeps_paths && !self.recorded && !self.backing.is_empty() && self.backing == now.backing {
            return None;
        }
        if self.recorded {
            let other = "the kubelet's records say that it was handed out with other nodes than it has now";
            return (!self.covers(now)).then(|| other.to_owned());
        }
        if self.backing != now.backing {
            let names = |of: &Self| of.backing.iter().map(|at| last(at)).collect::<Vec<_>>().join(", ");
            let (mut before, mut today) = (names(self), names(now));
            // Behind another port, say: the place tells what its name does not.
            if before == today {
                let places = |of: &Self| of.backing.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                (before, today) = (places(self), places(now));
            }
            return Some(format!(
                "it was handed out as device {} and is {} now",
                escape(&before, 160),
                escape(&today, 160)
            ));
        }
        for then in &self.nodes {
            let path = escape(&then.path, 80);
            let Some(node) = now.nodes.iter().find(|node| node.path == then.path) else {
                if then.shared {
                    continue;
                }
                return Some(format!("node {path}, which was handed out with it, is not its own any more"));
            };
            let moved = match (&then.device, &node.device) {
                (Some(then), Some(now)) => then != now,
                _ => !then.shared && self.backing.is_empty() && then.number != node.number,
            };
            if moved {
                return Some(format!("node {path} is another device than when it was handed out"));
            }
        }
        None
    }
}

fn last(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: &str) -> AllocatedUnit {
        let text = format!(r#"{{"nodes": [], "backing": ["{place}"]}}"#);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_device_behind_another_port_is_told_by_its_place() {
        let told = |now| at("/devices/usb1/1-1/tty").difference(&at(now), true).unwrap();
        let sentence = "it was handed out as device /devices/usb1/1-1/tty and is /devices/usb1/1-2/tty now";
        assert_eq!(told("/devices/usb1/1-2/tty"), sentence);
        assert_eq!(told("/devices/usb1/1-2/tty2"), "it was handed out as device tty and is tty2 now");
    }
}
