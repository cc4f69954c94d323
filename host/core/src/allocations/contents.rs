//! All that is allocated: the sum of a journal's entries.

use super::allocation::{Allocation, AllocationId, Ask, Mode, State, Take};
use super::change::{Acquire, Amend, Change, Commit, Dirty, Release, with};
use super::consumer::Consumer;
use super::foreign::Foreign;
use super::journal::Kind;
use super::record::AllocatedUnit;
use super::{Key, StoredReply, Unverified, is_default};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is allocated. A clone shares the records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    allocations: BTreeMap<AllocationId, Arc<Allocation>>,
    units: BTreeMap<Key, Unit>,
    /// Those that are not pods'.
    others: BTreeSet<AllocationId>,
    /// Those of pods that were told a name, and look up what it means.
    named: BTreeSet<AllocationId>,
    /// What is released before it is given again.
    unverified: Unverified,
    /// What a newer host wrote and this one cannot say itself.
    foreign: Foreign,
    /// The first id that no allocation has had.
    next: u64,
}

/// A unit that a consumer has.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unit {
    record: Arc<AllocatedUnit>,
    by: BTreeSet<AllocationId>,
}

impl Contents {
    /// The next entries' sum. Fails where an entry cannot be understood; what can be of it counts.
    pub(super) fn add(&mut self, kind: Kind, bytes: &[u8]) -> Result<(), serde_json::Error> {
        match Change::of_entry(kind, bytes) {
            Ok(Some(change)) => self.apply(&change),
            Ok(None) => self.foreign.keep(kind, bytes),
            Err(error) => return self.take_in_foreign(kind, bytes).ok_or(error),
        }
        Ok(())
    }

    /// One step further.
    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::Acquire(acquire) => self.acquire(acquire),
            Change::Commit(Commit { allocations, state, replies }) => {
                for id in allocations {
                    if let Some(allocation) = self.allocations.get_mut(id).map(Arc::make_mut) {
                        let ask = &mut allocation.ask;
                        ask.state = *state;
                        ask.reply = replies.get(id).cloned().or_else(|| ask.reply.take());
                        if allocation.consumer == Consumer::Pods && ask.reply.is_some() {
                            self.named.insert(*id);
                        }
                    }
                }
            }
            Change::Amend(Amend { units, expires }) => {
                self.amend(units);
                for (id, expires) in expires {
                    if let Some(allocation) = self.allocations.get_mut(id) {
                        Arc::make_mut(allocation).ask.expires.clone_from(expires);
                    }
                }
            }
            Change::Release(Release { allocation, units }) => self.release(*allocation, units.as_ref()),
            Change::Dirty(Dirty::Is(unverified)) => self.unverified = unverified.clone(),
            Change::Dirty(Dirty::Away(ids)) => self.unverified.released(ids, false),
            Change::Clean(ids) => self.unverified.released(ids, true),
        }
    }

    fn acquire(&mut self, Acquire { consumer, allocations, units }: &Acquire) {
        self.amend(units);
        for (id, ask) in allocations {
            self.next = self.next.max(id.0.saturating_add(1));
            if ask.mode == Mode::Hold {
                for key in ask.keys() {
                    self.units.entry(key).or_insert_with(Unit::bare).by.insert(*id);
                }
            }
            if *consumer != Consumer::Pods {
                self.others.insert(*id);
            } else if ask.reply.is_some() {
                self.named.insert(*id);
            }
            let (consumer, ask) = (consumer.clone(), ask.clone());
            self.allocations.insert(*id, Arc::new(Allocation { consumer, ask }));
        }
        let amended = units.iter().flat_map(|(resource, ids)| ids.keys().map(move |id| (resource, id)));
        for (resource, id) in amended {
            self.drop_if_free(&(resource.clone(), id.clone()));
        }
    }

    fn amend(&mut self, units: &super::change::Units) {
        for (resource, ids) in units {
            for (id, record) in ids {
                let record = Arc::new(record.clone());
                let unit = self.units.entry((resource.clone(), id.clone())).or_insert_with(Unit::bare);
                unit.record = record;
            }
        }
    }

    fn release(&mut self, id: AllocationId, some: Option<&BTreeSet<String>>) {
        let Some(allocation) = self.allocations.remove(&id) else {
            return;
        };
        // Its beginning is kept as a newer host wrote it: without its end it would be there again with the next snapshot.
        if self.foreign.has(id) {
            let units = some.cloned();
            let (kind, bytes) = Change::Release(Release { allocation: id, units }).to_entry();
            self.foreign.keep(kind, &bytes);
        }
        self.others.remove(&id);
        self.named.remove(&id);
        let mut allocation = Arc::unwrap_or_clone(allocation);
        let (over, left): (BTreeSet<_>, BTreeSet<_>) = std::mem::take(&mut allocation.ask.take)
            .into_iter()
            .partition(|take| some.is_none_or(|some| some.contains(&take.unit)));
        let key = |take: &Take| (allocation.ask.resource.clone(), take.unit.clone());
        over.iter().for_each(|take| self.let_go(&key(take), id));
        // What is left of one may be what another one has as well: two answers to one container after the other.
        let covered = |(_, other): (AllocationId, &Arc<Allocation>)| {
            let (ask, theirs) = (&allocation.ask, &other.ask);
            other.consumer == Consumer::Pods && theirs.resource == ask.resource && theirs.take.is_superset(&left)
        };
        let first = left.first().map(key);
        let is_covered =
            allocation.consumer == Consumer::Pods && first.is_some_and(|first| self.who_has(&first).any(covered));
        if left.is_empty() || is_covered {
            left.iter().for_each(|take| self.let_go(&key(take), id));
            return;
        }
        allocation.ask.take = left;
        match allocation.consumer {
            // The pod that had all of it is done; another may have what is left.
            Consumer::Pods => allocation.ask.reply = None,
            _ => drop(self.others.insert(id)),
        }
        self.allocations.insert(id, Arc::new(allocation));
    }

    fn let_go(&mut self, key: &Key, id: AllocationId) {
        if let Some(unit) = self.units.get_mut(key) {
            unit.by.remove(&id);
        }
        self.drop_if_free(key);
    }

    fn drop_if_free(&mut self, key: &Key) {
        if self.units.get(key).is_some_and(|unit| unit.by.is_empty()) {
            self.units.remove(key);
        }
    }

    /// What a newer host's allocations have stays held, as its entries say it.
    fn take_in_foreign(&mut self, kind: Kind, bytes: &[u8]) -> Option<()> {
        let (consumer, allocations, units) = self.foreign.keep_acquire(kind, bytes)?;
        self.acquire(&Acquire { consumer, allocations, units });
        Some(())
    }

    /// An id that no allocation has had.
    pub(super) fn new_id(&mut self) -> AllocationId {
        let id = AllocationId(self.next);
        self.next = self.next.saturating_add(1);
        id
    }

    /// The first id that no allocation has had.
    pub(super) const fn next_id(&self) -> u64 {
        self.next
    }

    /// Ids below this one were used.
    pub(super) fn never_below(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    /// It is not known any more what was given to whom: everything is released before it is given.
    pub(super) fn doubt_all(&mut self) {
        self.unverified = Unverified::of_all();
    }

    /// What a unit that a consumer has is made of.
    pub(super) fn record(&self, key: &Key) -> Option<&Arc<AllocatedUnit>> {
        self.units.get(key).map(|unit| &unit.record)
    }

    /// All units that consumers have.
    pub(super) fn records(&self) -> impl Iterator<Item = (&Key, &Arc<AllocatedUnit>)> {
        self.units.iter().map(|(key, unit)| (key, &unit.record))
    }

    /// How many units consumers have.
    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    /// What is released before it is given again.
    pub(super) const fn unverified(&self) -> &Unverified {
        &self.unverified
    }

    /// One allocation.
    pub(super) fn allocation(&self, id: AllocationId) -> Option<&Arc<Allocation>> {
        self.allocations.get(&id)
    }

    /// All of them, oldest first.
    pub(super) fn allocations(&self) -> impl Iterator<Item = (AllocationId, &Arc<Allocation>)> {
        self.allocations.iter().map(|(id, allocation)| (*id, allocation))
    }

    /// Those that are not pods', oldest first.
    pub(super) fn others(&self) -> impl Iterator<Item = (AllocationId, &Arc<Allocation>)> {
        let ids = self.others.iter();
        ids.filter_map(|id| Some((*id, self.allocations.get(id)?)))
    }

    /// Those of pods that look up what they have, oldest first.
    pub(super) fn named(&self) -> impl Iterator<Item = (AllocationId, &Arc<Allocation>)> {
        let ids = self.named.iter();
        ids.filter_map(|id| Some((*id, self.allocations.get(id)?)))
    }

    /// The allocations that have a unit.
    pub(super) fn who_has(&self, key: &Key) -> impl Iterator<Item = (AllocationId, &Arc<Allocation>)> {
        let ids = self.units.get(key).into_iter().flat_map(|unit| &unit.by);
        ids.filter_map(|id| Some((*id, self.allocations.get(id)?)))
    }

    /// The allocation of this consumer that has just this, and keeps what it was told as this would.
    pub(super) fn same(&self, consumer: &Consumer, ask: &Ask) -> Option<AllocationId> {
        let key = ask.keys().next()?;
        let is_same = |of: &Allocation| {
            of.consumer == *consumer
                && (&of.ask.resource, &of.ask.take, of.ask.mode) == (&ask.resource, &ask.take, ask.mode)
                && of.ask.reply.is_some() == ask.reply.is_some()
        };
        self.who_has(&key).find(|(_, of)| is_same(of)).map(|(id, _)| id)
    }

    /// Whether the consumer of an allocation was told something else until now, or nothing.
    pub(super) fn is_told_otherwise(&self, id: AllocationId, reply: &StoredReply) -> bool {
        let of = self.allocations.get(&id);
        of.is_some_and(|of| of.ask.state != State::Active || of.ask.reply.as_ref() != Some(reply))
    }

    /// Whether pods would have something by this that none has.
    pub(super) fn is_news_to_pods(&self, ask: &Ask) -> bool {
        let has = |take: &Take| {
            let key = (ask.resource.clone(), take.unit.clone());
            let mut pods = self.who_has(&key).filter(|(_, of)| of.consumer == Consumer::Pods);
            pods.any(|(_, of)| of.ask.take.iter().any(|other| other.unit == take.unit))
        };
        !ask.take.iter().all(has)
    }

    /// Entries whose sum this is.
    pub(super) fn entries(&self) -> Vec<(Kind, Vec<u8>)> {
        let mut entries: Vec<_> = self.foreign.entries().collect();
        for (id, allocation) in self.allocations.iter().filter(|(id, _)| !self.foreign.has(**id)) {
            let mut units = BTreeMap::new();
            for key in allocation.ask.keys() {
                // Each record once: with the first allocation that has it.
                let unit = self.units.get(&key).filter(|unit| unit.by.first() == Some(id));
                if let Some(unit) = unit {
                    with(&key, (*unit.record).clone(), &mut units);
                }
            }
            let acquire = Acquire {
                consumer: allocation.consumer.clone(),
                allocations: BTreeMap::from([(*id, allocation.ask.clone())]),
                units,
            };
            entries.push(Change::Acquire(acquire).to_entry());
        }
        if !is_default(&self.unverified) {
            entries.push(Change::Dirty(Dirty::Is(self.unverified.clone())).to_entry());
        }
        entries
    }
}

#[cfg(test)]
impl Contents {
    /// Whether both say the same, but for ids that were reserved and not used.
    pub(super) fn is_but_for_ids(&self, other: &Self) -> bool {
        let next = 0;
        Self { next, ..self.clone() } == Self { next, ..other.clone() }
    }
}

impl Unit {
    /// One of which nothing is known but that it is given.
    fn bare() -> Self {
        Self { record: Arc::new(AllocatedUnit::recorded([], &[], false)), by: BTreeSet::new() }
    }
}
