//! Another policy or component for a plugin that runs: tried beside the one in force, held against what pods have, and then
//! put in its place, without a gap in what the front ends are told.

use super::load::matched_now;
use super::{Order, Plugin};
use crate::calls::Calls;
use crate::inventory::Inventory;
use crate::loader::LoadFailure;
use crate::look::{FailedLook, Found, calls_for, findings};
use crate::offer::DeviceList;
use crate::resource::Core;
use crate::status::State;
use crate::survey::Surveyed;
use devgate_policy::PluginPolicy;
use devgate_types::{CallError, UnitId};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a resource that goes away is offered with an empty list first, so that the kubelet counts none of it: a stream that
/// only ends leaves the last count for minutes. Far more than the half second between two lists.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// What speaks against another policy, or another component, of one plugin; complete text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ReloadProblem(pub(crate) String);

impl From<LoadFailure> for ReloadProblem {
    fn from(failure: LoadFailure) -> Self {
        Self(failure.to_string())
    }
}

/// What a running plugin is told.
pub(crate) enum Command {
    /// Switch to these, and to what a trial found by them.
    Switch { calls: Arc<Calls>, found: Found },
    /// Begin anew with what is in force: look for something to do, load, enumerate and ask for health, without waiting. Answers
    /// with what came of it.
    Look { answer: oneshot::Sender<Surveyed> },
    /// Offer nothing any more, and end once no pod holds anything.
    Leave,
}

/// What becomes of the plugin after a command.
pub(super) enum AfterCommand {
    /// Something else is in force, or a caller waits for a look: begin anew.
    Restart,
    /// It is not in the policy any more.
    Leave,
}

impl Plugin {
    /// Does what it is told; the answer is what comes next.
    pub(super) fn handle_command(&mut self, command: Command) -> AfterCommand {
        match command {
            Command::Switch { calls, found } => self.switch(calls, found),
            Command::Look { answer } => self.asked.push(answer),
            Command::Leave => return AfterCommand::Leave,
        }
        AfterCommand::Restart
    }

    /// Puts these in force, and offers what a trial found by them.
    fn switch(&mut self, calls: Arc<Calls>, found: Found) {
        let name = self.core.name().to_owned();
        self.calls = Arc::clone(&calls);
        self.core.ledger.knows(self.core.index, Arc::clone(&calls.grants));
        self.core.replace_calls(calls);
        self.order = Order::default();
        let policy = self.policy();
        self.shared.labels.expects(&policy.name, &policy.labels, &self.core.recorder);
        self.relabel = true;
        self.failing = None;
        // What it found by the trial stands from now on, however long it failed before.
        self.core.recorder.set_state(State::Serving);
        self.take_answer(found.inventory, found.rejected);
        // What is known of a unit is newer than the trial; only what is new to the plugin begins with what that found.
        let units = self.units.inventory().units();
        let offered: HashMap<_, _> = units.map(|unit| (unit.id.clone(), Arc::clone(unit))).collect();
        for (units, findings) in found.findings {
            for (unit, finding) in units.iter().zip(findings) {
                let same = offered.get(&unit.id).is_some_and(|offered| offered.is_same_hardware(unit));
                if same && !self.units.has_verdict(&unit.id) {
                    self.apply(std::slice::from_ref(unit), &[finding]);
                }
            }
        }
        self.compare_with_memory();
        self.watch_node();
        self.publish();
        tracing::info!(plugin = name, "plugin {name}: reloaded");
    }

    /// Takes back the resources that the policy does not name any more and of which no consumer holds anything, once the kubelet has
    /// had the time to see them empty.
    pub(super) fn drain(&mut self) {
        let policy = Arc::clone(self.policy());
        let gone = self.resources.keys().filter(|name| {
            let empty = self.units.inventory().pools.get(*name).is_none_or(|pool| pool.units.is_empty());
            !policy.grants_resource(name) && empty
        });
        let gone: BTreeSet<_> = gone.cloned().collect();
        self.farewell.retain(|name, _| gone.contains(name));
        for name in gone {
            let since = *self.farewell.entry(name.clone()).or_insert_with(Instant::now);
            if since.elapsed() >= DRAIN_TIME {
                self.farewell.remove(&name);
                self.resources.remove(&name);
                self.units.remove_pool(&name);
                self.shared.registry.remove(self.core.index, &name);
            }
        }
    }

    /// Whether pods have or may have something of it.
    fn has_held_units(&self) -> bool {
        !self.core.ledger.held(self.core.index).is_empty() || !self.core.held_units.ids().is_empty()
    }

    /// Offers nothing any more, keeps what pods hold from others, and ends when nothing is held.
    pub(super) async fn leave(mut self) {
        let name = self.core.name().to_owned();
        let mut ledger = self.core.ledger.subscribe(self.core.index);
        self.shared.watcher.forget(self.core.index);
        self.core.leaves.store(true, Ordering::Relaxed);
        self.shared.labels.forgets(&self.policy().name);
        for resource in self.resources.values() {
            resource.publish(DeviceList::default());
        }
        let until = tokio::time::Instant::now() + DRAIN_TIME;
        let is_away = || self.core.ledger.has_left(self.core.index);
        while is_away() && tokio::time::timeout_at(until, ledger.changed()).await.is_ok_and(|changed| changed.is_ok()) {
        }
        for resource in std::mem::take(&mut self.resources).into_keys() {
            self.shared.registry.remove(self.core.index, &resource);
        }
        // One that is back in the policy, and waits for the end of this one, looks after them again.
        while self.core.ledger.has_left(self.core.index) && self.has_held_units() {
            // What was handed out before the host started is in no ledger.
            let changed = tokio::time::timeout(DRAIN_TIME, ledger.changed()).await;
            if changed.is_ok_and(|changed| changed.is_err()) {
                break;
            }
        }
        // What is done to a unit at this moment is done before another one may do something to it.
        let _turns =
            tokio::time::timeout(self.busy(), self.core.held_units.locks.lock(&self.core.held_units.ids())).await;
        self.sweep.shutdown().await;
        self.core.held_units.disclaim_all();
        tracing::info!(plugin = name, "plugin {name}: is not in the policy any more and has ended");
    }
}

/// What would be found under another policy, or with another component, beside whatever is in force and knows this.
pub(crate) async fn try_out(calls: &Calls, before: Inventory) -> Result<Found, ReloadProblem> {
    let name = &calls.grants.policy.name;
    let failed = |call: &str, error: CallError| ReloadProblem(format!("plugin {name}: {call} {error}"));
    matched_now(calls).await.map_err(|error| failed("enumerate", error))?;
    // Without a component it is idle.
    let Some(component) = calls.component() else {
        return Ok(Found::default());
    };
    let asked = calls.call(Arc::clone(&component), move |component, host| {
        host.on_trial();
        Inventory::ask_again(component, host, &before)
    });
    let (inventory, rejected) = asked.await.map_err(|error| failed("enumerate", error))?;
    let pools = inventory.stocked();
    let count = calls_for(component.as_ref(), &calls.grants, pools.len());
    let asked = calls.calls(calls.limits(), count, move |host| {
        let on_trial = || {
            let mut host = host();
            host.on_trial();
            host
        };
        findings(component.as_ref(), &on_trial, &pools)
    });
    let found = asked.await.map_err(FailedLook::from).flatten();
    let findings = found.map_err(|FailedLook { call, error }| failed(call.as_str(), error))?;
    Ok(Found { inventory, rejected: rejected.into_iter().collect(), findings })
}

/// Fails where consumers would lose something of a plugin by a switch to what a trial found under this policy.
pub(crate) fn keeps_what_is_held(core: &Core, policy: &PluginPolicy, found: &Inventory) -> Result<(), ReloadProblem> {
    let (name, calls) = (core.name(), core.calls());
    let before = &calls.grants.policy;
    let driver = |policy: &PluginPolicy| policy.dra.as_ref().map(|dra| dra.driver.clone());
    let (was, is) = (driver(before), driver(policy));
    if let Some(was) = was.filter(|was| is.as_ref() != Some(was) && core.allocations.has_claims(was)) {
        return Err(ReloadProblem(format!(
            "plugin {name}: claims have devices of driver {was}, and its pods could not end without it; wait until they are gone, or force it"
        )));
    }
    let held = core.ledger.held(core.index);
    // One replica has the unit's own id, several have numbers behind it.
    let renumbered = before.replicas != policy.replicas && (before.replicas == 1 || policy.replicas < before.replicas);
    let mut lost: Vec<(UnitId, &'static str)> = Vec::new();
    for (resource, shown) in core.shown.all() {
        for old in shown.pool.units.iter().filter(|unit| held.contains(&unit.id)) {
            match found.get(&resource, &old.id) {
                None => lost.push((old.id.clone(), "would not be offered any more")),
                Some(new) if !new.is_same_hardware(old) => lost.push((old.id.clone(), "would be other hardware")),
                Some(_) if renumbered => lost.push((old.id.clone(), "would have another id (replicas)")),
                Some(_) => {}
            }
        }
    }
    let Some((id, what)) = lost.first() else { return Ok(()) };
    let more = match lost.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Err(ReloadProblem(format!(
        "plugin {name}: device {id}, which a pod may hold, {what}{more}; wait until its pods are gone, or force it"
    )))
}
