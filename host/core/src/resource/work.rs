//! What a component does before a unit is given, and after.

use super::{Core, LOOK_PATIENCE, problem_of};
use crate::calls::Calls;
use crate::held_units::{FailedCall, HeldUnit};
use crate::units::UnitRecord;
use crate::watcher::Asked;
use devgate_types::component::{Call, CallKind};
use devgate_types::{CallError, HostFault, ResourceName, UnitId};
use std::sync::Arc;

impl Calls {
    /// Whether the component wants to be told of the beginning and the end of an allocation.
    pub(crate) fn has_lifecycle(&self) -> bool {
        self.component().is_some_and(|component| component.profile().lifecycle)
    }

    /// Has the component prepare or release units; nothing where it has no life cycle.
    pub(crate) async fn work(
        &self,
        kind: CallKind,
        resource: &ResourceName,
        units: &[Arc<UnitRecord>],
    ) -> Result<(), CallError> {
        self.work_with(kind, false, resource, units).await
    }

    /// The same before a container starts that has the units.
    pub(crate) async fn start(&self, resource: &ResourceName, units: &[Arc<UnitRecord>]) -> Result<(), CallError> {
        self.work_with(CallKind::Prepare, true, resource, units).await
    }

    async fn work_with(
        &self,
        kind: CallKind,
        is_start: bool,
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
        let _turn = match kind {
            CallKind::Release => Some(self.services.component_state.write_turn().await?),
            _ => None,
        };
        let (lent, resource) = (units.to_vec(), resource.clone());
        self.call(component, move |component, host| {
            host.is_start = is_start;
            host.call(component, Call::about(kind, resource.as_str(), &[]), &lent).map(drop)
        })
        .await
    }
}

impl Core {
    /// Releases one unit that no consumer has, under its turn; `prepare` first if that is what failed. Whether it worked, and the
    /// unit is free.
    pub(crate) async fn release(&self, held: &HeldUnit, failed: Option<FailedCall>) -> bool {
        let (calls, units) = (self.calls(), [Arc::clone(&held.unit)]);
        let (mut what, mut done) = (FailedCall::Release, Ok(()));
        if failed == Some(FailedCall::Prepare) {
            (what, done) = (FailedCall::Prepare, calls.work(CallKind::Prepare, &held.asked, &units).await);
        }
        let released = self.work_release(&calls, &held.resource, &held.asked, &units).await;
        if let Err(error) = released {
            (what, done) = (FailedCall::Release, Err(error));
        }
        match done {
            Ok(()) => true,
            Err(error) => {
                self.not_ready(std::slice::from_ref(&held.unit.id), what, &error);
                false
            }
        }
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
            return calls.work(CallKind::Release, asked, units).await.map(|()| true);
        }
        let watching = self.wake.away.watch(units);
        self.look_for(calls, resource, units).await;
        calls.work(CallKind::Release, asked, units).await?;
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
    pub(crate) fn not_ready(&self, ids: &[UnitId], what: FailedCall, error: &CallError) -> Arc<str> {
        let plugin = self.name();
        let call = match what {
            FailedCall::Release => "release",
            FailedCall::Prepare | FailedCall::Start => "prepare",
        };
        let reason: Arc<str> = format!("plugin {plugin}: {call} {error}").into();
        self.held_units.record_failure(ids, what, &reason);
        self.wake.ask(Asked::HEALTH);
        reason
    }
}
