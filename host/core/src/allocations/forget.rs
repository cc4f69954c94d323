//! Forgetting what no pod has any more.

use super::allocation::{Allocation, AllocationId};
use super::change::{Change, Release};
use super::consumer::Consumer;
use super::{Allocations, Key, Known, key};
use crate::device_info::Files;
use crate::units::UnitRecord;
use devgate_types::{ResourceName, UnitId};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::MutexGuard;
use tokio::sync::watch;

impl Allocations {
    /// Whether nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().book.contents().len() == 0
    }

    /// A plugin looks after this unit from now on, if it was handed out: the answer is whether it is made of the same devices
    /// as then.
    pub(crate) fn claim(&self, resource: &ResourceName, unit: &UnitRecord) -> Option<bool> {
        let (mut known, key) = (self.lock(), key(resource, unit));
        let same = known.book.contents().record(&key)?.has_same_backing(unit);
        known.claimed.insert(key);
        Some(same)
    }

    /// No plugin looks after this id any more.
    pub(crate) fn disclaim(&self, resource: &ResourceName, id: &UnitId) {
        self.lock().claimed.remove(&(resource.to_string(), id.to_string()));
    }

    /// The ids that no plugin looks after, but for those that a component has to release; also those that nothing but a file
    /// for a meta network plugin tells of.
    pub(crate) fn unclaimed(&self) -> Vec<Key> {
        let known = self.lock();
        let records = known.book.contents().records();
        let is_pods = |key: &Key| known.book.contents().who_has(key).all(|(_, of)| of.consumer == Consumer::Pods);
        let unclaimed = records.filter(|(key, unit)| !unit.unreleased && !known.claimed.contains(*key) && is_pods(key));
        let mut unclaimed: BTreeSet<Key> = unclaimed.map(|(key, _)| key.clone()).collect();
        let told = self.files().map(Files::of_before).unwrap_or_default();
        let is_known = |key: &Key| known.book.contents().record(key).is_some() || known.claimed.contains(key);
        unclaimed.extend(told.into_iter().filter(|key| !is_known(key)));
        unclaimed.into_iter().collect()
    }

    /// Forgets that pods have ids of a resource, and that consumers left them. Saved in the background: what is forgotten twice does no harm.
    pub(crate) fn forget(&self, resource: &ResourceName, ids: &[UnitId]) {
        let keys = ids.iter().map(|id| (resource.to_string(), id.to_string()));
        self.forget_all(self.lock(), &keys.collect());
    }

    /// Forgets ids that no plugin has claimed since.
    pub(crate) fn forget_unclaimed(&self, keys: &[Key]) {
        let known = self.lock();
        let keys = keys.iter().filter(|key| !known.claimed.contains(*key)).cloned().collect();
        self.forget_all(known, &keys);
    }

    fn forget_all(&self, mut known: MutexGuard<'_, Known>, keys: &HashSet<Key>) {
        let forgotten = known.forget(keys);
        if let Some(files) = self.files() {
            // What a lease has a replica of keeps its files until that is over, too.
            let free = keys.iter().filter(|key| known.book.contents().who_has(key).next().is_none());
            files.forget(free.map(|(resource, id)| (resource.as_str(), id.as_str())));
        }
        drop(known);
        if forgotten {
            self.changed();
            self.save_soon();
        }
    }

    /// To be told when something was forgotten.
    pub(crate) fn forgotten(&self) -> watch::Receiver<u64> {
        self.0.forgotten.subscribe()
    }

    /// How often something was forgotten.
    pub(crate) fn times_forgotten(&self) -> u64 {
        *self.0.forgotten.borrow()
    }
}

impl Known {
    /// Whether there was anything to forget.
    pub(super) fn forget(&mut self, keys: &HashSet<Key>) -> bool {
        let mut over = BTreeMap::<AllocationId, BTreeSet<String>>::new();
        for key in keys {
            let over_with = |of: &Allocation| of.consumer == Consumer::Pods || !of.ask.is_live();
            let all = self.book.contents().who_has(key);
            for (id, _) in all.filter(|(_, of)| over_with(of)) {
                over.entry(id).or_default().insert(key.1.clone());
            }
        }
        let any = !over.is_empty();
        for (allocation, units) in over {
            let units = Some(units);
            self.book.note(&Change::Release(Release { allocation, units }));
        }
        for key in keys.iter().filter(|key| self.book.contents().record(key).is_none()) {
            self.claimed.remove(key);
            self.past.forget(key);
        }
        any
    }
}
