//! A component on a workbench: each of its functions called by hand, with the capabilities and through the gate that it meets
//! in production, and nothing around it that calls it again, remembers or forgives. For tests of components.
//!
//! Handles never leave it: what a call is about is named by what an earlier [`Bench::enumerate`] listed, on this bench or on
//! another one of the same plugin.

use crate::allocations::Allocations;
use crate::call::{CallHost, CallPurpose};
use crate::grants::{Grants, Line, LogCapture};
use crate::inventory::Inventory;
use crate::ledger::{Ledger, PluginIndex};
use crate::look::{matched, verdicts};
use crate::offer::Reply;
use crate::plugin_services::PluginServices;
use crate::reply;
use crate::units::{GrantedNode, PoolRecord, Rejection, UnitRecord};
use devgate_node::{Node, NodeEvent, ReadError};
use devgate_policy::PluginPolicy;
use devgate_types::component::{Answer, Capabilities, Component};
use devgate_types::{CallError, Limits, ResourceName, Unit, UnitId, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One plugin's component, to be called by hand. What it stores lasts as long as the bench and is nowhere else.
pub struct Bench {
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

impl Bench {
    /// A component under a policy on a node. What the node's log says by now has been read; what it says later is not.
    ///
    /// # Errors
    /// When the device tree cannot be read.
    pub fn new(policy: &Arc<PluginPolicy>, node: &Node, component: Arc<dyn Component>) -> Result<Self, ReadError> {
        let log_capture = LogCapture::default();
        let mut grants = Grants::new(node.clone(), Arc::clone(policy));
        grants.log_capture = Some(log_capture.clone());
        let devices = matched(&grants).or_else(|_| grants.matched())?;
        let services = Arc::new(PluginServices::none(policy));
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
    ///
    /// # Errors
    /// When the call fails.
    pub fn enumerate(&self) -> Result<Listed, CallError> {
        let host = self.host(CallPurpose::Enumerate);
        let (inventory, mut rejected) = Inventory::ask(self.component.as_ref(), host)?;
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

    /// The component's verdicts on some units, in their order. `resource` is the component's own name of their resource.
    ///
    /// # Errors
    /// When the call fails, or gives another number of verdicts.
    pub fn health(&self, resource: &ResourceName, units: &[ListedUnit]) -> Result<Vec<Verdict>, CallError> {
        let host = self.host(CallPurpose::Health);
        verdicts(self.component.as_ref(), host, resource, units)
    }

    /// What a container would get for some units of a pool. The host itself asks for none of no units, and for each once.
    ///
    /// # Errors
    /// When the call fails, or asks for what the policy does not grant.
    pub fn allocate(&self, pool: &ListedPool, units: &[ListedUnit]) -> Result<Reply, NotGiven> {
        let record = PoolRecord { shared_nodes: pool.shared_nodes.clone(), ..PoolRecord::default() };
        let answer = self.call(CallPurpose::Allocate, units, |component, host, units| {
            component.allocate(host, pool.asked.as_str(), units)
        });
        let asked = answer.and_then(|(edits, host)| reply::Asked::of(edits, &host));
        let asked = asked.map_err(NotGiven::Call)?;
        reply::build(&self.grants.policy, &pool.resource, &record, units, &asked)
            .map_err(|why| NotGiven::Refused(why.to_string()))
    }

    /// The same under any name of a resource, for its own sake: no pod gets what the component says.
    ///
    /// # Errors
    /// When the call fails.
    pub fn allocate_as(&self, resource: &ResourceName, units: &[ListedUnit]) -> Result<(), CallError> {
        let answer = self.call(CallPurpose::Allocate, units, |component, host, units| {
            component.allocate(host, resource.as_str(), units)
        });
        answer.map(|_| ())
    }

    /// What the component's `preference` chooses, unchecked.
    ///
    /// # Errors
    /// When the call fails, or the component exports no `preference`.
    pub fn choose(
        &self,
        resource: &ResourceName,
        available: &[ListedUnit],
        must_include: &[String],
        size: u32,
    ) -> Result<Vec<String>, CallError> {
        let answer = self.call(CallPurpose::Choose, available, |component, host, units| {
            component.choose(host, resource.as_str(), units, must_include, size)
        });
        Ok(answer?.0)
    }

    /// Has the component's `lifecycle` make some units ready.
    ///
    /// # Errors
    /// When the call fails, or the component exports no `lifecycle`. The same for [`Bench::release`].
    pub fn prepare(&self, resource: &ResourceName, units: &[ListedUnit]) -> Result<(), CallError> {
        let answer = self.call(CallPurpose::Prepare, units, |component, host, units| {
            component.prepare(host, resource.as_str(), units)
        });
        answer.map(|_| ())
    }

    /// Has the component's `lifecycle` release some units.
    ///
    /// # Errors
    /// See [`Bench::prepare`].
    pub fn release(&self, resource: &ResourceName, units: &[ListedUnit]) -> Result<(), CallError> {
        let answer = self.call(CallPurpose::Release, units, |component, host, units| {
            component.release(host, resource.as_str(), units)
        });
        answer.map(|_| ())
    }

    fn call<T>(
        &self,
        purpose: CallPurpose,
        units: &[ListedUnit],
        call: impl FnOnce(&dyn Component, Box<dyn Capabilities>, &[Unit]) -> Result<Answer<T>, CallError>,
    ) -> Result<(T, Box<CallHost>), CallError> {
        let mut host = self.host(purpose);
        let lent: Vec<_> = units.iter().map(|unit| unit.lend(&mut host)).collect();
        host.call(|host| call(self.component.as_ref(), host, &lent))
    }

    fn host(&self, purpose: CallPurpose) -> Box<CallHost> {
        let (grants, services) = (Arc::clone(&self.grants), Arc::clone(&self.services));
        let mut host = Box::new(CallHost::new(grants, services, Arc::clone(&self.limits)));
        host.during(purpose);
        host
    }
}
