//! From what is known about every unit to what front ends are told.

use super::Plugin;
use crate::allocations::TakenBy;
use crate::claims::Lost;
use crate::health::UnitHealth;
use crate::labels;
use crate::offer::{Device, DeviceList};
use crate::replica::replica_ids;
use crate::resource::{Resource, take};
use crate::units::Layout;
use crate::units::PoolRecord;
use crate::units::Snapshot;
use devgate_policy::Derived;
use devgate_types::UnitId;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Devices whose health is logged one by one when it changes; more at once are counted.
const LOGGED_AT_ONCE: usize = 16;
/// How long nothing is offered while it is not known what pods have: the kubelet tells at once, if it is there.
const LEARN_PATIENCE: Duration = Duration::from_secs(2);

impl Plugin {
    /// Offers what there is now, once the first enumeration and health check have succeeded. Returns whether it did: not as long as
    /// the plugins before this one in the policy may have some of it.
    #[tracing::instrument(name = "core.publish", level = "trace", skip_all)]
    pub(super) fn publish(&mut self) -> bool {
        let core = Arc::clone(&self.core);
        if !self.is_its_turn() || (self.resources.is_empty() && (self.failing.is_some() || self.is_learning())) {
            return false;
        }
        // First: what is known by now is compared with what there is then.
        let closed = self.core.memory.trouble();
        self.follow_memory();
        let outcomes = self.outcomes(closed.as_ref());
        self.log_outcomes(&outcomes);
        let settling = |(id, health): (&UnitId, &UnitHealth)| Some((id.clone(), health.settling()?));
        core.board.settles(self.health.iter().filter_map(settling));
        let lost = core.ledger.lost(core.place);
        for (name, pool) in &self.inventory.pools {
            let known = self.resources.get(name);
            let mut snapshot = Snapshot {
                pool: pool.clone(),
                units: HashMap::with_capacity(pool.units.len()),
                layout: layout(known, pool),
                unlisted: self.unlisted(pool),
            };
            let taken = core.memory.taken_by_others(name);
            let mut list = DeviceList::default();
            for (n, unit) in pool.units.iter().enumerate() {
                let unhealthy = outcomes.get(&unit.id).cloned().flatten();
                if !lost.get(&unit.id).is_some_and(|lost| lost.id_taken) {
                    let (taken, replicas) = (taken.get(unit.id.as_str()), self.policy().replicas);
                    list.devices.extend(replica_ids(&unit.id, replicas).map(|id| Device {
                        unhealthy: unhealthy.clone().or_else(|| in_use(taken, &id, replicas)),
                        id,
                        numa_nodes: unit.numa_nodes.clone(),
                    }));
                }
                snapshot.units.insert(unit.id.clone(), (n, unhealthy));
            }
            list.devices.sort_by(|a, b| a.id.cmp(&b.id));
            let resource = known
                .cloned()
                .unwrap_or_else(|| Arc::new(Resource::new(Arc::clone(&core), name.clone())));
            let snapshot = Arc::new(snapshot);
            // First, so that who has the list and asks for the status is told of the same.
            core.board.shows(name, Arc::clone(&snapshot));
            resource.publish(snapshot, list);
            // Another plugin may have offered it in between; the policy lets only one.
            if known.is_none() || (self.policy().grants_resource(name) && !self.shared.registry.has(core.place, name)) {
                self.resources.insert(name.clone(), Arc::clone(&resource));
                self.shared.registry.add(core.place, name, resource);
            }
        }
        core.board.shows_only(|name| self.resources.contains_key(name));
        self.label(&outcomes, &lost);
        self.shown = outcomes;
        true
    }

    /// Tells what there is to tell of the node, where it may be something else: while the list stands, and with it what its component
    /// said of the units.
    fn label(&mut self, outcomes: &HashMap<UnitId, Option<Arc<str>>>, lost: &HashMap<UnitId, Lost>) {
        if self.policy().labels.is_empty() || (!self.relabel && self.shown == *outcomes) {
            return;
        }
        self.relabel = false;
        let derived = if self.is_stale() {
            Derived::default()
        } else {
            labels::of(self.policy(), &self.inventory, |id| {
                let hidden = lost.get(id).is_some_and(|lost| lost.id_taken);
                (!hidden).then(|| matches!(outcomes.get(id), Some(None)))
            })
        };
        self.shared.labels.tells(&self.policy().name, derived);
    }

    /// Whether it has failed for so long that its list does not stand any more.
    fn is_stale(&self) -> bool {
        let stale_after = self.policy().health.stale_after;
        self.failing.as_ref().is_some_and(|f| f.since.elapsed() >= stale_after)
    }

    /// What was forgotten does not stand against anybody any more.
    fn follow_memory(&mut self) {
        let forgotten = self.core.memory.times_forgotten();
        if std::mem::replace(&mut self.forgotten, forgotten) != forgotten {
            self.complete();
            self.core.tenancy.meet(&self.inventory);
            let (policy, memory) = (Arc::clone(self.policy()), &self.core.memory);
            self.drifted = self.inventory.drifted(&policy, memory);
            let claims = self.inventory.claims(&policy, memory);
            self.core.ledger.report(self.core.place, claims);
        }
    }

    /// Says what ids are made of that only the kubelet knows of.
    pub(super) fn complete(&self) {
        let lifecycle = self.calls.has_lifecycle();
        self.core.memory.complete(&self.inventory, self.policy(), lifecycle);
    }

    /// Whether it may be known in a moment what pods have: then nothing has to be offered as unhealthy before.
    fn is_learning(&self) -> bool {
        self.shared.born.elapsed() < LEARN_PATIENCE && self.core.memory.trouble().is_some()
    }

    /// Why each unit may not be handed out, if so: what is certain before what was said.
    /// `closed` is why nothing is given that nobody has, if so.
    pub(super) fn outcomes(&self, closed: Option<&Arc<str>>) -> HashMap<UnitId, Option<Arc<str>>> {
        let (lost, tenancy) = (self.core.ledger.lost(self.core.place), self.core.tenancy.problems());
        let stale = self.failing.as_ref().filter(|_| self.is_stale());
        let resting = self.core.breaker.problems(Instant::now());
        // What pods have they keep.
        let closed_to = |id: &UnitId| closed.filter(|_| !self.core.tenancy.has(id));
        let why = |id: &UnitId| {
            let host = lost
                .get(id)
                .map(|lost| &lost.reason)
                .or_else(|| self.problems.get(id))
                .or_else(|| self.strayed.get(id).map(|strayed| &strayed.why))
                .or_else(|| self.drifted.get(id))
                .or_else(|| tenancy.get(id))
                .or_else(|| closed_to(id));
            match host.or(stale.map(|failing| &failing.reason)) {
                Some(reason) => Some(Arc::clone(reason)),
                None => {
                    let health = self.health.get(id);
                    let unhealthy = health.map_or_else(|| Some("not found healthy yet".into()), UnitHealth::unhealthy);
                    // What is wrong with the hardware says more than that a selector does not match it any more.
                    let unhealthy = unhealthy.or_else(|| self.inventory.withdrawn.get(id).cloned());
                    unhealthy.or_else(|| resting.get(id).cloned())
                }
            }
        };
        self.inventory
            .units()
            .map(|unit| (unit.id.clone(), why(&unit.id)))
            .collect()
    }

    /// The units of a pool that are in it for their pods alone.
    fn unlisted(&self, pool: &PoolRecord) -> BTreeSet<UnitId> {
        let ids = pool.units.iter().map(|unit| &unit.id);
        ids.filter(|id| self.strayed.get(*id).is_some_and(|strayed| !strayed.listed))
            .cloned()
            .collect()
    }

    /// One line for each device whose health is another than it was, and a count where there are many.
    fn log_outcomes(&self, outcomes: &HashMap<UnitId, Option<Arc<str>>>) {
        let name = self.policy().name.as_str();
        let mut changed: Vec<_> = outcomes
            .iter()
            .filter(|(id, now)| match self.shown.get(*id) {
                Some(before) => before.is_some() != now.is_some(),
                None => now.is_some(),
            })
            .collect();
        if !changed.is_empty() {
            // What was unhealthy before the host started has been so since then.
            let since = |id: &UnitId| self.health.get(id)?.ailment().map(|(_, since)| since);
            let ids = changed.iter().map(|(id, _)| (*id, since(id)));
            self.core.board.health_changed(ids, |id| outcomes.contains_key(id));
        }
        changed.sort();
        for (id, unhealthy) in changed.iter().take(LOGGED_AT_ONCE) {
            match unhealthy {
                None => tracing::info!(plugin = name, device = %id, "plugin {name}: device {id} is healthy again"),
                Some(why) => {
                    tracing::warn!(plugin = name, device = %id, "plugin {name}: device {id} is unhealthy: {why}")
                }
            }
        }
        if let Some(more) = changed.len().checked_sub(LOGGED_AT_ONCE).filter(|more| *more > 0) {
            tracing::warn!(
                plugin = name,
                more,
                "plugin {name}: the health of {more} more devices changed"
            );
        }
    }
}

/// Why an id is not for pods, where it is somebody else's who says himself when he is done with it.
fn in_use(taken: Option<&Vec<TakenBy>>, id: &str, replicas: u32) -> Option<Arc<str>> {
    let (taken, wanted) = (taken?, take(id, None, replicas)?);
    let by = taken.iter().find(|by| by.take.excludes(&wanted))?;
    Some(format!("it is in use by {}", by.who).into())
}

/// Where a pool's units are: what is known already, unless they are others now.
fn layout(known: Option<&Arc<Resource>>, pool: &PoolRecord) -> Arc<Layout> {
    match known.map(|resource| resource.snapshot()) {
        Some(before) if before.pool.units == pool.units => Arc::clone(&before.layout),
        _ => Arc::new(Layout::of(&pool.units)),
    }
}
