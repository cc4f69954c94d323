//! One resource of one plugin: what front ends see, and the path of an allocation.

mod allocate;
mod attempt;
mod core;
mod handover;
mod restore;
mod scheduled;
mod sweep;
mod telling;
mod work;

pub(crate) use allocate::allocate;
pub(crate) use attempt::{Part, take};
pub(crate) use core::Core;
pub(crate) use restore::NotRestored;
pub(crate) use scheduled::{Scheduled, by_policy};
pub(crate) use sweep::sweep;

use crate::allocations::{Consumer, Mode};
use crate::calls::Calls;
use crate::grants::Grants;
use crate::ledger::NotHeld;
use crate::offer::{AllocateError, BoxFuture, Device, DeviceList, Driver, Offer, Reply};
use crate::placement::{IgnoredAnswers, Request};
use crate::replica::split_replica;
use crate::reply;
use crate::unit_table::Snapshot;
use crate::units::{GrantedNode, UnitRecord};
use crate::watcher::Asked;
use devgate_policy::{Dra, Prepare};
use devgate_types::component::{Call, CallKind, Output};
use devgate_types::{CallError, FailureKind, ResourceName, Setting, UnitId, escape};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::watch;

/// What looking at disks and iommu groups may take, which reads more than a node.
pub(crate) const LOOK_PATIENCE: Duration = Duration::from_secs(1);

/// The most ids that are chosen from on a thread that serves others.
const CHOSEN_HERE: usize = 256;

/// One resource.
pub(crate) struct Resource {
    /// Its plugin.
    pub(crate) core: Arc<Core>,
    pub(crate) name: ResourceName,
    /// Nothing where the kubelet counts its units.
    pub(crate) scheduled: Option<Scheduled>,
    devices: watch::Sender<Arc<DeviceList>>,
    ignored_answers: IgnoredAnswers,
}

impl Resource {
    pub(crate) fn new(core: Arc<Core>, name: ResourceName, dra: Option<&Dra>) -> Self {
        Self {
            core,
            name,
            scheduled: dra.map(Scheduled::new),
            devices: watch::Sender::new(Arc::default()),
            ignored_answers: IgnoredAnswers::default(),
        }
    }

    /// Replaces the list of what is offered. Readers are told only if it is another one.
    pub(crate) fn publish(&self, list: DeviceList) {
        self.devices.send_if_modified(|current| {
            let changed = **current != list;
            if changed {
                *current = Arc::new(list);
            }
            changed
        });
    }

    /// Whether its units are given as this policy has it.
    pub(crate) fn is_by(&self, dra: Option<&Dra>) -> bool {
        self.scheduled.as_ref().map(|scheduled| &scheduled.policy) == dra
    }

    /// The ids that a consumer could have at this moment; and the others, each with why not.
    pub(crate) fn available_to(&self, who: &Consumer) -> (Vec<String>, Vec<(String, String)>) {
        let list = Arc::clone(&self.devices.borrow());
        let (mut available, mut unavailable) = (Vec::new(), Vec::new());
        for device in &list.devices {
            match self.why_not(device, who) {
                None => available.push(device.id.clone()),
                Some(why) => unavailable.push((device.id.clone(), why)),
            }
        }
        (available, unavailable)
    }

    /// How many ids are healthy, given or not.
    pub(crate) fn working(&self) -> usize {
        let snapshot = self.snapshot();
        let healthy = snapshot.units().filter(|(_, published)| published.causes.reason().is_none());
        let replicas = self.core.calls().grants.policy.replicas;
        healthy.count() * usize::try_from(replicas).unwrap_or(1)
    }

    fn why_not(&self, device: &Device, who: &Consumer) -> Option<String> {
        if let Some(why) = &device.unhealthy {
            return Some(why.to_string());
        }
        let Some(take) = take(&device.id, None, self.core.calls().grants.policy.replicas) else {
            return Some("is no id of it".to_owned());
        };
        let wholes = self.core.ledger.wholes(self.core.index);
        let unit = UnitId::try_new(&take.unit).ok().filter(|_| !wholes.is_empty());
        if let Some(other) =
            unit.and_then(|unit| wholes.choices(&unit).find(|other| self.core.held_units.has(other)).cloned())
        {
            return Some(format!("is of one piece of hardware with {other}, which is given"));
        }
        let other = self.core.allocations.in_the_way(who, &self.name, &take)?;
        Some(format!("is given to {}", escape(&other.to_string(), 160)))
    }

    /// What is offered now: nothing any more once the plugin leaves, which only looks after what consumers have.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        if self.core.leaves.load(Ordering::Relaxed) { Arc::default() } else { self.core.shown.get(&self.name) }
    }

    async fn prefer(&self, available: &[String], must_include: &[String], size: usize) -> Vec<String> {
        let calls = self.core.calls();
        let policy = &calls.grants.policy;
        let snapshot = self.snapshot();
        let asked = snapshot.pool.asked(&self.name);
        let request =
            Request::new(Arc::clone(&snapshot), policy.replicas, policy.placement, available, must_include, size);
        let Some(request) = request else {
            return Vec::new();
        };
        if let Some(chosen) = request.ask(&calls, asked, &self.ignored_answers).await {
            chosen
        } else if request.available() <= CHOSEN_HERE {
            request.choose()
        } else {
            let choose = tokio::task::spawn_blocking(move || request.choose());
            choose.await.unwrap_or_default()
        }
    }

    /// Marks units as handed out. Returns those that were not.
    fn hold(
        &self,
        calls: &Calls,
        snapshot: &Snapshot,
        units: &[Arc<UnitRecord>],
    ) -> Result<Vec<UnitId>, AllocateError> {
        let policy = &calls.grants.policy;
        let footprints = units.iter().map(|unit| unit.footprint(&snapshot.pool, policy)).collect();
        self.core.ledger.hold(self.core.index, footprints).map_err(|why| match why {
            NotHeld::Lost(reason) => self.refused(&reason),
            NotHeld::Changed => AllocateError::Busy(self.says("the devices have just changed; try again")),
        })
    }

    /// The units that these ids stand for, each once and sorted, without the replicas' numbers.
    fn unit_ids(&self, ids: &[String]) -> Result<Vec<UnitId>, AllocateError> {
        let replicas = self.core.calls().grants.policy.replicas;
        let unit = |id: &String| {
            let (base, _) = split_replica(id, replicas).ok_or_else(|| self.unknown(id))?;
            UnitId::try_new(base).map_err(|_| self.unknown(id))
        };
        let units = ids.iter().map(unit).collect::<Result<BTreeSet<_>, _>>()?;
        Ok(units.into_iter().collect())
    }

    /// The units with these ids, whatever is wrong with those of which that is `ignored`.
    fn look_up(
        &self,
        snapshot: &Snapshot,
        ids: &[UnitId],
        ignored: impl Fn(&UnitId) -> bool,
    ) -> Result<Vec<Arc<UnitRecord>>, AllocateError> {
        let mut units = Vec::with_capacity(ids.len());
        for id in ids {
            let Some((_, unit, causes)) = snapshot.find(id.as_str()) else {
                return Err(self.unknown(id.as_str()));
            };
            if let Some(reason) = causes.reason().filter(|_| !ignored(id)) {
                return Err(self.refused(&format!("device {id} is unhealthy: {reason}")));
            }
            units.push(Arc::clone(unit));
        }
        Ok(units)
    }

    /// Looks at the hardware again: the list may be up to one tick old, and the runtime would open whatever is there.
    async fn look_again(
        &self,
        calls: &Calls,
        snapshot: &Arc<Snapshot>,
        units: &[Arc<UnitRecord>],
    ) -> Result<(), AllocateError> {
        let shared = &snapshot.pool.shared_nodes;
        let slow = units.iter().flat_map(|unit| &unit.nodes).chain(shared).any(GrantedNode::is_slow_to_judge);
        let problem = if slow {
            let (units, snapshot) = (units.to_vec(), Arc::clone(snapshot));
            let grants = Arc::clone(&calls.grants);
            let patience = grants.policy.limits.deadline.max(LOOK_PATIENCE);
            let look = move || problem_of(&grants, &snapshot.pool.shared_nodes, &units);
            let looked = calls.block(patience, look).await;
            looked.map_err(|error| self.failed(&error))?
        } else {
            problem_of(&calls.grants, shared, units)
        };
        let Some(problem) = problem else { return Ok(()) };
        self.core.wake.ask(Asked::HEALTH);
        Err(self.refused(&problem))
    }

    async fn ask_component(
        &self,
        calls: &Calls,
        snapshot: &Snapshot,
        units: &[Arc<UnitRecord>],
        settings: &[Setting],
    ) -> Result<Reply, AllocateError> {
        let Some(component) = calls.component() else {
            return Err(AllocateError::Busy(format!("plugin {}: the component is not loaded", self.core.name())));
        };
        if units.is_empty() {
            return Ok(Reply::default());
        }
        let (lent, resource) = (units.to_vec(), snapshot.pool.asked(&self.name).clone());
        let told = settings.to_vec();
        // However many others there are.
        let limits = Arc::new(calls.grants.policy.limits.for_devices(units.len()));
        let asked = calls.calls(limits, 1, move |host| {
            let mut host = host();
            let call = Call { settings: &told, ..Call::about(CallKind::Allocate, resource.as_str(), &[]) };
            let Output { edits, .. } = host.call(component.as_ref(), call, &lent)?;
            reply::Asked::of(edits, &host)
        });
        // What a tenant's words have come to says nothing of the units: others would lose them by it.
        let judged = if settings.is_empty() { units } else { &[] };
        let asked = asked.await.flatten().map_err(|error| {
            self.core.broke(judged, "allocate", &error);
            match self.failed(&error) {
                // What a tenant's words made of it is no fault of the component's.
                AllocateError::Guest(why) if !settings.is_empty() => AllocateError::Refused(why),
                failed => failed,
            }
        })?;
        let policy = &calls.grants.policy;
        let built = reply::build(policy, &self.name, &snapshot.pool, units, &asked).map_err(|reason| {
            let refused = self.refused(&reason.to_string());
            self.core.counts_against(judged, &refused.to_string());
            refused
        })?;
        self.core.breaker.succeeded(units.iter().map(|unit| &unit.id));
        Ok(built)
    }

    /// A message about it.
    fn says(&self, what: &str) -> String {
        format!("plugin {}: resource {}: {what}", self.core.name(), self.name)
    }

    fn unknown(&self, id: &str) -> AllocateError {
        AllocateError::Unknown(self.says(&format!("there is no device {}", escape(id, 80))))
    }

    fn refused(&self, reason: &str) -> AllocateError {
        AllocateError::Refused(self.says(reason))
    }

    fn failed(&self, error: &CallError) -> AllocateError {
        self.failed_at("allocate", error)
    }

    fn failed_at(&self, call: &str, error: &CallError) -> AllocateError {
        let message = format!("plugin {}: {call} {error}", self.core.name());
        match error {
            CallError::Failed(failure) if failure.kind == FailureKind::Busy => AllocateError::Busy(message),
            CallError::Failed(_) => AllocateError::Refused(message),
            CallError::Guest(_) => AllocateError::Guest(message),
            CallError::Host(_) => AllocateError::Host(message),
        }
    }
}

impl Offer for Resource {
    fn resource(&self) -> &ResourceName {
        &self.name
    }

    fn driver(&self) -> Option<&Driver> {
        Some(&self.scheduled.as_ref()?.driver)
    }

    fn devices(&self) -> watch::Receiver<Arc<DeviceList>> {
        self.devices.subscribe()
    }

    fn allocate<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<Arc<Reply>, AllocateError>> {
        Box::pin(async {
            let part =
                Part { resource: self, ids, share: None, mode: Mode::Hold, tag: "", settings: &[], is_kept: false };
            let mut given = allocate(&Consumer::Pods, None, &[part]).await?;
            Ok(given.pop().map(|(_, reply)| reply).unwrap_or_default())
        })
    }

    fn take_back<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, ()> {
        Box::pin(self.undo(ids))
    }

    fn starts(&self) -> bool {
        self.core.calls().grants.policy.prepare == Prepare::Start
    }

    fn start<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<(), AllocateError>> {
        Box::pin(self.make_ready(ids))
    }

    fn choose<'a>(
        &'a self,
        available: &'a [String],
        must_include: &'a [String],
        size: usize,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(self.prefer(available, must_include, size))
    }
}

/// What is wrong with giving these units away at this moment, if anything.
pub(crate) fn problem_of(grants: &Grants, shared: &[GrantedNode], units: &[Arc<UnitRecord>]) -> Option<String> {
    for unit in units {
        let node = unit.nodes.iter().find_map(|granted| grants.problem_now(granted));
        if let Some(problem) = node.or_else(|| grants.group_problem(&unit.nodes, &unit.backing)) {
            return Some(format!("device {}: {problem}", unit.id));
        }
    }
    let problem = shared.iter().find_map(|granted| grants.problem_now(granted))?;
    Some(format!("shared {problem}"))
}
