//! All units of one plugin, one record each: what was enumerated, its health over time, and everything that speaks against it. What
//! front ends list, an allocation checks, `status` and `explain` show and labels count is made of it.

use crate::health::{Settling, UnitHealth};
use crate::health_store::HealthStore;
use crate::inventory::Inventory;
use crate::labels;
use crate::ledger::Wholes;
use crate::look::Finding;
use crate::offer::Facts;
use crate::units::{Cause, Causes, Lost, PoolRecord, Topology, UnitRecord};
use crate::when::When;
use devgate_policy::{Derived, PluginPolicy};
use devgate_types::{Condition, Mutex, ResourceName, UnitId, Verdict};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// The units of a plugin.
#[derive(Default)]
pub(crate) struct UnitTable {
    /// What was enumerated, and what pods hold of what was.
    inventory: Inventory,
    /// What was found out about each unit of it.
    found: HashMap<UnitId, UnitState>,
}

#[derive(Default)]
struct UnitState {
    /// Nothing before a first verdict.
    health: Option<UnitHealth>,
    /// What its component found besides the last time.
    conditions: Arc<[Condition]>,
    /// What the plugin's own looks find. The others' causes are asked for when they are needed.
    own: Causes,
    /// What is published.
    published: Published,
}

/// How a unit is, as who is not the plugin sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Published {
    /// All that speaks against it.
    pub(crate) causes: Causes,
    /// Whether its health is between two states.
    pub(crate) settling: Option<Settling>,
    /// What is not as it should be although it works.
    pub(crate) conditions: Arc<[Condition]>,
    /// Since when it may or may not be given; nothing where it may since it is known.
    pub(crate) since: Option<When>,
}

/// A resource's units as they were published last: what an allocation looks its ids up in.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) pool: PoolRecord,
    /// How each unit of the pool is, in its order.
    pub(crate) published: Vec<Published>,
    /// Where the units are.
    pub(crate) topology: Arc<Topology>,
    /// What schedulers are told of them, where these pick them.
    pub(crate) told: Option<Arc<Told>>,
}

/// What schedulers are told, by the unit's id; those that are not told of are not in here.
pub(crate) type Told = HashMap<UnitId, Arc<Facts>>;

impl Snapshot {
    /// All units, and how they are.
    pub(crate) fn units(&self) -> impl Iterator<Item = (&Arc<UnitRecord>, &Published)> {
        self.pool.units.iter().zip(&self.published)
    }

    /// A unit, its place in the pool, and what speaks against it.
    pub(crate) fn find(&self, id: &str) -> Option<(usize, &Arc<UnitRecord>, &Causes)> {
        let place = self.pool.place(id).ok()?;
        Some((place, self.pool.units.get(place)?, &self.published.get(place)?.causes))
    }

    /// How many of the units the component lists: others are in the pool for as long as pods hold them.
    pub(crate) fn listed(&self) -> usize {
        let listed = self.published.iter().filter(|unit| !unit.causes.has(Cause::Unlisted));
        listed.count()
    }
}

/// All that a plugin offers, as it was published last, for all but the plugin's own task.
#[derive(Default)]
pub(crate) struct Shown(Mutex<BTreeMap<ResourceName, Arc<Snapshot>>>);

impl Shown {
    /// What is offered under this name now.
    pub(crate) fn show(&self, resource: &ResourceName, snapshot: Arc<Snapshot>) {
        self.0.lock().insert(resource.clone(), snapshot);
    }

    /// What is not offered any more is not shown either.
    pub(crate) fn retain(&self, is_offered: impl Fn(&ResourceName) -> bool) {
        self.0.lock().retain(|name, _| is_offered(name));
    }

    /// What is offered under this name; nothing where none is.
    pub(crate) fn get(&self, resource: &ResourceName) -> Arc<Snapshot> {
        self.0.lock().get(resource).cloned().unwrap_or_default()
    }

    /// Everything, by the resource's name.
    pub(crate) fn all(&self) -> BTreeMap<ResourceName, Arc<Snapshot>> {
        self.0.lock().clone()
    }

    /// Whether the component lists a unit of a resource, as far as it is known.
    pub(crate) fn lists(&self, resource: &ResourceName, id: &UnitId) -> bool {
        self.get(resource).find(id.as_str()).is_some_and(|(_, _, causes)| !causes.has(Cause::Unlisted))
    }
}

/// What others than the plugin itself say of its units at one moment.
#[derive(Default)]
pub(crate) struct OutsideCauses {
    /// To whom units lost hardware or their id.
    pub(crate) lost: HashMap<UnitId, Lost>,
    /// Which units are parts of which, and which of these a claim has.
    pub(crate) wholes: Arc<Wholes>,
    pub(crate) claimed: HashSet<UnitId>,
    /// What is a part of what a claim has, or the whole, which its scheduler counts.
    pub(crate) counted: HashSet<UnitId>,
    /// What failed when units were prepared or released.
    pub(crate) unreleased: HashMap<UnitId, Arc<str>>,
    /// Why nothing is given that is not `kept`, if so.
    pub(crate) closed: Option<Arc<str>>,
    /// What pods keep although it is closed.
    pub(crate) kept: BTreeSet<UnitId>,
    /// Why the plugin's list does not stand any more, if so.
    pub(crate) failing: Option<Arc<str>>,
    /// Whose allocations fail.
    pub(crate) resting: HashMap<UnitId, Arc<str>>,
}

/// A unit that may be given and could not before, or the other way round: why not, if so.
pub(crate) type Change = (UnitId, Option<Arc<str>>);

impl UnitTable {
    pub(crate) fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Takes out a pool that has no unit any more.
    pub(crate) fn remove_pool(&mut self, resource: &ResourceName) {
        self.inventory.pools.remove(resource);
    }

    /// Takes over what was enumerated. What was found out stays with the units that are still there.
    pub(crate) fn replace(&mut self, inventory: Inventory) {
        let mut before = std::mem::take(&mut self.found);
        self.inventory = inventory;
        for unit in self.inventory.units() {
            let mut found = before.remove(&unit.id).unwrap_or_default();
            let withdrawn = self.inventory.withdrawn.get(&unit.id);
            found.own.set(Cause::NotGranted, withdrawn.cloned());
            self.found.insert(unit.id.clone(), found);
        }
    }

    /// Says of every unit whether this speaks against it, as the plugin's own looks find. Returns whether that is news.
    pub(crate) fn set(&mut self, cause: Cause, reasons: &HashMap<UnitId, Arc<str>>) -> bool {
        let mut news = false;
        for (id, found) in &mut self.found {
            news |= found.own.set(cause, reasons.get(id).cloned());
        }
        news
    }

    /// Whether the plugin's own looks find this of a unit.
    pub(crate) fn has(&self, id: &UnitId, cause: Cause) -> bool {
        self.found.get(id).is_some_and(|found| found.own.has(cause))
    }

    /// Whether there is a unit of this id.
    pub(crate) fn contains(&self, id: &UnitId) -> bool {
        self.found.contains_key(id)
    }

    /// Whether there was a verdict on a unit.
    pub(crate) fn has_verdict(&self, id: &UnitId) -> bool {
        self.found.get(id).is_some_and(|found| found.health.is_some())
    }

    /// What the component finds of some units. What it says of their health counts once it has lasted.
    pub(crate) fn apply(
        &mut self,
        units: &[Arc<UnitRecord>],
        findings: &[Finding],
        policy: &PluginPolicy,
        health_store: &HealthStore,
    ) {
        let now = Instant::now();
        for (unit, Finding { verdict, conditions }) in units.iter().zip(findings) {
            let Some(found) = self.found.get_mut(&unit.id) else {
                continue;
            };
            if *found.conditions != **conditions {
                found.conditions = conditions.as_slice().into();
            }
            let was = match &mut found.health {
                Some(health) => {
                    let was = health.unhealthy_since().is_some();
                    health.update(verdict, &policy.health, now);
                    was
                }
                new @ None => {
                    let known = health_store.get(&policy.name, &unit.id, policy.health.new_boot_forgives);
                    *new = Some(UnitHealth::first(verdict, known.as_ref(), &policy.health, now));
                    // What was forgiven is not kept either.
                    true
                }
            };
            match found.health.as_ref().and_then(UnitHealth::unhealthy_since) {
                None if was => health_store.record(&policy.name, &unit.id, None),
                // Found so in this boot. What only has not been found well yet stays what it was noted as.
                Some(unhealthy) if matches!(verdict, Verdict::Unhealthy(_)) => {
                    health_store.record(&policy.name, &unit.id, Some(unhealthy));
                }
                _ => {}
            }
        }
    }

    /// All that speaks against a unit.
    pub(crate) fn causes(&self, id: &UnitId, others: &OutsideCauses) -> Causes {
        let Some(found) = self.found.get(id) else {
            return Causes::default();
        };
        let mut causes = found.own.clone();
        let unhealthy = match &found.health {
            Some(health) => health.unhealthy(),
            None => Some("not found healthy yet".into()),
        };
        causes.set(Cause::Unhealthy, unhealthy);
        if others.counted.contains(id) {
            causes.set(Cause::HeldAsOther, None);
        }
        if let Some(lost) = others.lost.get(id) {
            let cause = if lost.id_taken { Cause::IdTaken } else { Cause::Conflict };
            causes.set(cause, Some(Arc::clone(&lost.reason)));
        }
        let closed = others.closed.as_ref().filter(|_| !others.kept.contains(id));
        for (cause, reason) in [
            (Cause::Unreleased, others.unreleased.get(id)),
            (Cause::StateUnknown, closed),
            (Cause::PluginFailing, others.failing.as_ref()),
            (Cause::AllocationsFailing, others.resting.get(id)),
        ] {
            causes.set(cause, reason.cloned());
        }
        causes
    }

    /// What its component found of a unit besides.
    pub(crate) fn conditions(&self, id: &UnitId) -> Arc<[Condition]> {
        self.found.get(id).map(|found| Arc::clone(&found.conditions)).unwrap_or_default()
    }

    /// Makes up what is published of every unit. Returns who changed between given and not, by id, and whether anything else did.
    pub(crate) fn judge(&mut self, others: &OutsideCauses) -> (Vec<Change>, bool) {
        let ids: Vec<_> = self.found.keys().cloned().collect();
        let (mut changes, mut news) = (Vec::new(), false);
        for id in ids {
            let now = self.causes(&id, others);
            let Some(found) = self.found.get_mut(&id) else { continue };
            let published = &mut found.published;
            news |= published.causes != now;
            if published.causes.is_empty() != now.is_empty() {
                // What was unhealthy before the host started has been so since then.
                let unhealthy = found.health.as_ref().and_then(UnitHealth::unhealthy_since);
                published.since = Some(unhealthy.map_or_else(When::now, |(_, since)| since));
                changes.push((id, now.reason().cloned()));
            }
            published.causes = now;
            published.conditions = Arc::clone(&found.conditions);
            published.settling = found.health.as_ref().and_then(UnitHealth::settling);
        }
        changes.sort();
        (changes, news)
    }

    /// What there is to tell of the node.
    pub(crate) fn labels(&self, policy: &PluginPolicy, others: &OutsideCauses) -> Derived {
        labels::of(policy, &self.inventory, |id| {
            let causes = self.causes(id, others);
            (!causes.has(Cause::IdTaken)).then(|| causes.is_empty())
        })
    }

    /// What is published of a resource.
    pub(crate) fn snapshot(&self, pool: &PoolRecord, topology: Arc<Topology>, told: Option<Arc<Told>>) -> Snapshot {
        let published = pool.units.iter().map(|unit| {
            let found = self.found.get(&unit.id);
            found.map(|found| found.published.clone()).unwrap_or_default()
        });
        Snapshot { published: published.collect(), topology, told, pool: pool.clone() }
    }
}

#[cfg(test)]
mod tests;
