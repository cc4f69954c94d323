//! From one container to the next, where the component has a part in it.

use super::Resource;
use super::attempt::ids_of;
use crate::calls::Calls;
use crate::held_units::LifecycleCall;
use crate::offer::AllocateError;
use crate::unit_table::Snapshot;
use crate::units::UnitRecord;
use crate::watcher::Asked;
use std::sync::Arc;

impl Resource {
    /// Whether all were there while they were released.
    pub(super) async fn release(
        &self,
        calls: &Calls,
        snapshot: &Snapshot,
        units: &[Arc<UnitRecord>],
    ) -> Result<bool, AllocateError> {
        let asked = snapshot.pool.asked(&self.name);
        let released = self.core.work_release(calls, &self.name, asked, units).await;
        released.map_err(|error| {
            self.core.not_ready(&ids_of(units), LifecycleCall::Release, &error);
            self.failed_at("release", &error)
        })
    }

    /// Takes back what an answer that reached no kubelet would have given: only what no consumer had before.
    pub(super) async fn undo(&self, ids: &[String]) {
        let Ok(ids) = self.unit_ids(ids) else { return };
        let _turn = self.core.held_units.locks.lock(&ids).await;
        let (calls, snapshot) = (self.core.calls(), self.snapshot());
        let first = |unit: &&Arc<UnitRecord>| ids.contains(&unit.id) && self.core.held_units.is_first(&unit.id);
        let units: Vec<_> = snapshot.pool.units.iter().filter(first).cloned().collect();
        if self.release(&calls, &snapshot, &units).await.is_ok() {
            self.core.free(&self.name, &ids_of(&units));
        }
    }

    /// Before a container starts that has these: are they there, and what they were? Then `prepare`, where there is one.
    pub(super) async fn make_ready(&self, ids: &[String]) -> Result<(), AllocateError> {
        let ids = self.unit_ids(ids)?;
        let held_units = &self.core.held_units;
        let _turn = held_units.locks.lock(&ids).await;
        let (calls, snapshot) = (self.core.calls(), self.snapshot());
        // What failed here before is no reason not to try again.
        let units = self.look_up(&snapshot, &ids, |id| held_units.failed_to_start(id))?;
        if let Some(id) = ids.iter().find(|id| !held_units.has(id)) {
            return Err(self.refused(&format!("device {id} was not allocated to any container")));
        }
        self.look_again(&calls, &snapshot, &units).await?;
        let asked = snapshot.pool.asked(&self.name);
        match calls.work(LifecycleCall::Start, asked, &units).await {
            Ok(()) => {
                if held_units.record_success(&ids) {
                    self.core.wake.ask(Asked::HEALTH);
                }
                Ok(())
            }
            Err(error) => {
                self.core.not_ready(&ids, LifecycleCall::Start, &error);
                Err(self.failed_at("prepare", &error))
            }
        }
    }
}
