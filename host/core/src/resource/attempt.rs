//! One resource's part of an allocation that is under way.

use super::Resource;
use crate::allocations::{Consumer, Giving, Mode, Slot, StoredReply, Take};
use crate::calls::Calls;
use crate::held_units::LifecycleCall;
use crate::offer::{AllocateError, Reply};
use crate::replica::split_replica;
use crate::unit_table::Snapshot;
use crate::units::UnitRecord;
use crate::watcher::Asked;
use devgate_policy::Prepare;
use devgate_types::{CallError, FailureKind, Setting, UnitId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is asked for of one resource.
pub(crate) struct Part<'a> {
    pub(crate) resource: &'a Resource,
    /// As they are offered.
    pub(crate) ids: &'a [String],
    /// Which share of each, where a scheduler counts them.
    pub(crate) share: Option<&'a str>,
    pub(crate) mode: Mode,
    /// What its consumer calls it.
    pub(crate) tag: &'a str,
    /// What its component is told besides.
    pub(crate) settings: &'a [Setting],
    /// Whether what its consumer is told is kept here; the kubelet keeps pods' answers, unless they are names.
    pub(crate) is_kept: bool,
}

/// The same, under the turn of its units and with one policy, component and list for the whole.
pub(super) struct Attempt<'a> {
    pub(super) part: &'a Part<'a>,
    pub(super) calls: Arc<Calls>,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) units: Vec<Arc<UnitRecord>>,
    pub(super) take: BTreeSet<Take>,
    /// The units that are made ready for it: others may have another slot of the rest.
    pub(super) fresh: Vec<Arc<UnitRecord>>,
    /// Whether each is taken as a whole.
    whole: bool,
    /// What it has marked as handed out, until it is known whether it is: an allocation may fail, and its caller may go away in the middle
    /// of it.
    held: Vec<UnitId>,
}

impl<'a> Attempt<'a> {
    /// Looks up what is asked for, and keeps it from other units that cannot be given beside it.
    pub(super) async fn begin(who: &Consumer, part: &'a Part<'a>, ids: &[UnitId]) -> Result<Self, AllocateError> {
        let resource = part.resource;
        let (calls, snapshot) = (resource.core.calls(), resource.snapshot());
        let units = resource.look_up(&snapshot, ids, |_| part.mode == Mode::Observe)?;
        let replicas = calls.grants.policy.replicas;
        let mut attempt = Self {
            take: part.ids.iter().filter_map(|id| take(id, part.share, replicas)).collect(),
            fresh: Vec::new(),
            whole: replicas <= 1 && part.share.is_none(),
            held: Vec::new(),
            part,
            calls,
            snapshot,
            units,
        };
        attempt.refuse_what_is_taken(who)?;
        attempt.refuse_settings()?;
        resource.look_again(&attempt.calls, &attempt.snapshot, &attempt.units).await?;
        if attempt.holds() {
            let core = &resource.core;
            let is_taken = |unit: &&Arc<UnitRecord>| core.held_units.has(&unit.id);
            let anew = attempt.begins_anew();
            let is_fresh = |unit: &&Arc<UnitRecord>| anew || !is_taken(unit);
            attempt.fresh = attempt.units.iter().filter(is_fresh).cloned().collect();
            attempt.held = resource.hold(&attempt.calls, &attempt.snapshot, &attempt.units)?;
        }
        Ok(attempt)
    }

    fn refuse_what_is_taken(&self, who: &Consumer) -> Result<(), AllocateError> {
        let resource = self.part.resource;
        if !self.holds() {
            return Ok(());
        }
        let allocations = &resource.core.allocations;
        let shares = resource.scheduled.as_ref().map(|scheduled| scheduled.driver.shares);
        for take in &self.take {
            let others = || allocations.others_with_shares(who, &resource.name, &take.unit);
            let is_share = matches!(take.slot, Slot::Share(_));
            if let Some(most) = shares.filter(|most| is_share && others() >= *most as usize) {
                return Err(resource.refused(&format!("device {}: {most} claims have it, and no more may", take.unit)));
            }
            if let Some(other) = allocations.in_the_way(who, &resource.name, take) {
                return Err(resource.refused(&format!("device {} is in use by {other}", take.unit)));
            }
        }
        let starts = self.calls.grants.policy.prepare == Prepare::Start;
        if starts && self.is_made_ready() && *who != Consumer::Pods {
            let why =
                "its devices are made ready when a container starts (prepare: start), which only the kubelet tells of";
            return Err(resource.refused(why));
        }
        Ok(())
    }

    fn refuse_settings(&self) -> Result<(), AllocateError> {
        let takes_none = || self.calls.component().is_some_and(|component| !component.profile().parameters);
        if self.part.settings.is_empty() || !takes_none() {
            return Ok(());
        }
        let why = "its component takes no parameters (it exports no devgate:plugin/parameters): take `config` out of the claim and its class, or have them ignored (dra.parameters)";
        Err(self.part.resource.refused(why))
    }

    /// Whether it keeps others from what it takes.
    pub(super) fn holds(&self) -> bool {
        self.part.mode == Mode::Hold
    }

    /// Whether its component works on units before they are given, and after.
    pub(super) fn is_made_ready(&self) -> bool {
        self.holds() && self.calls.has_lifecycle() && !self.units.is_empty()
    }

    /// Whether what was before is over for all of them: they were made ready for a consumer, and none has another slot.
    pub(super) fn begins_anew(&self) -> bool {
        self.whole && self.is_made_ready()
    }

    /// What is noted of it.
    pub(super) fn giving(&self, reply: Option<StoredReply>) -> Giving<'_> {
        let (pool, policy) = (&self.snapshot.pool, &self.calls.grants.policy);
        let (resource, unreleased) = (&self.part.resource.name, self.calls.has_lifecycle());
        Giving {
            take: self.take.clone(),
            mode: self.part.mode,
            tag: self.part.tag,
            reply,
            ..Giving::whole(resource, &pool.shared_nodes, &self.units, policy, unreleased)
        }
    }

    /// It is on record: from now on it is held until its consumer is done with it.
    pub(super) fn keep(&mut self) {
        self.held.clear();
    }

    /// Has what is not clean released.
    pub(super) async fn clean(&self) -> Result<(), AllocateError> {
        let (resource, core) = (self.part.resource, &self.part.resource.core);
        let is_dirty = |unit: &&Arc<UnitRecord>| {
            core.held_units.has(&unit.id) || core.allocations.is_unverified(core.name(), &unit.id)
        };
        let dirty: Vec<_> = self.fresh.iter().filter(is_dirty).cloned().collect();
        // What went away and came back is released as what is there now, once; what does so again is nothing to give.
        if !self.release(&dirty).await? && !self.release(&dirty).await? {
            core.wake.ask(Asked::HARDWARE);
            return Err(resource.refused("a device went away while it was released"));
        }
        Ok(())
    }

    /// Has its component make the units ready. Where it fails, the units are as after a release by then, or wait for one.
    pub(super) async fn prepare(&self) -> Result<(), AllocateError> {
        let resource = self.part.resource;
        if self.calls.grants.policy.prepare != Prepare::Allocate || !self.is_made_ready() {
            return Ok(());
        }
        let asked = self.snapshot.pool.asked(&resource.name);
        let Err(error) = self.calls.work(LifecycleCall::Prepare, asked, &self.fresh).await else {
            return Ok(());
        };
        resource.core.broke(&self.fresh, "prepare", &error);
        // Another time it may work at once, so that nothing is wrong with the units.
        let busy = matches!(&error, CallError::Failed(failure) if failure.kind == FailureKind::Busy);
        if self.release(&self.fresh).await.is_ok() {
            match busy {
                true => self.free(),
                false => resource.core.not_ready(&ids_of(&self.fresh), LifecycleCall::Prepare, &error),
            }
        }
        Err(resource.failed_at("prepare", &error))
    }

    /// What its component says, as far as the policy lets it.
    pub(super) async fn ask(&self) -> Result<Reply, AllocateError> {
        let resource = self.part.resource;
        resource.ask_component(&self.calls, &self.snapshot, &self.units, self.part.settings).await
    }

    /// Takes back what no consumer had before.
    pub(super) async fn undo(&self) {
        if self.release(&self.fresh).await.is_ok() {
            self.free();
        }
    }

    fn free(&self) {
        let resource = self.part.resource;
        resource.core.free(&resource.name, &ids_of(&self.fresh));
    }

    /// Whether all were there while they were released.
    async fn release(&self, units: &[Arc<UnitRecord>]) -> Result<bool, AllocateError> {
        self.part.resource.release(&self.calls, &self.snapshot, units).await
    }
}

impl Drop for Attempt<'_> {
    /// No consumer got these, and what was told of those that none had before is not so.
    fn drop(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let Resource { core, name, .. } = self.part.resource;
        core.ledger.let_go(core.index, &self.held);
        core.wake.ask(Asked::HEALTH);
        if let Some(files) = core.allocations.files() {
            let new = self.units.iter().filter(|unit| !core.held_units.has(&unit.id));
            files.forget(new.map(|unit| (name.as_str(), unit.id.as_str())));
        }
    }
}

/// What an id as it is offered takes, or a share of it.
pub(crate) fn take(id: &str, share: Option<&str>, replicas: u32) -> Option<Take> {
    let (unit, number) = split_replica(id, replicas)?;
    let slot = match share {
        Some(share) => Slot::Share(share.to_owned()),
        None if replicas > 1 => Slot::Replica(number),
        None => Slot::Whole,
    };
    let unit = unit.to_owned();
    Some(Take { unit, slot })
}

pub(super) fn ids_of(units: &[Arc<UnitRecord>]) -> Vec<UnitId> {
    units.iter().map(|unit| unit.id.clone()).collect()
}
