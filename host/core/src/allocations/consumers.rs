//! What consumers other than pods have: they say themselves when that is over, and a claim asks for it again after a restart.

use super::allocation::{Allocation, AllocationId, Mode, Slot, State, Take};
use super::change::{Amend, Change, Commit, Release, Units, with};
use super::consumer::Consumer;
use super::expiry::{Expiry, Now};
use super::{Allocations, Known, StoredReply, key};
use crate::units::{PoolRecord, UnitRecord};
use devgate_policy::PluginPolicy;
use devgate_types::{ResourceName, UnitId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// A unit that another consumer than pods has, and which one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TakenBy {
    pub(crate) take: Take,
    /// For people.
    pub(crate) who: Arc<str>,
    /// The driver, where it is a claim: of that its scheduler knows.
    pub(crate) driver: Option<String>,
}

impl Allocations {
    /// Who keeps a consumer from having this of a unit: pods may have the same as other pods, one container after the other; all others
    /// exclude each other. The caller has the unit's turn until it is noted.
    pub(crate) fn in_the_way(&self, who: &Consumer, resource: &ResourceName, take: &Take) -> Option<Consumer> {
        let known = self.lock();
        let key = (resource.to_string(), take.unit.clone());
        let excludes = |of: &Allocation| {
            let both_pods = *who == Consumer::Pods && of.consumer == Consumer::Pods;
            !both_pods && of.ask.is_live() && of.ask.take.iter().any(|other| other.excludes(take))
        };
        let mut all = known.book.contents().who_has(&key);
        all.find(|(_, of)| excludes(of)).map(|(_, of)| of.consumer.clone())
    }

    /// How many others have shares of a unit. The caller has the unit's turn until it is noted.
    pub(crate) fn others_with_shares(&self, who: &Consumer, resource: &ResourceName, unit: &str) -> usize {
        let known = self.lock();
        let key = (resource.to_string(), unit.to_owned());
        let is_share = |take: &&Take| take.unit == unit && matches!(take.slot, Slot::Share(_));
        let others = known.book.contents().who_has(&key).filter(|(_, of)| of.consumer != *who && of.ask.is_live());
        let with_shares = others.filter(|(_, of)| of.ask.take.iter().any(|take| is_share(&take)));
        with_shares.map(|(_, of)| &of.consumer).collect::<BTreeSet<_>>().len()
    }

    /// What a consumer has, oldest first; of pods' only what they look up by a name.
    pub(crate) fn held(&self, who: &Consumer) -> Vec<(AllocationId, Arc<Allocation>)> {
        let known = self.lock();
        known.held(who).map(|(id, of)| (id, Arc::clone(of))).collect()
    }

    /// Whether an allocation was made in another boot than this, as far as that is known.
    pub(crate) fn is_of_earlier_boot(&self, of: &Allocation) -> bool {
        let known = self.lock();
        known.boot.is_some() && of.ask.boot.is_some() && known.boot != of.ask.boot
    }

    /// Whether claims of a driver have anything.
    pub(crate) fn has_claims(&self, of: &str) -> bool {
        self.consumers().iter().any(|who| who.driver() == Some(of))
    }

    /// All but pods that have something.
    pub(crate) fn consumers(&self) -> BTreeSet<Consumer> {
        let known = self.lock();
        let live = known.book.contents().others().filter(|(_, of)| of.ask.is_live());
        live.map(|(_, of)| of.consumer.clone()).collect()
    }

    /// How long an allocation lasts still, where it is over by itself.
    pub(crate) fn left(&self, of: &Allocation) -> Option<Duration> {
        let now = self.lock().now();
        of.ask.expires.as_ref().map(|expires| expires.left(&now))
    }

    /// The units of a resource that consumers other than pods have, by their ids.
    pub(crate) fn taken_by_others(&self, resource: &ResourceName) -> HashMap<String, Vec<TakenBy>> {
        let known = self.lock();
        let others = known.book.contents().others();
        let holding = others.filter(|(_, of)| of.ask.mode == Mode::Hold && of.ask.resource == resource.as_str());
        let mut taken = HashMap::<String, Vec<TakenBy>>::new();
        for (_, of) in holding {
            let who: Arc<str> = of.consumer.to_string().into();
            let driver = of.consumer.driver().map(str::to_owned);
            for take in &of.ask.take {
                let (take, who, driver) = (take.clone(), Arc::clone(&who), driver.clone());
                taken.entry(take.unit.clone()).or_default().push(TakenBy { take, who, driver });
            }
        }
        taken
    }

    /// Whether pods have a unit, by what is noted.
    pub(crate) fn is_with_pods(&self, resource: &ResourceName, id: &UnitId) -> bool {
        self.lock().is_with(resource, id, |of| of.consumer == Consumer::Pods)
    }

    /// Whether a consumer other than pods has a unit, and is not done with it.
    pub(crate) fn is_with_others(&self, resource: &ResourceName, id: &UnitId) -> bool {
        self.lock().is_with(resource, id, |of| of.consumer != Consumer::Pods && of.ask.is_live())
    }

    /// The consumer that left a unit which no other has, and that is not clean.
    pub(crate) fn left_by(&self, resource: &ResourceName, id: &UnitId) -> Option<Consumer> {
        let (known, key) = (self.lock(), (resource.to_string(), id.to_string()));
        let mut all = known.book.contents().who_has(&key).peekable();
        let first = all.peek()?.1.consumer.clone();
        all.all(|(_, of)| !of.ask.is_live()).then_some(first)
    }

    /// A consumer is done with all that it has: what no other has is its plugin's to release. Returns that.
    /// It is so at once, and saved before another consumer gets it.
    pub(crate) fn end(&self, who: &Consumer) -> Ended {
        let mut known = self.lock();
        let ids: Vec<_> = known.held(who).map(|(id, _)| id).collect();
        let ended = known.end(&ids);
        drop(known);
        if ended.any {
            self.save_soon();
        }
        ended
    }

    /// The same for single allocations.
    pub(crate) fn end_these(&self, ids: &[AllocationId]) -> Ended {
        let ended = self.lock().end(ids);
        if ended.any {
            self.save_soon();
        }
        ended
    }

    /// Allocations are handed to their consumer, with this. The step that is to be saved before it is so.
    pub(crate) fn hand_over(&self, mut replies: BTreeMap<AllocationId, StoredReply>) -> Option<u64> {
        let mut known = self.lock();
        let contents = known.book.contents();
        replies.retain(|id, reply| contents.is_told_otherwise(*id, reply));
        known.tell(replies);
        drop(known);
        self.unsaved()
    }

    /// What a consumer has ends by itself after this time, or never. Whether it has anything.
    pub(crate) fn renew(&self, who: &Consumer, ttl: Option<Duration>) -> bool {
        let mut known = self.lock();
        let now = known.now();
        let expires = known.held(who);
        let expires: BTreeMap<_, _> = expires.map(|(id, _)| (id, ttl.map(|ttl| Expiry::after(ttl, &now)))).collect();
        let any = !expires.is_empty();
        if any {
            let units = BTreeMap::new();
            known.book.note(&Change::Amend(Amend { units, expires }));
            drop(known);
            self.save_soon();
            self.0.renewed.notify_one();
        }
        any
    }

    /// The consumers whose time is over, and how long it is until the next one's is, if there is one.
    pub(crate) fn expired(&self) -> (BTreeSet<Consumer>, Option<Duration>) {
        let known = self.lock();
        let now = known.now();
        let (mut over, mut next) = (BTreeSet::new(), None::<Duration>);
        for (_, of) in known.book.contents().others().filter(|(_, of)| of.ask.is_live()) {
            match of.ask.expires.as_ref().map(|expires| expires.left(&now)) {
                None => {}
                Some(Duration::ZERO) => drop(over.insert(of.consumer.clone())),
                Some(left) => next = Some(next.map_or(left, |next| next.min(left))),
            }
        }
        (over, next)
    }

    /// A consumer's units are as they were when they were given: what is only known of today takes the place of what was known.
    pub(crate) fn see_again(
        &self,
        resource: &ResourceName,
        pool: &PoolRecord,
        units: &[Arc<UnitRecord>],
        policy: &PluginPolicy,
    ) {
        let (mut known, mut amended) = (self.lock(), Units::new());
        for unit in units {
            let key = key(resource, unit);
            let Some(then) = known.book.contents().record(&key) else {
                continue;
            };
            // What a consumer keeps by its paths is what it was then.
            if known.keeps_paths(&key) {
                continue;
            }
            let now = known.today(unit, &pool.shared_nodes, policy, then.unreleased);
            if **then != now {
                known.past.replace(&key, &now);
                with(&key, now, &mut amended);
            }
        }
        if !amended.is_empty() {
            known.book.note(&Change::Amend(Amend::of(amended)));
            drop(known);
            self.save_soon();
            self.changed();
        }
    }

    /// Forgets a unit that was left and that no plugin looks after, unless a component has to release it.
    pub(crate) fn forget_clean(&self, resource: &ResourceName, id: &UnitId) {
        let key = (resource.to_string(), id.to_string());
        let record = self.lock().book.contents().record(&key).map(|record| record.unreleased);
        if record == Some(false) {
            self.forget(resource, std::slice::from_ref(id));
        }
    }

    /// Waits until something ends at another time than before.
    pub(crate) async fn renewed(&self) {
        self.0.renewed.notified().await;
    }
}

/// What a consumer was done with.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// Whether there was anything.
    pub(crate) any: bool,
    /// The units that no consumer has any more, which are not clean.
    pub(crate) units: Vec<(ResourceName, UnitId)>,
}

impl Known {
    /// This moment.
    pub(super) fn now(&self) -> Now {
        Now::in_boot(self.boot.as_deref())
    }

    fn held<'a>(&'a self, who: &'a Consumer) -> impl Iterator<Item = (AllocationId, &'a Arc<Allocation>)> {
        let contents = self.book.contents();
        let all = contents.named().chain(contents.others());
        all.filter(move |(_, of)| of.consumer == *who && of.ask.is_live())
    }

    /// What allocations are told is known, or another by now.
    pub(super) fn tell(&mut self, replies: BTreeMap<AllocationId, StoredReply>) {
        if !replies.is_empty() {
            self.book.note(&Change::Commit(Commit {
                allocations: replies.keys().copied().collect(),
                state: State::Active,
                replies,
            }));
        }
    }

    fn is_with(&self, resource: &ResourceName, id: &UnitId, is_it: impl Fn(&Allocation) -> bool) -> bool {
        let key = (resource.to_string(), id.to_string());
        self.book.contents().who_has(&key).any(|(_, of)| is_it(of))
    }

    /// Allocations are over: what others have as well is theirs alone, what was only looked at is forgotten, and the rest is to be
    /// released.
    fn end(&mut self, ids: &[AllocationId]) -> Ended {
        let mut ended = Ended::default();
        for id in ids {
            let contents = self.book.contents();
            let Some(of) = contents.allocation(*id).filter(|of| of.ask.is_live()) else {
                continue;
            };
            ended.any = true;
            let (of, resource) = (Arc::clone(of), of.ask.resource.clone());
            let has_another = |unit: &str| {
                let key = (resource.clone(), unit.to_owned());
                contents.who_has(&key).any(|(other, _)| other != *id)
            };
            let units = of.ask.take.iter().map(|take| take.unit.clone());
            let (left, theirs): (BTreeSet<_>, BTreeSet<_>) =
                units.partition(|unit| of.ask.mode == Mode::Hold && !has_another(unit));
            if !theirs.is_empty() {
                let (allocation, units) = (*id, Some(theirs));
                self.book.note(&Change::Release(Release { allocation, units }));
            }
            if left.is_empty() {
                continue;
            }
            self.book.note(&Change::Commit(Commit {
                allocations: [*id].into(),
                state: State::Releasing,
                replies: BTreeMap::new(),
            }));
            let named = |id: &String| Some((ResourceName::try_new(&resource).ok()?, UnitId::try_new(id).ok()?));
            ended.units.extend(left.iter().filter_map(named));
        }
        ended
    }

    /// At the start of a host: what was noted and reached no consumer is over, but for claims, whose driver asks again; and what ends by
    /// itself counts on in this boot.
    pub(super) fn settle_consumers(&mut self) {
        let now = self.now();
        let (mut over, mut expires) = (Vec::new(), BTreeMap::new());
        for (id, of) in self.book.contents().others() {
            let nobody_asks = matches!(of.consumer, Consumer::Lease { .. } | Consumer::Request { .. });
            if nobody_asks && of.ask.state == State::Recorded {
                over.push(id);
            } else if let Some(left) = of.ask.expires.as_ref().map(|expires| expires.left_after_start(&now)) {
                expires.insert(id, Some(Expiry::after(left, &now)));
            }
        }
        self.end(&over);
        if !expires.is_empty() {
            let units = BTreeMap::new();
            self.book.note(&Change::Amend(Amend { units, expires }));
        }
    }
}
