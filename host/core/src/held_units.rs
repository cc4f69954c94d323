//! From one pod to the next: which units pods have or may have, and what must be done before another consumer gets them.
//!
//! ```text
//!            allocate (noted on disk, prepare)              seen in no container twice, and a look more
//!   clean ───────────────────────────────────► handed out ───────────────────────────────────────► release ──► clean
//!                                                   │                                                 │
//!                                                   └── allocated again: release first                └── failed: unhealthy,
//!                                                                                                         tried again
//! ```
//!
//! A unit that was handed out stays so until it is known to be free, whatever else happens: the API has no call for the end of
//! an allocation, and what is taken for free by mistake is taken from under a running pod.

use crate::allocations::Allocations;
use crate::backoff::Backoff;
use crate::inventory::Inventory;
use crate::keyed_lock::KeyedLock;
use crate::ledger::PluginIndex;
use crate::unit_table::Snapshot;
use crate::units::{PoolRecord, UnitRecord};
use devgate_types::{Mutex, ResourceName, UnitId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long after an allocation its pod is looked for.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// Allocations of what was given before it was known: it counts as handed on.
const HANDED_ON: u32 = 2;

/// The units of one plugin that pods have or may have.
pub(crate) struct HeldUnits {
    state: Mutex<State>,
    /// Counts what is done to any of them: a unit that is clean and is handed out again never has a version that it had.
    versions: AtomicU64,
    pub(crate) locks: KeyedLock<UnitId>,
    allocations: Allocations,
    /// Told when there is another time to do something.
    pub(crate) news: Notify,
}

#[derive(Default)]
struct State {
    all: BTreeMap<UnitId, HeldUnit>,
    /// What failed with some of them.
    failures: BTreeMap<UnitId, LifecycleFailure>,
    /// When pods got the first and the last of what no look was made for yet.
    unseen: Option<(Instant, Instant)>,
}

/// A unit that was handed out.
#[derive(Clone)]
pub(crate) struct HeldUnit {
    pub(crate) resource: ResourceName,
    /// The component's own name of the resource.
    pub(crate) asked: ResourceName,
    pub(crate) unit: Arc<UnitRecord>,
    /// When it was handed out last; when that became known, if it was before.
    since: Instant,
    /// When something was done to it last, so that who looked at it before notices.
    version: u64,
    /// Allocations of it since it was clean: more than one where a container hands it on to the next.
    answers: u32,
    /// Whether pods have it: that is found out. Others say themselves that they are done with it.
    pods: bool,
    /// Whether it is made of something else than when it was handed out: then it is not known what to release.
    elsewhere: bool,
}

/// Something that failed, and is tried again.
struct LifecycleFailure {
    what: LifecycleCall,
    reason: Arc<str>,
    again: Instant,
    backoff: Backoff,
}

/// What a component does with a unit before it is given, and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LifecycleCall {
    /// Where it fails, the unit may still have what its last container left.
    Release,
    /// Where it fails, the unit is not ready, and no consumer has it.
    Prepare,
    /// `prepare` before a container starts that has the unit; where it fails, the kubelet tries again when it starts the container.
    Start,
}

/// A unit that consumers have or may have who never say when they are done with it; also one that no plugin lists any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reclaimable {
    /// The resource that it was offered as.
    pub(crate) resource: String,
    /// Its id, without replicas' numbers.
    pub(crate) id: String,
    /// When it was given last; when that became known, if it was before.
    pub(crate) since: Instant,
    /// Whether it can be given back at all now: not where a component would have to release what cannot be named, nor where that failed
    /// and has its own time.
    pub(crate) may_end: bool,
    /// The plugin that looks after it, if one does, and what it was when this was read.
    pub(crate) version: Option<(PluginIndex, u64)>,
}

impl HeldUnits {
    pub(crate) fn new(allocations: Allocations) -> Self {
        Self {
            state: Mutex::default(),
            versions: AtomicU64::new(0),
            locks: KeyedLock::default(),
            allocations,
            news: Notify::new(),
        }
    }

    /// Takes note of units that were handed out before the host started: it is not known yet whether a pod still has them.
    pub(crate) fn restore(&self, inventory: &Inventory) {
        if self.allocations.is_empty() {
            return;
        }
        let (mut state, mut due) = (self.state.lock(), false);
        for (resource, pool, unit) in inventory.all() {
            if state.all.contains_key(&unit.id) {
                continue;
            }
            let Some(same) = self.allocations.claim(resource, unit) else {
                continue;
            };
            // Who had it is done with it, and it was not released: whatever keeps that from being done now.
            let left = self.allocations.left_by(resource, &unit.id).filter(|_| same);
            if let Some(who) = left {
                due = true;
                let reason = format!("it is not clean since {who}").into();
                state.failures.insert(unit.id.clone(), LifecycleFailure::new(LifecycleCall::Release, reason));
            }
            let held = HeldUnit {
                answers: HANDED_ON,
                pods: self.allocations.is_with_pods(resource, &unit.id),
                elsewhere: !same,
                ..HeldUnit::new(resource, pool, unit, self.version())
            };
            state.all.insert(unit.id.clone(), held);
        }
        drop(state);
        if due {
            self.news.notify_one();
        }
    }

    /// Takes note that these units are handed out from now on, to pods or to others. `anew` if what was before is over.
    pub(crate) fn record_given(
        &self,
        resource: &ResourceName,
        pool: &PoolRecord,
        units: &[Arc<UnitRecord>],
        pods: bool,
        anew: bool,
    ) {
        let mut state = self.state.lock();
        for unit in units {
            let new = HeldUnit::new(resource, pool, unit, self.version());
            let held = match state.all.get(&unit.id) {
                Some(before) => HeldUnit {
                    answers: if anew { 1 } else { before.answers.saturating_add(1) },
                    pods: pods || (before.pods && !anew),
                    ..new
                },
                None => HeldUnit { pods, ..new },
            };
            state.failures.remove(&unit.id);
            state.all.insert(unit.id.clone(), held);
        }
        let (now, before) = (Instant::now(), state.unseen);
        if pods {
            state.unseen = Some((before.map_or(now, |(first, _)| first), now));
        }
        drop(state);
        if pods && before.is_none() {
            self.news.notify_one();
        }
    }

    /// Takes note of units that pods are seen to have and that were not known to be handed out: the memory was lost, or the look that took
    /// them for free did not see every pod. Returns them.
    pub(crate) fn adopt(
        &self,
        resource: &ResourceName,
        snapshot: &Snapshot,
        is_seen: &dyn Fn(&str, &str) -> bool,
    ) -> Vec<Arc<UnitRecord>> {
        let (mut state, mut adopted) = (self.state.lock(), Vec::new());
        for unit in &snapshot.pool.units {
            if state.all.contains_key(&unit.id) || !is_seen(resource.as_str(), unit.id.as_str()) {
                continue;
            }
            let held = HeldUnit {
                answers: HANDED_ON,
                pods: true,
                ..HeldUnit::new(resource, &snapshot.pool, unit, self.version())
            };
            state.all.insert(unit.id.clone(), held);
            adopted.push(Arc::clone(unit));
        }
        adopted
    }

    /// The next version of a unit.
    fn version(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::Relaxed)
    }

    /// When to look for who got what was handed out, if no look was made since: a pod that runs for seconds must be seen once, so that its
    /// end is.
    pub(crate) fn first_look(&self) -> Option<Instant> {
        let (first, _) = self.state.lock().unseen?;
        Some(first + FIRST_LOOK)
    }

    /// A look begins now for who got what was handed out, but for what this is too early for.
    pub(crate) fn record_look(&self) {
        let mut state = self.state.lock();
        let early = state.unseen.filter(|(_, last)| last.elapsed() < FIRST_LOOK);
        state.unseen = early.map(|(_, last)| (last, last));
    }

    /// The plugin knows nothing of these any more: they are looked after as what no plugin lists, until one does again.
    pub(crate) fn disclaim_all(&self) {
        let state = std::mem::take(&mut *self.state.lock());
        for (id, held) in state.all {
            self.allocations.disclaim(&held.resource, &id);
        }
    }

    /// All of them.
    pub(crate) fn ids(&self) -> Vec<UnitId> {
        self.state.lock().all.keys().cloned().collect()
    }

    /// Whether a unit was handed out and has not been released since.
    pub(crate) fn has(&self, id: &UnitId) -> bool {
        self.state.lock().all.contains_key(id)
    }

    /// Whether a unit was handed out once since it was clean.
    pub(crate) fn is_first(&self, id: &UnitId) -> bool {
        self.state.lock().all.get(id).is_some_and(|held| held.answers == 1)
    }

    /// The unit as it was handed out, if it was under this resource and has not been released since.
    pub(crate) fn get(&self, resource: &ResourceName, id: &UnitId) -> Option<HeldUnit> {
        let state = self.state.lock();
        let held = state.all.get(id).filter(|held| held.resource == *resource);
        held.cloned()
    }

    /// Takes note that units have other nodes than when they were handed out, which their consumers find.
    pub(crate) fn follow(&self, moved: &HashMap<UnitId, Arc<UnitRecord>>) {
        let mut state = self.state.lock();
        for (id, unit) in moved {
            if let Some(held) = state.all.get_mut(id) {
                held.unit = Arc::clone(unit);
            }
        }
    }

    /// Takes note that pods do not have these any more, but others do.
    pub(crate) fn record_left_by_pods(&self, ids: &[UnitId]) {
        let mut state = self.state.lock();
        for id in ids {
            if let Some(held) = state.all.get_mut(id) {
                held.pods = false;
            }
        }
    }

    /// Takes note that no consumer has these any more.
    pub(crate) fn record_clean(&self, ids: &[UnitId]) {
        let mut state = self.state.lock();
        for id in ids {
            state.all.remove(id);
            state.failures.remove(id);
        }
    }

    /// Takes note that something failed; the reason is complete text for people.
    pub(crate) fn record_failure(&self, ids: &[UnitId], what: LifecycleCall, reason: &Arc<str>) {
        let mut state = self.state.lock();
        for id in ids {
            let Some(held) = state.all.get_mut(id) else {
                continue;
            };
            held.version = self.version();
            let before = state.failures.remove(id).filter(|failure| failure.what == what);
            let mut failure = before.unwrap_or_else(|| LifecycleFailure::new(what, Arc::clone(reason)));
            failure.reason = Arc::clone(reason);
            failure.again = Instant::now() + failure.backoff.pause();
            state.failures.insert(id.clone(), failure);
        }
        drop(state);
        self.news.notify_one();
    }

    /// Takes note that these are ready after all. Whether that is news.
    pub(crate) fn record_success(&self, ids: &[UnitId]) -> bool {
        let (mut state, mut news) = (self.state.lock(), false);
        for id in ids {
            news |= state.failures.remove(id).is_some();
        }
        news
    }

    /// Whether the last start of a container with it failed, and nothing else did.
    pub(crate) fn failed_to_start(&self, id: &UnitId) -> bool {
        let state = self.state.lock();
        let failure = state.failures.get(id);
        failure.is_some_and(|failure| failure.what == LifecycleCall::Start)
    }

    /// Why units may not be handed out, if something failed.
    pub(crate) fn problems(&self) -> HashMap<UnitId, Arc<str>> {
        let state = self.state.lock();
        let of = |(id, failure): (&UnitId, &LifecycleFailure)| (id.clone(), Arc::clone(&failure.reason));
        state.failures.iter().map(of).collect()
    }

    /// What pods have or may have. With `lifecycle`, what is made of something else by now does not end: it is not known what to release.
    pub(crate) fn held(&self, index: PluginIndex, lifecycle: bool) -> Vec<Reclaimable> {
        let state = self.state.lock();
        let held = |(id, held): (&UnitId, &HeldUnit)| Reclaimable {
            resource: held.resource.to_string(),
            id: id.to_string(),
            since: held.since,
            may_end: !(held.elsewhere && lifecycle)
                && state.failures.get(id).is_none_or(|failure| failure.what == LifecycleCall::Start),
            version: Some((index, held.version)),
        };
        state.all.iter().filter(|(_, held)| held.pods).map(held).collect()
    }

    /// The unit, if nothing was done to it meanwhile.
    pub(crate) fn get_version(&self, id: &UnitId, version: u64) -> Option<HeldUnit> {
        let state = self.state.lock();
        state.all.get(id).filter(|held| held.version == version).cloned()
    }

    /// What failed, is free, and may be tried again now; and when the next such time is.
    pub(crate) fn due_retries(&self) -> (Vec<UnitId>, Option<Instant>) {
        let (state, now) = (self.state.lock(), Instant::now());
        let failures = state.failures.iter().filter(|(_, failure)| failure.what != LifecycleCall::Start);
        let (due, later): (Vec<_>, Vec<_>) = failures.partition(|(_, failure)| failure.again <= now);
        let next = later.iter().map(|(_, failure)| failure.again).min();
        (due.into_iter().map(|(id, _)| id.clone()).collect(), next)
    }

    /// The unit and what failed, if it is still to be tried again now: under its turn.
    pub(crate) fn failed_call(&self, id: &UnitId) -> Option<(HeldUnit, LifecycleCall)> {
        let state = self.state.lock();
        let failure = state.failures.get(id).filter(|failure| failure.again <= Instant::now())?;
        let held = state.all.get(id).filter(|_| failure.what != LifecycleCall::Start)?;
        Some((held.clone(), failure.what))
    }
}

impl HeldUnit {
    fn new(resource: &ResourceName, pool: &PoolRecord, unit: &Arc<UnitRecord>, version: u64) -> Self {
        Self {
            resource: resource.clone(),
            asked: pool.asked(resource).clone(),
            unit: Arc::clone(unit),
            since: Instant::now(),
            version,
            answers: 1,
            pods: false,
            elsewhere: false,
        }
    }
}

impl LifecycleFailure {
    /// Something to be tried at once.
    fn new(what: LifecycleCall, reason: Arc<str>) -> Self {
        Self { what, reason, again: Instant::now(), backoff: Backoff::default() }
    }
}
