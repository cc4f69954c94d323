//! From one container to the next, where the component has a part in it.

use super::{Hold, Resource, Snapshot};
use crate::calls::Calls;
use crate::inventory::UnitRecord;
use crate::offer::{AllocateError, Reply};
use crate::tenancy::{Failed, Work};
use crate::watcher::Asked;
use devgate_policy::Prepare;
use devgate_types::{CallError, FailureKind, UnitId};
use std::sync::Arc;

impl Resource {
    /// The path of an allocation whose component has a life cycle, under the turn: `release` of what is not clean, `prepare`,
    /// then `allocate`. What fails after `prepare` is undone by `release`; whoever goes away in the middle of it leaves units
    /// that count as handed out until they are seen to be free. Where replicas share a unit, its first pod's allocation does
    /// all that, and the next ones only `allocate`.
    pub(super) async fn hand_over(
        &self,
        calls: &Calls,
        snapshot: &Snapshot,
        units: &[Arc<UnitRecord>],
        offered: &[String],
        hold: Hold<'_>,
    ) -> Result<Arc<Reply>, AllocateError> {
        let tenancy = &self.core.tenancy;
        // Somebody may have another replica of what was handed out before: it is in use, and was made ready for that.
        let shared = calls.grants.policy.replicas > 1;
        let taken = |unit: &&Arc<UnitRecord>| shared && tenancy.has(&unit.id);
        let fresh: Vec<_> = units.iter().filter(|unit| !taken(unit)).cloned().collect();
        let (memory, plugin) = (&self.core.memory, self.core.name());
        let is_dirty = |unit: &&Arc<UnitRecord>| tenancy.has(&unit.id) || memory.is_in_doubt(plugin, &unit.id);
        let dirty: Vec<_> = fresh.iter().filter(is_dirty).cloned().collect();
        // What went away and came back is released as what is there now, once; what does so again is nothing to give.
        if !self.release(calls, snapshot, &dirty).await? && !self.release(calls, snapshot, &dirty).await? {
            self.core.wake.ask(Asked::HARDWARE);
            return Err(self.refused("a device went away while it was released"));
        }
        // On disk before anything is done to them: after a restart they are what they are now.
        self.record(calls, snapshot, units, !shared).await?;
        hold.keep();
        let asked = snapshot.pool.asked(&self.name);
        if calls.grants.policy.prepare == Prepare::Allocate
            && let Err(error) = calls.work(Work::Prepare, asked, &fresh).await
        {
            self.core.broke(&fresh, "prepare", &error);
            // Another time it may work at once, so that nothing is wrong with the units.
            let busy = matches!(&error, CallError::Failed(failure) if failure.kind == FailureKind::Busy);
            if self.release(calls, snapshot, &fresh).await.is_ok() {
                match busy {
                    true => self.core.free(&self.name, &ids_of(&fresh)),
                    false => drop(self.core.not_ready(&ids_of(&fresh), Failed::Prepare, &error)),
                }
            }
            return Err(self.failed_at("prepare", &error));
        }
        let reply = match self.ask_component(calls, snapshot, units).await {
            Ok(reply) => self.tell(calls, snapshot, units, offered).await.map(|()| reply),
            Err(error) => Err(error),
        };
        match reply {
            Ok(reply) => Ok(Arc::new(reply)),
            Err(error) => {
                if self.release(calls, snapshot, &fresh).await.is_ok() {
                    self.core.free(&self.name, &ids_of(&fresh));
                }
                Err(error)
            }
        }
    }

    /// Remembers that these are handed out, also across restarts. `anew` if what was before is over.
    ///
    /// # Errors
    /// Where it cannot be recorded that one is that nobody had before: a restart would give it to somebody else. What a pod has
    /// already, it gets again.
    pub(super) async fn record(
        &self,
        calls: &Calls,
        snapshot: &Snapshot,
        units: &[Arc<UnitRecord>],
        anew: bool,
    ) -> Result<(), AllocateError> {
        // First here: a survey takes what the memory has and the tenancy does not for what was given before the host started.
        self.core.tenancy.given(&self.name, &snapshot.pool, units, anew);
        let (shared_nodes, policy) = (&snapshot.pool.shared_nodes, &calls.grants.policy);
        let memory = &self.core.memory;
        let noted = memory.note(&self.name, shared_nodes, units, policy, calls.has_lifecycle());
        let Some(unsaved) = noted.unsaved else { return Ok(()) };
        match unsaved.save().await {
            Err(problem) if !noted.new.is_empty() => {
                memory.take_back(&noted.new);
                let is_new = |unit: &&Arc<UnitRecord>| noted.new.iter().any(|(_, id)| id == unit.id.as_str());
                let new: Vec<_> = units.iter().filter(is_new).map(|unit| unit.id.clone()).collect();
                self.core.tenancy.clean(&new);
                let (plugin, name) = (self.core.name(), &self.name);
                Err(AllocateError::Host(format!(
                    "plugin {plugin}: resource {name}: what is handed out cannot be recorded: {problem}; look at the state directory \
                     (--state-dir)"
                )))
            }
            // That has been said.
            _ => Ok(()),
        }
    }

    /// Whether all were there while they were released.
    async fn release(
        &self,
        calls: &Calls,
        snapshot: &Snapshot,
        units: &[Arc<UnitRecord>],
    ) -> Result<bool, AllocateError> {
        let asked = snapshot.pool.asked(&self.name);
        let released = self.core.work_release(calls, &self.name, asked, units).await;
        released.map_err(|error| {
            self.core.not_ready(&ids_of(units), Failed::Release, &error);
            self.failed_at("release", &error)
        })
    }

    /// Takes back what an answer would have given that nobody got: only what nobody had before.
    pub(super) async fn undo(&self, ids: &[String]) {
        let Ok(ids) = self.unit_ids(ids) else { return };
        let _turn = self.core.tenancy.turns.turn(&ids).await;
        let (calls, snapshot) = (self.core.calls(), self.snapshot());
        let first = |unit: &&Arc<UnitRecord>| ids.contains(&unit.id) && self.core.tenancy.is_first(&unit.id);
        let units: Vec<_> = snapshot.pool.units.iter().filter(first).cloned().collect();
        if self.release(&calls, &snapshot, &units).await.is_ok() {
            self.core.free(&self.name, &ids_of(&units));
        }
    }

    /// Before a container starts that has these: are they there, and what they were? Then `prepare`, where there is one.
    pub(super) async fn make_ready(&self, ids: &[String]) -> Result<(), AllocateError> {
        let ids = self.unit_ids(ids)?;
        let tenancy = &self.core.tenancy;
        let _turn = tenancy.turns.turn(&ids).await;
        let (calls, snapshot) = (self.core.calls(), self.snapshot());
        // What failed here before is no reason not to try again.
        let units = self.look_up_but(&snapshot, &ids, |id| tenancy.failed_to_start(id))?;
        if let Some(id) = ids.iter().find(|id| !tenancy.has(id)) {
            return Err(self.refused(&format!("device {id} was not allocated to any container")));
        }
        self.look_again(&calls, &snapshot, &units).await?;
        let asked = snapshot.pool.asked(&self.name);
        match calls.work(Work::Start, asked, &units).await {
            Ok(()) => {
                if tenancy.succeed(&ids) {
                    self.core.wake.ask(Asked::HEALTH);
                }
                Ok(())
            }
            Err(error) => {
                self.core.not_ready(&ids, Failed::Start, &error);
                Err(self.failed_at("prepare", &error))
            }
        }
    }
}

fn ids_of(units: &[Arc<UnitRecord>]) -> Vec<UnitId> {
    units.iter().map(|unit| unit.id.clone()).collect()
}
