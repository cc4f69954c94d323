//! What everything else is about: units and their pools as plain records, the nodes that are given with them, and where they are.

mod parts;
mod topology;
mod unavailable;

pub(crate) use parts::{MAX_PART_NODES, MAX_PARTS, Part, Role};
pub(crate) use topology::Topology;
pub use unavailable::{Cause, Causes};
pub(crate) use unavailable::{HeldByOther, Lost};

use devgate_node::{DeviceNode, DevicePath};
use devgate_policy::{NodeGrant, Origin};
use devgate_types::{NodeKind, ResourceName, UnitId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// One unit that passed the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitRecord {
    /// Its id.
    pub id: UnitId,
    /// What it is made of.
    pub backing: Vec<DevicePath>,
    /// Its own nodes.
    pub nodes: Vec<GrantedNode>,
    /// The places of the hardware that is its alone, with what its nodes reach besides.
    pub(crate) pieces: Vec<DevicePath>,
    /// What the component says of it, unescaped.
    pub properties: Vec<(String, String)>,
    /// The values that stand for it, and may stand for no other.
    pub(crate) values: Vec<String>,
    /// The NUMA nodes that it is near.
    pub numa_nodes: BTreeSet<u32>,
}

impl UnitRecord {
    /// All that it is made of: what its component says, and what its own nodes belong to.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &DevicePath> {
        let owners = self.nodes.iter().filter(|node| !node.grant.shared);
        self.backing.iter().chain(owners.filter_map(|node| node.owner.as_ref()))
    }

    /// Whether it has the same nodes and is made of the same, however the policy lets them be given.
    pub(crate) fn is_same_hardware(&self, other: &Self) -> bool {
        let nodes = |unit: &Self| unit.nodes.iter().map(|node| node.node.clone()).collect::<Vec<_>>();
        self.backing == other.backing && nodes(self) == nodes(other)
    }

    /// What a unit is that a consumer has, where it is made of the same devices and only its nodes are others now. Its properties are those
    /// that its container's environment was made of.
    pub(crate) fn moved_from(&self, old: &Self) -> Option<Self> {
        let moved = !self.backing.is_empty() && self.backing == old.backing && !self.is_same_hardware(old);
        moved.then(|| Self { properties: old.properties.clone(), values: old.values.clone(), ..self.clone() })
    }
}

/// A unit that is there and that the policy's `only` or `except` leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its id.
    pub id: UnitId,
    /// The component's own name of its resource.
    pub resource: ResourceName,
    /// What it is made of.
    pub backing: Vec<DevicePath>,
    /// Its own nodes.
    pub nodes: Vec<GrantedNode>,
    /// The filter that leaves it out, or the first of `only` where none of them matches.
    pub origin: Origin,
}

/// One resource's units, sorted by id, and the nodes that each allocation hands out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PoolRecord {
    /// The component's own name of the resource; nothing where it lists no such pool any more.
    pub(crate) asked: Option<ResourceName>,
    pub(crate) units: Vec<Arc<UnitRecord>>,
    pub(crate) shared_nodes: Vec<GrantedNode>,
}

impl PoolRecord {
    /// The name that the component knows the resource by, which is offered as `offered`.
    pub(crate) fn asked<'a>(&'a self, offered: &'a ResourceName) -> &'a ResourceName {
        self.asked.as_ref().unwrap_or(offered)
    }

    /// Where a unit is in the pool; the error says where it would be.
    pub(crate) fn place(&self, id: &str) -> Result<usize, usize> {
        self.units.binary_search_by(|unit| unit.id.as_str().cmp(id))
    }
}

/// The places above one in the device tree, nearest first.
pub(crate) fn places_above(place: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(place.rsplit_once('/'), |(above, _)| above.rsplit_once('/')).map(|(above, _)| above)
}

/// A node that may be given to containers, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedNode {
    /// Which node.
    pub node: DeviceNode,
    /// How it may be given.
    pub grant: NodeGrant,
    /// The kernel device that it belongs to, where there is one.
    pub owner: Option<DevicePath>,
    /// The iommu group that it opens, for a node of vfio: every function of the group must then back the id that has it.
    pub group: Option<String>,
}

impl GrantedNode {
    /// Whether judging it reads more of the node than the node itself: who uses a disk, what is in an iommu group.
    pub(crate) fn is_slow_to_judge(&self) -> bool {
        let nvme = self.owner.as_ref().is_some_and(|owner| owner.location().contains("/nvme"));
        self.node.number.kind == NodeKind::Block || self.group.is_some() || nvme
    }
}

/// A pool or a unit that the gate did not let through. The others are not affected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rejection {
    /// `resource vendor.com/gpu` or `id GPU-1 of vendor.com/gpu`, escaped.
    pub what: String,
    /// Why, and what to do where that is known; escaped.
    pub why: String,
}

impl Rejection {
    /// Whether it is of this unit of this resource, or names it as the first of several.
    #[must_use]
    pub fn names(&self, resource: &str, id: &str) -> bool {
        let rest = self.what.strip_prefix("id ").and_then(|rest| rest.strip_prefix(id));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" and ") || rest == format!(" of {resource}"))
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}
