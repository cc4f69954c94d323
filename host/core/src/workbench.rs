//! A component on a workbench: each of its functions called by hand, with the capabilities and through the gate that it meets
//! in production, and nothing around it that calls it again, remembers or forgives. For tests of components.
//!
//! Handles never leave it: what a call is about is named by what an earlier [`Workbench::enumerate`] listed, on this bench or on
//! another one of the same plugin.

use crate::allocations::Allocations;
use crate::call::CallHost;
use crate::grants::{Grants, Line, LogCapture};
use crate::inventory::Inventory;
use crate::ledger::{Ledger, PluginIndex};
use crate::look::{examine, matched, verdicts};
use crate::offer::Reply;
use crate::plugin_services::PluginServices;
use crate::reply;
use crate::units::{GrantedNode, PoolRecord, Rejection, UnitRecord};
use devgate_node::{Node, NodeEvent, ReadError};
use devgate_policy::PluginPolicy;
use devgate_types::component::{Call, CallKind, Component, Output};
use devgate_types::{CallError, Condition, Limits, ResourceName, Setting, UnitId, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One plugin's component, to be called by hand. What it stores lasts as long as the bench and is nowhere else.
pub struct Workbench {
    grants: Arc<Grants>,
    log_capture: LogCapture,
    services: Arc<PluginServices>,
    component: Arc<dyn Component>,
    limits: Arc<Limits>,
}

/// What a component listed, after the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The pools, by the names that they are offered under.
    pub pools: Vec<ListedPool>,
    /// What the gate did not let through.
    pub rejected: Vec<Rejection>,
    /// Why a unit would not be given away although the component lists it: another one before it has its id or hardware.
    pub contested: BTreeMap<UnitId, Arc<str>>,
}

/// One resource's units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPool {
    /// The name that it is offered under.
    pub resource: ResourceName,
    /// The component's own name of the resource.
    pub asked: ResourceName,
    /// Sorted by id.
    pub units: Vec<ListedUnit>,
    /// The nodes that every allocation of it hands out.
    pub shared_nodes: Vec<GrantedNode>,
}

impl ListedPool {
    /// A call about units of it.
    #[must_use]
    pub fn about(&self, kind: CallKind) -> Call<'_> {
        Call::about(kind, self.asked.as_str(), &[])
    }
}

/// One unit, as the host knows it.
pub type ListedUnit = Arc<UnitRecord>;

/// Why nothing was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotGiven {
    /// The call failed.
    #[error("allocate {0}")]
    Call(CallError),
    /// The component answered, with what the policy does not grant.
    #[error("allocate was answered with what the policy does not grant: {0}")]
    Refused(String),
}

impl Workbench {
    /// A component under a policy on a node. What the node's log says by now has been read; what it says later is not.
    pub fn new(policy: &Arc<PluginPolicy>, node: &Node, component: Arc<dyn Component>) -> Result<Self, ReadError> {
        let log_capture = LogCapture::default();
        let mut grants = Grants::new(node.clone(), Arc::clone(policy));
        grants.log_capture = Some(log_capture.clone());
        let devices = matched(&grants).or_else(|_| grants.matched())?;
        let services = Arc::new(PluginServices::none(policy, None));
        if node.is_recorded() && !policy.kernel_log.is_empty() {
            let matched_lines = Arc::clone(&services.matched_lines);
            let _read = node.watch(
                true,
                Arc::new(move |event| {
                    if let NodeEvent::Line(line) = event {
                        matched_lines.record(&line);
                    }
                }),
            );
        }
        Ok(Self {
            limits: Arc::new(policy.limits.for_devices(devices)),
            grants: Arc::new(grants),
            log_capture,
            services,
            component,
        })
    }

    /// What each call may use up here.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What was said in its calls so far: the component's lines, and what it asked for and does not get. At most 20 lines.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.log_capture.lines()
    }

    /// All that there is, after the gate.
    pub fn enumerate(&self) -> Result<Listed, CallError> {
        let (inventory, mut rejected) = Inventory::ask(self.component.as_ref(), &mut self.host())?;
        rejected.sort();
        let contested = self.contested(&inventory);
        let pool = |(resource, record): (ResourceName, PoolRecord)| ListedPool {
            asked: record.asked(&resource).clone(),
            resource,
            units: record.units,
            shared_nodes: record.shared_nodes,
        };
        Ok(Listed { pools: inventory.pools.into_iter().map(pool).collect(), rejected, contested })
    }

    fn contested(&self, inventory: &Inventory) -> BTreeMap<UnitId, Arc<str>> {
        let policy = &self.grants.policy;
        let ledger = Ledger::new([policy.name.to_string()]);
        ledger.report(PluginIndex(0), inventory.footprints(policy, &Allocations::forgetful()));
        let lost = ledger.lost(PluginIndex(0)).into_iter();
        lost.map(|(id, lost)| (id, lost.reason)).collect()
    }

    /// The component's verdicts on some units, in their order. `resource` is the component's own name of their resource. Fails where it
    /// gives another number of verdicts, too.
    pub fn health(&self, resource: &ResourceName, units: &[ListedUnit]) -> Result<Vec<Verdict>, CallError> {
        verdicts(self.component.as_ref(), &mut self.host(), resource, units)
    }

    /// All that the component says of the conditions of some units, in their order, whatever the policy grants. As [`Self::health`].
    pub fn examine(&self, resource: &ResourceName, units: &[ListedUnit]) -> Result<Vec<Vec<Condition>>, CallError> {
        examine(self.component.as_ref(), &mut self.host(), resource, units)
    }

    /// What a container would get for some units of a pool, with what a claim or its class says besides, by the component's `parameters`.
    /// The host itself asks for none of no units, and for each once. Fails when the call fails, or asks for what the policy does not grant.
    pub fn allocate(&self, pool: &ListedPool, units: &[ListedUnit], settings: &[Setting]) -> Result<Reply, NotGiven> {
        let record = PoolRecord { shared_nodes: pool.shared_nodes.clone(), ..PoolRecord::default() };
        let mut host = self.host();
        let call = Call { settings, ..pool.about(CallKind::Allocate) };
        let answer = host.call(self.component.as_ref(), call, units);
        let asked = answer.and_then(|output| reply::Asked::of(output.edits, &host));
        let asked = asked.map_err(NotGiven::Call)?;
        reply::build(&self.grants.policy, &pool.resource, &record, units, &asked)
            .map_err(|why| NotGiven::Refused(why.to_string()))
    }

    /// Any call about some units, such as `prepare` and `choose`: what the component says is neither checked nor given to a pod. Fails when
    /// the call fails, or the component has no such function.
    pub fn call(&self, call: Call<'_>, units: &[ListedUnit]) -> Result<Output, CallError> {
        self.host().call(self.component.as_ref(), call, units)
    }

    fn host(&self) -> CallHost {
        CallHost::new(Arc::clone(&self.grants), Arc::clone(&self.services), Arc::clone(&self.limits))
    }
}
