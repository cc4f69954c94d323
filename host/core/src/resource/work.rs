//! What a component does before a unit is given, and after.

use super::{Core, LOOK_PATIENCE, problem_of};
use crate::calls::Calls;
use crate::held_units::{HeldUnit, LifecycleCall};
use crate::units::UnitRecord;
use crate::watcher::Asked;
use devgate_types::component::{Call, CallKind};
use devgate_types::{CallError, HostFault, ResourceName, UnitId};
use std::sync::Arc;

impl LifecycleCall {
    /// The component's function.
    const fn kind(self) -> CallKind {
        match self {
            Self::Release => CallKind::Release,
            Self::Prepare | Self::Start => CallKind::Prepare,
        }
    }
}

impl Calls {
    /// Whether the component wants to be told of the beginning and the end of an allocation.
    pub(crate) fn has_lifecycle(&self) -> bool {
        self.component().is_some_and(|component| component.profile().lifecycle)
    }

    /// Has the component prepare or release units; nothing where it has no life cycle.
    pub(crate) async fn work(
        &self,
        what: LifecycleCall,
        resource: &ResourceName,
        units: &[Arc<UnitRecord>],
    ) -> Result<(), CallError> {
        let Some(component) = self.component() else {
            return Err(CallError::Host(HostFault("the component is not loaded".into())));
        };
        if !component.profile().lifecycle || units.is_empty() {
            return Ok(());
        }
        // What is released may note what it found.
        let _turn = match what {
            LifecycleCall::Release => Some(self.services.component_state.write_turn().await?),
            LifecycleCall::Prepare | LifecycleCall::Start => None,
        };
        let (lent, resource) = (units.to_vec(), resource.clone());
        self.call(component, move |component, host| {
            host.is_start = what == LifecycleCall::Start;
            host.call(component, Call::about(what.kind(), resource.as_str(), &[]), &lent).map(drop)
        })
        .await
    }
}

impl Core {
    /// Releases one unit that no consumer has, under its turn; `prepare` first if that is what failed. Whether it worked, and the
    /// unit is free.
    pub(crate) async fn release(&self, held: &HeldUnit, failed: Option<LifecycleCall>) -> bool {
        let (calls, units) = (self.calls(), [Arc::clone(&held.unit)]);
        let mut prepared = Ok(());
        if let Some(what @ LifecycleCall::Prepare) = failed {
            prepared = calls.work(what, &held.asked, &units).await.map_err(|error| (what, error));
        }
        let released = self.work_release(&calls, &held.resource, &held.asked, &units).await;
        let released = released.map(drop).map_err(|error| (LifecycleCall::Release, error));
        let done = released.and(prepared);
        if let Err((what, error)) = &done {
            self.not_ready(std::slice::from_ref(&held.unit.id), *what, error);
        }
        done.is_ok()
    }

    /// Has the component release units of one resource, under their turn, and takes note of those that were away at any moment of
    /// it: a component says then that there is nothing to do, so that they are released again before anybody gets them. Whether
    /// all were there.
    pub(crate) async fn work_release(
        &self,
        calls: &Calls,
        resource: &ResourceName,
        asked: &ResourceName,
        units: &[Arc<UnitRecord>],
    ) -> Result<bool, CallError> {
        if units.is_empty() || !calls.has_lifecycle() {
            return calls.work(LifecycleCall::Release, asked, units).await.map(|()| true);
        }
        let watching = self.wake.away.watch(units);
        self.look_for(calls, resource, units).await;
        calls.work(LifecycleCall::Release, asked, units).await?;
        self.look_for(calls, resource, units).await;
        let (there, away) = watching.end();
        self.allocations.released(self.name(), &there, true);
        self.allocations.released(self.name(), &away, false);
        Ok(away.is_empty())
    }

    /// Looks whether units are there, for who watches them. What cannot be said counts as no.
    async fn look_for(&self, calls: &Calls, resource: &ResourceName, units: &[Arc<UnitRecord>]) {
        let unlisted = |unit: &&Arc<UnitRecord>| !self.shown.lists(resource, &unit.id);
        self.wake.away.seen(units.iter().filter(unlisted).map(|unit| &unit.id));
        let (grants, looked_for) = (Arc::clone(&calls.grants), units.to_vec());
        let patience = grants.policy.limits.deadline.max(LOOK_PATIENCE);
        let look = move || {
            let is_away = |unit: &Arc<UnitRecord>| problem_of(&grants, &[], std::slice::from_ref(unit)).is_some();
            looked_for.iter().map(is_away).collect::<Vec<_>>()
        };
        let away = calls.block(patience, look).await.unwrap_or_else(|_| vec![true; units.len()]);
        let away = units.iter().zip(away).filter(|(_, away)| *away);
        self.wake.away.seen(away.map(|(unit, _)| &unit.id));
    }

    /// No consumer has these any more, and nothing is left to do.
    pub(crate) fn free(&self, resource: &ResourceName, ids: &[UnitId]) {
        self.held_units.record_clean(ids);
        // Before the allocations, which tell that there is something to settle anew.
        self.ledger.free(self.index, ids);
        self.allocations.forget(resource, ids);
        self.changed_hands();
    }

    /// Notes why units are not given to anybody.
    pub(crate) fn not_ready(&self, ids: &[UnitId], what: LifecycleCall, error: &CallError) {
        let reason = format!("plugin {}: {} {error}", self.name(), what.kind().as_str());
        self.held_units.record_failure(ids, what, &reason.into());
        self.wake.ask(Asked::HEALTH);
    }
}
