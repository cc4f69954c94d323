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

use crate::allocations::Memory;
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
/// The first and the longest wait before something that failed is tried again.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// The units of one plugin that pods have or may have.
pub(crate) struct Tenancy {
    tenants: Mutex<Tenants>,
    /// Counts what is done to any of them: a unit that is clean and is handed out again never has a version that it had.
    versions: AtomicU64,
    pub(crate) turns: KeyedLock<UnitId>,
    memory: Memory,
    /// Told when there is another time to do something.
    pub(crate) news: Notify,
}

#[derive(Default)]
struct Tenants {
    all: BTreeMap<UnitId, Tenant>,
    /// What failed with some of them.
    troubles: BTreeMap<UnitId, Trouble>,
    /// When pods got the first and the last of what no look was made for yet.
    unseen: Option<(Instant, Instant)>,
}

/// A unit that was handed out.
#[derive(Clone)]
pub(crate) struct Tenant {
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
struct Trouble {
    what: Failed,
    reason: Arc<str>,
    again: Instant,
    backoff: Backoff,
}

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    /// It may still have what its last container left.
    Release,
    /// It was not made ready, and no consumer has it.
    Prepare,
    /// It was not made ready for a container that has it; the kubelet tries again when it starts the container.
    Start,
}

/// A unit that consumers have or may have who never say when they are done with it; also one that no plugin lists any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
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

impl Tenancy {
    pub(crate) fn new(memory: Memory) -> Self {
        Self {
            tenants: Mutex::default(),
            versions: AtomicU64::new(0),
            turns: KeyedLock::default(),
            memory,
            news: Notify::new(),
        }
    }

    /// Takes note of units that were handed out before the host started: it is not known yet whether a pod still has them.
    pub(crate) fn meet(&self, inventory: &Inventory) {
        if self.memory.is_empty() {
            return;
        }
        let (mut tenants, mut due) = (self.tenants.lock(), false);
        for (resource, pool) in &inventory.pools {
            for unit in &pool.units {
                if tenants.all.contains_key(&unit.id) {
                    continue;
                }
                let Some(same) = self.memory.claim(resource, unit) else {
                    continue;
                };
                // Who had it is done with it, and it was not released: whatever keeps that from being done now.
                let left = self.memory.left_by(resource, &unit.id).filter(|_| same);
                if let Some(who) = left {
                    due = true;
                    let trouble = Trouble::new(Failed::Release, format!("it is not clean since {who}").into());
                    tenants.troubles.insert(unit.id.clone(), trouble);
                }
                let tenant = Tenant {
                    answers: HANDED_ON,
                    pods: self.memory.is_with_pods(resource, &unit.id),
                    elsewhere: !same,
                    ..Tenant::new(resource, pool, unit, self.version())
                };
                tenants.all.insert(unit.id.clone(), tenant);
            }
        }
        drop(tenants);
        if due {
            self.news.notify_one();
        }
    }

    /// Takes note that these units are handed out from now on, to pods or to others. `anew` if what was before is over.
    pub(crate) fn given(
        &self,
        resource: &ResourceName,
        pool: &PoolRecord,
        units: &[Arc<UnitRecord>],
        pods: bool,
        anew: bool,
    ) {
        let mut tenants = self.tenants.lock();
        for unit in units {
            let new = Tenant::new(resource, pool, unit, self.version());
            let tenant = match tenants.all.get(&unit.id) {
                Some(before) => Tenant {
                    answers: if anew { 1 } else { before.answers.saturating_add(1) },
                    pods: pods || (before.pods && !anew),
                    ..new
                },
                None => Tenant { pods, ..new },
            };
            tenants.troubles.remove(&unit.id);
            tenants.all.insert(unit.id.clone(), tenant);
        }
        let (now, before) = (Instant::now(), tenants.unseen);
        if pods {
            tenants.unseen = Some((before.map_or(now, |(first, _)| first), now));
        }
        drop(tenants);
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
        let (mut tenants, mut adopted) = (self.tenants.lock(), Vec::new());
        for unit in &snapshot.pool.units {
            if tenants.all.contains_key(&unit.id) || !is_seen(resource.as_str(), unit.id.as_str()) {
                continue;
            }
            let tenant = Tenant {
                answers: HANDED_ON,
                pods: true,
                ..Tenant::new(resource, &snapshot.pool, unit, self.version())
            };
            tenants.all.insert(unit.id.clone(), tenant);
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
        let (first, _) = self.tenants.lock().unseen?;
        Some(first + FIRST_LOOK)
    }

    /// A look begins now for who got what was handed out, but for what this is too early for.
    pub(crate) fn looks(&self) {
        let mut tenants = self.tenants.lock();
        let early = tenants.unseen.filter(|(_, last)| last.elapsed() < FIRST_LOOK);
        tenants.unseen = early.map(|(_, last)| (last, last));
    }

    /// Whether no consumer has anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.tenants.lock().all.is_empty()
    }

    /// Whether a unit was handed out and has not been released since.
    pub(crate) fn has(&self, id: &UnitId) -> bool {
        self.tenants.lock().all.contains_key(id)
    }

    /// Whether a unit was handed out once since it was clean.
    pub(crate) fn is_first(&self, id: &UnitId) -> bool {
        self.tenants
            .lock()
            .all
            .get(id)
            .is_some_and(|tenant| tenant.answers == 1)
    }

    /// The unit as it was handed out, if it was under this resource and has not been released since.
    pub(crate) fn of(&self, resource: &ResourceName, id: &UnitId) -> Option<Tenant> {
        let tenants = self.tenants.lock();
        let tenant = tenants.all.get(id).filter(|tenant| tenant.resource == *resource);
        tenant.cloned()
    }

    /// Takes note that units have other nodes than when they were handed out, which their consumers find.
    pub(crate) fn follow(&self, moved: &HashMap<UnitId, Arc<UnitRecord>>) {
        let mut tenants = self.tenants.lock();
        for (id, unit) in moved {
            if let Some(tenant) = tenants.all.get_mut(id) {
                tenant.unit = Arc::clone(unit);
            }
        }
    }

    /// Takes note that pods do not have these any more, but others do.
    pub(crate) fn left_by_pods(&self, ids: &[UnitId]) {
        let mut tenants = self.tenants.lock();
        for id in ids {
            if let Some(tenant) = tenants.all.get_mut(id) {
                tenant.pods = false;
            }
        }
    }

    /// Takes note that no consumer has these any more.
    pub(crate) fn clean(&self, ids: &[UnitId]) {
        let mut tenants = self.tenants.lock();
        for id in ids {
            tenants.all.remove(id);
            tenants.troubles.remove(id);
        }
    }

    /// Takes note that something failed; the reason is complete text for people.
    pub(crate) fn fail(&self, ids: &[UnitId], what: Failed, reason: &Arc<str>) {
        let mut tenants = self.tenants.lock();
        for id in ids {
            let Some(tenant) = tenants.all.get_mut(id) else {
                continue;
            };
            tenant.version = self.version();
            let before = tenants.troubles.remove(id).filter(|trouble| trouble.what == what);
            let mut backoff = before.map_or_else(
                || Backoff::new(FIRST_BACKOFF, LONGEST_BACKOFF),
                |trouble| trouble.backoff,
            );
            let trouble = Trouble {
                what,
                reason: Arc::clone(reason),
                again: Instant::now() + backoff.pause(),
                backoff,
            };
            tenants.troubles.insert(id.clone(), trouble);
        }
        drop(tenants);
        self.news.notify_one();
    }

    /// Takes note that these are ready after all. Whether that is news.
    pub(crate) fn succeed(&self, ids: &[UnitId]) -> bool {
        let (mut tenants, mut news) = (self.tenants.lock(), false);
        for id in ids {
            news |= tenants.troubles.remove(id).is_some();
        }
        news
    }

    /// Whether the last start of a container with it failed, and nothing else did.
    pub(crate) fn failed_to_start(&self, id: &UnitId) -> bool {
        let tenants = self.tenants.lock();
        let trouble = tenants.troubles.get(id);
        trouble.is_some_and(|trouble| trouble.what == Failed::Start)
    }

    /// Why units may not be handed out, if something failed.
    pub(crate) fn problems(&self) -> HashMap<UnitId, Arc<str>> {
        let tenants = self.tenants.lock();
        let of = |(id, trouble): (&UnitId, &Trouble)| (id.clone(), Arc::clone(&trouble.reason));
        tenants.troubles.iter().map(of).collect()
    }

    /// What pods have or may have. With `lifecycle`, what is made of something else by now does not end: it is not known what to release.
    pub(crate) fn held(&self, index: PluginIndex, lifecycle: bool) -> Vec<Held> {
        let tenants = self.tenants.lock();
        let held = |(id, tenant): (&UnitId, &Tenant)| Held {
            resource: tenant.resource.to_string(),
            id: id.to_string(),
            since: tenant.since,
            may_end: !(tenant.elsewhere && lifecycle)
                && tenants
                    .troubles
                    .get(id)
                    .is_none_or(|trouble| trouble.what == Failed::Start),
            version: Some((index, tenant.version)),
        };
        tenants.all.iter().filter(|(_, tenant)| tenant.pods).map(held).collect()
    }

    /// The unit, if nothing was done to it meanwhile.
    pub(crate) fn still(&self, id: &UnitId, version: u64) -> Option<Tenant> {
        let tenants = self.tenants.lock();
        tenants.all.get(id).filter(|tenant| tenant.version == version).cloned()
    }

    /// What failed, is free, and may be tried again now; and when the next such time is.
    pub(crate) fn to_try_again(&self) -> (Vec<UnitId>, Option<Instant>) {
        let (tenants, now) = (self.tenants.lock(), Instant::now());
        let troubles = tenants
            .troubles
            .iter()
            .filter(|(_, trouble)| trouble.what != Failed::Start);
        let (due, later): (Vec<_>, Vec<_>) = troubles.partition(|(_, trouble)| trouble.again <= now);
        let next = later.iter().map(|(_, trouble)| trouble.again).min();
        (due.into_iter().map(|(id, _)| id.clone()).collect(), next)
    }

    /// The unit and what failed, if it is still to be tried again now: under its turn.
    pub(crate) fn troubled(&self, id: &UnitId) -> Option<(Tenant, Failed)> {
        let tenants = self.tenants.lock();
        let trouble = tenants
            .troubles
            .get(id)
            .filter(|trouble| trouble.again <= Instant::now())?;
        let tenant = tenants.all.get(id).filter(|_| trouble.what != Failed::Start)?;
        Some((tenant.clone(), trouble.what))
    }
}

impl Drop for Tenancy {
    /// Who had these knows nothing of them any more: they are looked after as what no plugin lists.
    fn drop(&mut self) {
        let tenants = std::mem::take(&mut *self.tenants.lock());
        for (id, tenant) in tenants.all {
            self.memory.disclaim(&tenant.resource, &id);
        }
    }
}

impl Tenant {
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

impl Trouble {
    /// Something to be tried at once.
    fn new(what: Failed, reason: Arc<str>) -> Self {
        Self {
            what,
            reason,
            again: Instant::now(),
            backoff: Backoff::new(FIRST_BACKOFF, LONGEST_BACKOFF),
        }
    }
}
