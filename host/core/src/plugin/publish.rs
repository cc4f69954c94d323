//! From what is known about every unit to what front ends are told.

use super::Plugin;
use crate::allocations::{Slot, TakenBy};
use crate::ledger::Wholes;
use crate::offer::{Device, DeviceList, Facts};
use crate::replica::replica_ids;
use crate::resource::{Resource, Scheduled, take};
use crate::unit_table::{Change, OutsideCauses, Published};
use crate::units::{Cause, Topology};
use devgate_policy::Derived;
use devgate_types::UnitId;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is the device's own fault, and not the host's or its component's.
const FAULTS: [Cause; 4] = [Cause::HardwareGone, Cause::HardwareChanged, Cause::Unlisted, Cause::Unhealthy];
/// Devices whose health is logged one by one when it changes; more at once are counted.
const LOGGED_AT_ONCE: usize = 16;
/// How long nothing is offered while it is not known what pods have: the kubelet tells at once, if it is there.
const LEARN_PATIENCE: Duration = Duration::from_secs(2);
/// What a plugin waits for that offers nothing for that.
const LEARNS: &str = "waits until the kubelet has told what pods have";
/// What a plugin waits for that is not the first to say what it has.
const BEFORE_IT: &str =
    "waits until the plugins before it in the policy, which may offer the same, have said what they have";

impl Plugin {
    /// Offers what there is now, once the first enumeration and health check have succeeded. Returns what it waits for where it
    /// offers nothing yet.
    #[tracing::instrument(name = "core.publish", level = "trace", skip_all)]
    pub(super) fn publish(&mut self) -> Option<&'static str> {
        let core = Arc::clone(&self.core);
        if !self.is_its_turn() {
            return Some(BEFORE_IT);
        }
        if self.resources.is_empty() && (self.failing.is_some() || self.is_learning()) {
            return Some(LEARNS);
        }
        // First: what is known by now is compared with what there is then.
        let closed = core.allocations.trouble();
        self.follow_memory();
        let others = self.others(closed);
        let (changes, news) = self.units.judge(&others);
        self.log_changes(&changes);
        let OutsideCauses { wholes, claimed, .. } = &others;
        for (name, pool) in &self.units.inventory().pools {
            let dra = self.policy().dra.as_ref();
            let known = self.resources.get(name).filter(|known| known.is_by(dra));
            let new = || Arc::new(Resource::new(Arc::clone(&core), name.clone(), dra));
            let resource = known.map_or_else(new, Arc::clone);
            // What is known of the same units stands.
            let before = known.map(|known| known.snapshot()).filter(|before| before.pool.units == pool.units);
            let (topology, told) = match before {
                Some(before) => (Arc::clone(&before.topology), before.told.clone()),
                None => {
                    let node = &self.calls.grants.node;
                    let tell = |scheduled: &Scheduled| Arc::new(scheduled.tell(core.name(), node, name, pool));
                    (Arc::new(Topology::of(&pool.units)), resource.scheduled.as_ref().map(tell))
                }
            };
            let snapshot = self.units.snapshot(pool, topology, told);
            let taken = core.allocations.taken_by_others(name);
            let mut list = DeviceList::default();
            for (unit, Published { causes, conditions, .. }) in snapshot.units() {
                if causes.has(Cause::IdTaken) {
                    continue;
                }
                let (taken, replicas) = (taken.get(unit.id.as_str()), self.policy().replicas);
                let with_pods = || core.allocations.is_with_pods(name, &unit.id).then(|| Arc::from("pods"));
                list.devices.extend(replica_ids(&unit.id, replicas).map(|id| {
                    let unhealthy = causes.reason().cloned();
                    let facts = snapshot.told.as_ref().and_then(|told| told.get(&unit.id)).map(|facts| {
                        // Its scheduler knows which claims of the driver have it.
                        let driver = dra.map(|dra| (dra.driver.as_str(), dra.shares));
                        let held = taken_by(taken, &id, replicas, driver).or_else(with_pods);
                        // Nor does it know who else has the whole or a part of it.
                        let mut choices = wholes.choices(&unit.id);
                        let other = choices.find(|other| core.held_units.has(other) && !claimed.contains(*other));
                        let held = held.or_else(|| other.map(|other| format!("who has {other}").into()));
                        let is_faulty = FAULTS.iter().any(|cause| causes.has(*cause));
                        let (wholes, is_claimed) = (wholes.wholes(&unit.id), claimed.contains(&unit.id));
                        if held.is_none() && !is_faulty && wholes.is_empty() && conditions.is_empty() {
                            return Arc::clone(facts);
                        }
                        let conditions = Arc::clone(conditions);
                        Arc::new(Facts { held, is_faulty, wholes, is_claimed, conditions, ..(**facts).clone() })
                    });
                    let in_use = || {
                        let who = taken_by(taken, &id, replicas, None).filter(|_| snapshot.told.is_none())?;
                        Some(format!("it is in use by {who}").into())
                    };
                    Device { unhealthy: unhealthy.or_else(in_use), facts, numa_nodes: unit.numa_nodes.clone(), id }
                }));
            }
            list.devices.sort_by(|a, b| a.id.cmp(&b.id));
            // First, so that who has the list and asks for the status is told of the same.
            core.shown.show(name, Arc::new(snapshot));
            resource.publish(list);
            // Another plugin may have offered it in between; the policy lets only one.
            if known.is_none() || (self.policy().grants_resource(name) && !self.shared.registry.has(core.index, name)) {
                self.resources.insert(name.clone(), Arc::clone(&resource));
                self.shared.registry.add(core.index, name, resource);
            }
        }
        core.shown.retain(|name| self.resources.contains_key(name));
        if news || std::mem::take(&mut self.relabel) {
            self.label(&others);
        }
        None
    }

    /// The units that claims of the plugin's driver have, where some are parts of others.
    fn claimed(&self, wholes: &Wholes) -> HashSet<UnitId> {
        let driver = self.policy().dra.as_ref().filter(|_| !wholes.is_empty()).map(|dra| dra.driver.as_str());
        let Some(driver) = driver else { return HashSet::new() };
        let taken = self.units.inventory().pools.keys().flat_map(|name| self.core.allocations.taken_by_others(name));
        let ours = taken.filter(|(_, by)| by.iter().any(|by| by.driver.as_deref() == Some(driver)));
        // What could not be released its scheduler does not count any more.
        let unreleased = self.core.held_units.problems();
        ours.filter_map(|(id, _)| UnitId::try_new(&id).ok()).filter(|id| !unreleased.contains_key(id)).collect()
    }

    /// Tells what there is to tell of the node: while the list stands, and with it what its component said of the units.
    fn label(&mut self, others: &OutsideCauses) {
        self.relabel = false;
        if self.policy().labels.is_empty() {
            return;
        }
        let derived = if self.is_stale() { Derived::default() } else { self.units.labels(self.policy(), others) };
        self.shared.labels.tells(&self.policy().name, derived);
    }

    /// Whether it has failed for so long that its list does not stand any more.
    fn is_stale(&self) -> bool {
        self.failing.is_some() && self.core.recorder.is_stale(self.policy().health.stale_after)
    }

    /// What was forgotten does not stand against anybody any more.
    fn follow_memory(&mut self) {
        let forgotten = self.core.allocations.times_forgotten();
        if std::mem::replace(&mut self.forgotten, forgotten) != forgotten {
            self.complete();
            self.core.held_units.restore(self.units.inventory());
            self.compare_with_memory();
            self.report();
        }
    }

    /// Says what ids are made of that only the kubelet knows of.
    pub(super) fn complete(&self) {
        let lifecycle = self.calls.has_lifecycle();
        self.core.allocations.complete(&self.units.inventory().pools, self.policy(), lifecycle);
    }

    /// Whether it may be known in a moment what pods have: then nothing has to be offered as unhealthy before.
    fn is_learning(&self) -> bool {
        self.shared.born.elapsed() < LEARN_PATIENCE && self.core.allocations.trouble().is_some()
    }

    /// What others say of the units now. `closed` is why nothing new is given, if so.
    pub(super) fn others(&self, closed: Option<Arc<str>>) -> OutsideCauses {
        let core = &self.core;
        let units = || self.units.inventory().units().map(|unit| &unit.id);
        // What pods have they keep.
        let kept = |_: &_| units().filter(|id| core.held_units.has(id)).cloned().collect();
        let failing = self.failing.as_ref().filter(|_| self.is_stale());
        let (mut lost, wholes) = (core.ledger.lost(core.index), core.ledger.wholes(core.index));
        let claimed = self.claimed(&wholes);
        // Nothing is wrong with the parts of what a claim has: its scheduler counts it.
        let counted: HashSet<_> = claimed.iter().flat_map(|id| wholes.choices(id)).cloned().collect();
        lost.retain(|id, lost| lost.id_taken || !counted.contains(id));
        OutsideCauses {
            lost,
            counted,
            unreleased: core.held_units.problems(),
            kept: closed.as_ref().map(kept).unwrap_or_default(),
            closed,
            failing: failing.map(|failing| Arc::clone(&failing.reason)),
            resting: core.breaker.problems(units(), Instant::now()),
            wholes,
            claimed,
        }
    }

    /// One line for each device whose health is another than it was, and a count where there are many.
    fn log_changes(&self, changes: &[Change]) {
        let name = self.policy().name.as_str();
        for (id, reason) in changes.iter().take(LOGGED_AT_ONCE) {
            match reason {
                None => tracing::info!(plugin = name, device = %id, "plugin {name}: device {id} is healthy again"),
                Some(why) => {
                    tracing::warn!(plugin = name, device = %id, "plugin {name}: device {id} is unhealthy: {why}")
                }
            }
        }
        if let Some(more) = changes.len().checked_sub(LOGGED_AT_ONCE).filter(|more| *more > 0) {
            tracing::warn!(plugin = name, more, "plugin {name}: the health of {more} more devices changed");
        }
    }
}

/// Who has an id that says itself when it is done, and is no claim of this driver. Its scheduler does not count shares where there are none.
fn taken_by(taken: Option<&Vec<TakenBy>>, id: &str, replicas: u32, but: Option<(&str, u32)>) -> Option<Arc<str>> {
    let (taken, wanted) = (taken?, take(id, None, replicas)?);
    let is_counted = |by: &TakenBy, (driver, shares): (&str, u32)| {
        by.driver.as_deref() == Some(driver) && (shares > 1 || !matches!(by.take.slot, Slot::Share(_)))
    };
    let is_other = |by: &&TakenBy| !but.is_some_and(|but| is_counted(by, but));
    let by = taken.iter().filter(is_other).find(|by| by.take.excludes(&wanted))?;
    Some(Arc::clone(&by.who))
}
