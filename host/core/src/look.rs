//! What a look at the node and at a component finds, for a plugin that runs and for one that is only looked at.

use crate::call::CallHost;
use crate::grants::Grants;
use crate::inventory::Inventory;
use crate::units::{GrantedNode, PoolRecord, Rejection, UnitRecord};
use devgate_node::Node;
use devgate_types::component::{Call, CallKind, Component, Output};
use devgate_types::{CallError, Condition, GuestFault, GuestText, HostFault, ResourceName, UnitId, Verdict};
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

/// What a component finds of one unit.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    /// As far as the policy lets them go.
    pub(crate) conditions: Vec<Condition>,
}

/// Units, and what was found of each.
pub(crate) type Findings = Vec<(Vec<Arc<UnitRecord>>, Vec<Finding>)>;

/// Which call of a look failed.
pub(crate) struct FailedLook {
    pub(crate) call: CallKind,
    pub(crate) error: CallError,
}

/// A call that could not be made at all.
impl From<CallError> for FailedLook {
    fn from(error: CallError) -> Self {
        Self { call: CallKind::Health, error }
    }
}

/// What a component was found to offer by a trial, for a plugin that goes on from there.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub(crate) inventory: Inventory,
    pub(crate) rejected: BTreeSet<Rejection>,
    pub(crate) findings: Findings,
}

/// How often a component is called to find out how all units of these pools are.
pub(crate) fn calls_for(component: &dyn Component, grants: &Grants, pools: usize) -> usize {
    if examines(component, grants) { pools.saturating_mul(2) } else { pools }
}

/// Whether a component is asked for conditions.
fn examines(component: &dyn Component, grants: &Grants) -> bool {
    component.profile().conditions && grants.policy.dra.as_ref().is_some_and(|dra| !dra.conditions.is_empty())
}

/// What the component finds of all units of these pools, each call with capabilities of its own.
pub(crate) fn findings(
    component: &dyn Component,
    host: &dyn Fn() -> CallHost,
    pools: &BTreeMap<ResourceName, PoolRecord>,
) -> Result<Findings, FailedLook> {
    let of = |(resource, pool): (&ResourceName, &PoolRecord)| {
        let asked = pool.asked(resource);
        let verdicts = verdicts(component, &mut host(), asked, &pool.units)?;
        let conditions = conditions(component, &mut host(), asked, &pool.units);
        let conditions = conditions.map_err(|error| FailedLook { call: CallKind::Examine, error })?;
        let findings = verdicts.into_iter().zip(conditions);
        let findings = findings.map(|(verdict, conditions)| Finding { verdict, conditions });
        Ok((pool.units.clone(), findings.collect()))
    };
    pools.iter().map(of).collect()
}

/// The conditions of these units that the policy names; none where it names none or the component does not say any.
pub(crate) fn conditions(
    component: &dyn Component,
    host: &mut CallHost,
    resource: &ResourceName,
    units: &[Arc<UnitRecord>],
) -> Result<Vec<Vec<Condition>>, CallError> {
    let grants = Arc::clone(&host.grants);
    let (true, Some(dra)) = (examines(component, &grants), &grants.policy.dra) else {
        return Ok(vec![Vec::new(); units.len()]);
    };
    let all = examine(component, host, resource, units)?.into_iter();
    Ok(all.map(|list| list.into_iter().filter_map(|condition| dra.granted(condition)).collect()).collect())
}

/// All that the component says of the conditions of these units, escaped.
pub(crate) fn examine(
    component: &dyn Component,
    host: &mut CallHost,
    resource: &ResourceName,
    units: &[Arc<UnitRecord>],
) -> Result<Vec<Vec<Condition>>, CallError> {
    let call = Call::about(CallKind::Examine, resource.as_str(), &[]);
    let Output { mut conditions, .. } = host.call(component, call, units)?;
    if conditions.len() != units.len() {
        let message = format!("examine gave {} lists of conditions for {} units", conditions.len(), units.len());
        return Err(GuestFault::contract(&message).into());
    }
    for condition in conditions.iter_mut().flatten() {
        condition.message = GuestText::new(&condition.message).as_str().to_owned();
    }
    Ok(conditions)
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
