//! What a look at the node and at a component finds, for a plugin that runs and for one that is only looked at.

use crate::call::CallHost;
use crate::grants::Grants;
use crate::inventory::Inventory;
use crate::units::{GrantedNode, PoolRecord, Rejection, UnitRecord};
use devgate_node::Node;
use devgate_types::component::{Call, CallKind, Component, Output};
use devgate_types::{CallError, GuestFault, HostFault, ResourceName, UnitId, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many devices the selectors match. A tree that is not there is a fault, not "no devices": what was known stands for a
/// while, and is unhealthy then.
pub(crate) fn matched(grants: &Grants) -> Result<usize, HostFault> {
    if grants.policy.hardware.is_empty() {
        return Ok(0);
    }
    let fault = |why: String| HostFault(format!("the device tree cannot be read: {why}"));
    if !grants.node.has_devices() {
        return Err(fault("neither /sys/class nor /sys/bus has anything in it".to_owned()));
    }
    grants.matched().map_err(|error| fault(error.to_string()))
}

impl PoolRecord {
    /// What is wrong with the hardware of each unit now, as the host sees it. A shared node that is not there is missing
    /// for all of them.
    pub(crate) fn problems(&self, node: &Node) -> Vec<(UnitId, Arc<str>)> {
        let shared: Option<Arc<str>> =
            changed_node(node, &self.shared_nodes).map(|problem| format!("shared {problem}").into());
        let problem = |unit: &Arc<UnitRecord>| {
            let gone = unit.backing.iter().find(|device| !node.exists(device));
            let own = gone.map(|device| format!("device {} is gone", device.name()));
            let own = own.or_else(|| changed_node(node, &unit.nodes)).map(Arc::from);
            Some((unit.id.clone(), own.or_else(|| shared.clone())?))
        };
        self.units.iter().filter_map(problem).collect()
    }
}

/// The first of these nodes that is not what it was.
fn changed_node(node: &Node, nodes: &[GrantedNode]) -> Option<String> {
    nodes.iter().find_map(|granted| {
        let changed = node.check_node(&granted.node).err()?;
        Some(format!("node {} {changed}", granted.node.path))
    })
}

/// Units, and what was found of each.
pub(crate) type Verdicts = Vec<(Vec<Arc<UnitRecord>>, Vec<Verdict>)>;

/// What a component was found to offer by a trial, for a plugin that goes on from there.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub(crate) inventory: Inventory,
    pub(crate) rejected: BTreeSet<Rejection>,
    /// What was found of each unit.
    pub(crate) verdicts: Verdicts,
}

/// The component's verdicts on all units of these pools, each pool with capabilities of its own.
pub(crate) fn all_verdicts(
    component: &dyn Component,
    host: &dyn Fn() -> CallHost,
    pools: &BTreeMap<ResourceName, PoolRecord>,
) -> Result<Verdicts, CallError> {
    let of = |(resource, pool): (&ResourceName, &PoolRecord)| {
        let verdicts = verdicts(component, &mut host(), pool.asked(resource), &pool.units)?;
        Ok((pool.units.clone(), verdicts))
    };
    pools.iter().map(of).collect()
}

/// The component's verdicts on these units.
pub(crate) fn verdicts(
    component: &dyn Component,
    host: &mut CallHost,
    resource: &ResourceName,
    units: &[Arc<UnitRecord>],
) -> Result<Vec<Verdict>, CallError> {
    let call = Call::about(CallKind::Health, resource.as_str(), &[]);
    let Output { verdicts, .. } = host.call(component, call, units)?;
    if verdicts.len() != units.len() {
        let message = format!("health gave {} verdicts for {} units", verdicts.len(), units.len());
        return Err(GuestFault::contract(&message).into());
    }
    Ok(verdicts)
}
