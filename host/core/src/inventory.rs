//! What a plugin has: the answer of `enumerate` after the gate, as records that own what they name.

mod gate;
mod unread;
mod values;

use crate::allocations::Allocations;
use crate::call::CallHost;
use crate::ledger::Footprint;
use crate::units::{Cause, GrantedNode, LeftOut, MAX_PART_NODES, Part, PoolRecord, Rejection, Role, UnitRecord};
use devgate_node::DevicePath;
use devgate_policy::{PluginPolicy, Use};
use devgate_types::component::{Call, Component, Output};
use devgate_types::{DeviceHandle, NodeHandle, NodeNumber, Property, ResourceName, Unit, UnitId, escape};
use gate::{GateRefusal, refused};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The most properties of a unit, and the most bytes of a property's name, as `wit/types.wit` says.
const MAX_PROPERTIES: usize = 32;
const PROPERTY_NAME_BYTES: usize = 128;
/// The most devices of a plugin, replicas counted. Far more than the kubelet takes in one message of 4 MiB, and few enough
/// to be held several times over.
const MAX_DEVICES: usize = 100_000;

/// All of a plugin's resources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Inventory {
    /// By the name that they are offered under.
    pub(crate) pools: BTreeMap<ResourceName, PoolRecord>,
    /// Units that are there and not offered.
    pub(crate) left: BTreeMap<UnitId, LeftOut>,
    /// Units that the policy does not offer any more, and why; listed because the component cannot describe them now.
    pub(crate) withdrawn: BTreeMap<UnitId, Arc<str>>,
    /// The kernel names of devices that the component cannot describe now.
    pub(crate) unread: BTreeSet<String>,
}

impl Inventory {
    /// Asks a component for all that there is, and holds its answer against its grants.
    pub(crate) fn ask(
        component: &dyn Component,
        host: &mut CallHost,
    ) -> Result<(Self, Vec<Rejection>), devgate_types::CallError> {
        Self::ask_again(component, host, &Self::default())
    }

    /// The same where something is known already: what the component cannot describe now stays as it was.
    pub(crate) fn ask_again(
        component: &dyn Component,
        host: &mut CallHost,
        before: &Self,
    ) -> Result<(Self, Vec<Rejection>), devgate_types::CallError> {
        let Output { pools, .. } = host.call(component, Call::default(), &[])?;
        let (mut inventory, mut rejected) = Self::gate(host, pools);
        rejected.extend(inventory.keep_unread(before, host));
        Ok((inventory, rejected))
    }

    /// What the units need for themselves.
    pub(crate) fn footprints(&self, policy: &PluginPolicy, allocations: &Allocations) -> Vec<Footprint> {
        // In the policy's order of resources: where two of one plugin want the same node, the earlier one has it.
        let mut pools: Vec<_> = self.pools.iter().collect();
        pools.sort_by_key(|(resource, _)| policy.resource_rank(resource));
        let nothing = allocations.is_empty();
        let footprint = |resource, pool, unit: &Arc<UnitRecord>| Footprint {
            remembered: !nothing && allocations.is_as_handed_out(resource, pool, unit, policy),
            ..unit.footprint(pool, policy)
        };
        pools
            .into_iter()
            .flat_map(|(resource, pool)| pool.units.iter().map(move |unit| footprint(resource, pool, unit)))
            .collect()
    }

    /// Takes a unit that a pod holds out of every pool but its own: it is what it was handed out as.
    pub(crate) fn remove_elsewhere(&mut self, resource: &ResourceName, id: &UnitId) {
        for (_, pool) in self.pools.iter_mut().filter(|(name, _)| *name != resource) {
            pool.units.retain(|unit| unit.id != *id);
        }
    }

    /// The pools that have units.
    pub(crate) fn stocked(&self) -> BTreeMap<ResourceName, PoolRecord> {
        let stocked = self.pools.iter().filter(|(_, pool)| !pool.units.is_empty());
        stocked.map(|(name, pool)| (name.clone(), pool.clone())).collect()
    }

    /// All units, with the resource and the pool that each is of.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&ResourceName, &PoolRecord, &Arc<UnitRecord>)> {
        self.pools.iter().flat_map(|(resource, pool)| pool.units.iter().map(move |unit| (resource, pool, unit)))
    }

    /// All units by id.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Arc<UnitRecord>> {
        self.pools.values().flat_map(|pool| &pool.units)
    }

    /// The units that are something else than what was handed out, before the host started.
    pub(crate) fn drifted(&self, policy: &PluginPolicy, allocations: &Allocations) -> HashMap<UnitId, Arc<str>> {
        let drift = |(resource, pool, unit): (_, _, &Arc<UnitRecord>)| {
            Some((unit.id.clone(), allocations.drift(resource, pool, unit, policy)?.into()))
        };
        self.all().filter_map(drift).collect()
    }
}

impl Inventory {
    /// The pool of a resource; where there is none now, one as it was before, without its units.
    fn pool_like(&mut self, resource: &ResourceName, before: &PoolRecord) -> &mut PoolRecord {
        self.pools.entry(resource.clone()).or_insert_with(|| PoolRecord {
            asked: before.asked.clone(),
            units: Vec::new(),
            shared_nodes: before.shared_nodes.clone(),
        })
    }

    /// A unit of a resource.
    pub(crate) fn get(&self, resource: &ResourceName, id: &UnitId) -> Option<&Arc<UnitRecord>> {
        let pool = self.pools.get(resource)?;
        pool.units.get(pool.place(id.as_str()).ok()?)
    }

    /// Keeps a unit that a pod holds as it is. Returns what is different in what the component says now: other hardware, or nothing at
    /// all; then it is no device of the node any more, but its pod's.
    pub(crate) fn keep(
        &mut self,
        resource: &ResourceName,
        before: &PoolRecord,
        old: &Arc<UnitRecord>,
    ) -> Option<Cause> {
        let pool = self.pool_like(resource, before);
        match pool.place(old.id.as_str()) {
            Ok(at) => {
                // Its properties are those that its pod's environment was made of.
                let new = std::mem::replace(pool.units.get_mut(at)?, Arc::clone(old));
                (!new.is_same_hardware(old)).then_some(Cause::HardwareChanged)
            }
            Err(at) => {
                pool.units.insert(at, Arc::clone(old));
                Some(Cause::Unlisted)
            }
        }
    }
}

impl UnitRecord {
    fn gate(host: &CallHost, unit: Unit) -> Result<Self, GateRefusal> {
        let id = UnitId::try_new(&unit.id).map_err(|e| refused(e.problem()))?;
        let backing = unit.backing.iter().map(|handle| backing(host, *handle)).collect::<Result<BTreeSet<_>, _>>()?;
        let nodes = unit.nodes.iter().map(|handle| held_node(host, *handle)).collect::<Result<Vec<_>, _>>()?;
        let numa_nodes = backing.iter().filter_map(|device| host.numa_node(device)).collect();
        let (backing, nodes) = (backing.into_iter().collect::<Vec<_>>(), once_each(nodes));
        if let Some(problem) = host.group_problem(&nodes, &backing) {
            return Err(refused(problem));
        }
        let pieces = pieces(host, &backing, &nodes)?;
        let record = Self {
            id,
            backing,
            nodes,
            pieces,
            properties: properties(unit.properties)?,
            // Once it is known what it is offered as.
            values: Vec::new(),
            numa_nodes,
        };
        match record.part(host.policy()) {
            Some(part) if part.len() > MAX_PART_NODES => Err(refused(format!(
                "is a part of a device (partitions) and has {} exclusive nodes; at most {MAX_PART_NODES}",
                part.len()
            ))),
            _ => Ok(record),
        }
    }

    /// What it has for itself as a part of a device; none where the policy lets it be none.
    fn part(&self, policy: &PluginPolicy) -> Option<Part<NodeNumber>> {
        let partitions = policy.partitions.as_ref()?;
        let own = self.nodes.iter().filter(|node| !node.grant.shared);
        Part::new(own.map(|node| (node.node.number, Role::of(node, partitions))))
    }

    /// What it needs, its pool's shared nodes included.
    pub(crate) fn footprint(&self, pool: &PoolRecord, policy: &PluginPolicy) -> Footprint {
        let numbers = |shared: bool| {
            let own = self.nodes.iter().filter(move |n| n.grant.shared == shared);
            own.map(|n| n.node.number)
        };
        // The device that a node belongs to is part of the unit, whatever the component says that it is made of.
        let owners = self.nodes.iter().filter(|n| !n.grant.shared).filter_map(|n| n.owner.clone());
        let mut backing: Vec<_> = self.backing.iter().cloned().chain(owners).collect();
        backing.sort();
        backing.dedup();
        Footprint {
            id: self.id.clone(),
            exclusive: numbers(false).collect(),
            shared: numbers(true).chain(pool.shared_nodes.iter().map(|n| n.node.number)).collect(),
            backing,
            pieces: self.pieces.clone(),
            values: self.values.clone(),
            shares: policy.shares_hardware,
            part: self.part(policy),
            is_counted: policy.counts_wholes(),
            remembered: false,
        }
    }

    /// The record as the contract passes it back to the component, with handles of that call.
    pub(crate) fn lend(&self, host: &mut CallHost) -> Unit {
        host.lends(&self.id, &self.backing);
        Unit {
            id: self.id.to_string(),
            backing: self.backing.iter().map(|device| host.hold_device(device.clone())).collect(),
            nodes: self.nodes.iter().map(|node| host.hold_node(node.clone())).collect(),
            properties: self
                .properties
                .iter()
                .map(|(name, value)| Property { name: name.clone(), value: value.clone() })
                .collect(),
        }
    }
}

fn backing(host: &CallHost, handle: DeviceHandle) -> Result<DevicePath, GateRefusal> {
    let device = host.held_device(handle).ok_or_else(|| unheld("backing"))?;
    let why_not = match host.grants.usage(device) {
        Some(Use::Offer) => return Ok(device.clone()),
        Some(Use::Read) => "is granted for reading only (hardware: use: offer would let it be offered)",
        None => "is not granted any more",
    };
    Err(refused(format!("device {} {why_not}", escape(device.name(), 80))))
}

/// What it has for itself: the devices of its own nodes and what it is made of, with all that nodes of these reach. A device of which it
/// has a shared node alone keeps no other node of the same hardware from others.
fn pieces(host: &CallHost, backing: &[DevicePath], nodes: &[GrantedNode]) -> Result<Vec<DevicePath>, GateRefusal> {
    let owners = |shared: bool| {
        let those = nodes.iter().filter(move |node| node.grant.shared == shared);
        those.filter_map(|node| node.owner.as_ref())
    };
    let shared: BTreeSet<_> = owners(true).collect();
    let devices: BTreeSet<_> = backing.iter().filter(|device| !shared.contains(device)).chain(owners(false)).collect();
    let mut pieces = BTreeSet::new();
    for device in devices {
        pieces.insert(device.clone());
        let why = |error| refused(format!("cannot tell which hardware {} is of: {error}", escape(device.name(), 80)));
        pieces.extend(host.pieces(device).map_err(why)?);
    }
    Ok(pieces.into_iter().collect())
}

fn held_node(host: &CallHost, handle: NodeHandle) -> Result<GrantedNode, GateRefusal> {
    host.held_node(handle).cloned().ok_or_else(|| unheld("node"))
}

fn unheld(what: &str) -> GateRefusal {
    refused(format!("a {what} handle was never handed out in this call"))
}

fn shared_nodes(host: &CallHost, handles: &[NodeHandle]) -> Result<Vec<GrantedNode>, GateRefusal> {
    let nodes = handles.iter().map(|handle| held_node(host, *handle)).collect::<Result<Vec<_>, _>>()?;
    let problem = |what: &str, node: &GrantedNode| Err(refused(format!("node {} {what}", node.node.path)));
    if let Some(node) = nodes.iter().find(|node| node.group.is_some()) {
        return problem("opens an iommu group: it belongs to the units that are made of it", node);
    }
    match nodes.iter().find(|node| !node.grant.shared) {
        Some(node) => problem("is not marked shared by the policy", node),
        None => Ok(once_each(nodes)),
    }
}

fn once_each(mut nodes: Vec<GrantedNode>) -> Vec<GrantedNode> {
    nodes.sort_by(|a, b| a.node.cmp(&b.node));
    nodes.dedup_by(|a, b| a.node == b.node);
    nodes
}

fn properties(given: Vec<Property>) -> Result<Vec<(String, String)>, GateRefusal> {
    if given.len() > MAX_PROPERTIES {
        return Err(refused(format!("has {} properties; at most {MAX_PROPERTIES}", given.len())));
    }
    let mut names = HashSet::new();
    for property in &given {
        if property.name.is_empty() || property.name.len() > PROPERTY_NAME_BYTES {
            return Err(refused(format!("a property's name must have 1 to {PROPERTY_NAME_BYTES} bytes")));
        }
        if !names.insert(property.name.as_str()) {
            return Err(refused(format!("property {} is listed twice", escape(&property.name, 80))));
        }
    }
    Ok(given.into_iter().map(|property| (property.name, property.value)).collect())
}
