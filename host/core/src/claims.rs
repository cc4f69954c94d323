//! Exclusive means exclusive: which unit of which plugin has which node and which device, over the whole host.
//!
//! The outcome depends on the policy's order and on what pods hold, never on who was first to say something.

mod taken;
mod writes;

pub(crate) use taken::{Owner, Taken};
#[cfg(test)]
pub(crate) use writes::Writing;
pub(crate) use writes::{Intent, NotWritten};

use crate::grants::Grants;
use crate::units::{Lost, Part};
use devgate_node::DevicePath;
use devgate_types::{Mutex, NodeNumber, UnitId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use writes::Writes;

/// A plugin's place among all that there were since the host started. Its rank in the policy's order may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(pub(crate) usize);

/// What one unit needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) id: UnitId,
    /// The nodes that it has for itself.
    pub(crate) exclusive: Vec<NodeNumber>,
    /// The nodes that the policy marks shared: other units may have them as well, but none for itself.
    pub(crate) shared: Vec<NodeNumber>,
    /// The devices that it is made of.
    pub(crate) backing: Vec<DevicePath>,
    /// The places of the hardware that is its alone, with what its nodes reach besides.
    pub(crate) pieces: Vec<DevicePath>,
    /// The values that stand for it, and may stand for no other.
    pub(crate) values: Vec<String>,
    /// Whether the policy lets its resource share hardware with others that do.
    pub(crate) shares: bool,
    /// Its nodes where it is a part of a device that others may be parts of as well.
    pub(crate) part: Option<Part<NodeNumber>>,
    /// Whether this very hardware was handed out under this id before the host started: it is not known yet whether a pod
    /// still has it, so it comes before what was not.
    pub(crate) remembered: bool,
}

impl Claim {
    /// The piece of hardware that both have, or the higher of two of which one lies beneath the other.
    fn piece_with<'c>(&'c self, other: &'c Self) -> Option<&'c DevicePath> {
        let common = |own: &'c DevicePath, theirs: &'c DevicePath| {
            if own == theirs || theirs.is_beneath(own) {
                Some(own)
            } else {
                own.is_beneath(theirs).then_some(theirs)
            }
        };
        let pairs = self
            .pieces
            .iter()
            .flat_map(|own| other.pieces.iter().filter_map(move |theirs| common(own, theirs)));
        pairs.min_by_key(|place| place.location().len())
    }

    /// Whether the unit has for itself what it had then. What it shares with others may come and go.
    fn is_as(&self, then: &Self) -> bool {
        (&self.id, &self.exclusive, self.shares, &self.part) == (&then.id, &then.exclusive, then.shares, &then.part)
            && (&self.backing, &self.pieces, &self.values) == (&then.backing, &then.pieces, &then.values)
    }

    /// Whether it is the same unit, and shares nothing that it did not share then.
    fn is_within(&self, then: &Self) -> bool {
        self.is_as(then) && self.shared.iter().all(|number| then.shared.contains(number))
    }
}

/// Why ids were not marked as handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotHeld {
    /// Another unit has the hardware of one.
    Lost(Arc<str>),
    /// One is not what it was when the allocation began, or a component writes to what is close to it.
    Changed,
}

/// All claims of all plugins. Cheap to clone; one per host.
#[derive(Clone)]
pub(crate) struct Ledger {
    plugins: Arc<Mutex<Vec<Entry>>>,
    /// Writes to hardware that are under way.
    writes: Writes,
    /// When the order was made.
    arranged: Arc<Mutex<Instant>>,
}

/// A plugin that has not said what it has.
pub(crate) struct Silent {
    pub(crate) place: Place,
    /// What it may offer, where that is known.
    pub(crate) grants: Option<Arc<Grants>>,
}

#[derive(Default)]
struct Entry {
    name: String,
    /// Its place in the policy's order; those that are not in it any more come last, with what is still held.
    rank: usize,
    /// Whether it is in no order any more.
    left: bool,
    /// Whether the plugin has said what it has, or that it has nothing.
    reported: bool,
    grants: Option<Arc<Grants>>,
    claims: Vec<Claim>,
    /// Where in `claims` an id is.
    by_id: HashMap<UnitId, usize>,
    /// What was handed out, as it was then.
    held: BTreeMap<UnitId, Claim>,
    /// Of those, what was handed out after all claims were last gone through: no other unit was displaced by it yet.
    fresh: HashSet<UnitId>,
    /// The ids that cannot be given because of another unit.
    lost: HashMap<UnitId, Lost>,
    /// Told when that may be another.
    told: watch::Sender<()>,
}

impl Ledger {
    /// A ledger for these plugins, in policy order: their places are counted from 0.
    pub(crate) fn new(plugins: impl IntoIterator<Item = String>) -> Self {
        let plugins = plugins
            .into_iter()
            .enumerate()
            .map(|(rank, name)| Entry {
                name,
                rank,
                ..Entry::default()
            })
            .collect();
        Self {
            plugins: Arc::new(Mutex::new(plugins)),
            writes: Writes::default(),
            arranged: Arc::new(Mutex::new(Instant::now())),
        }
    }

    /// For a plugin to be told when an outcome of it may have changed. Only those are whom it concerns: to look again costs a plugin with
    /// thousands of devices dear.
    pub(crate) fn subscribe(&self, place: Place) -> watch::Receiver<()> {
        let told = self.lock().get(place.0).map(|entry| entry.told.clone());
        told.unwrap_or_default().subscribe()
    }

    /// Puts the plugins into another order, new ones among them. One that is left out claims nothing any more; what it holds
    /// stays held.
    pub(crate) fn arrange(&self, order: &[(Place, String)]) {
        *self.arranged.lock() = Instant::now();
        let mut plugins = self.lock();
        for entry in plugins.iter_mut() {
            entry.rank = usize::MAX;
        }
        for (rank, (place, name)) in order.iter().enumerate() {
            if plugins.len() <= place.0 {
                plugins.resize_with(place.0 + 1, Entry::default);
            }
            if let Some(entry) = plugins.get_mut(place.0) {
                // One that left and is back has not said anything yet.
                entry.reported &= !entry.left;
                entry.grants = entry.grants.take().filter(|_| !entry.left);
                (entry.name, entry.rank, entry.left) = (name.clone(), rank, false);
            }
        }
        for entry in plugins.iter_mut().filter(|entry| entry.rank == usize::MAX) {
            (entry.reported, entry.left) = (true, true);
            entry.claims.clear();
            entry.by_id.clear();
        }
        settle(&mut plugins);
        tell(&plugins, |_| true);
    }

    /// Replaces what a plugin claims. What it holds stays as it was handed out.
    pub(crate) fn report(&self, place: Place, mut claims: Vec<Claim>) {
        let mut plugins = self.lock();
        let Some(entry) = plugins.get_mut(place.0) else { return };
        let left = entry.rank == usize::MAX;
        // What is held was handed out, and comes first anyway: that is no news for which everything is gone through.
        for claim in claims.iter_mut().filter(|claim| entry.held.contains_key(&claim.id)) {
            let before = entry.by_id.get(&claim.id).and_then(|n| entry.claims.get(*n));
            claim.remembered = before.is_some_and(|before| before.remembered);
        }
        if left || (entry.reported && entry.claims == claims) {
            return;
        }
        entry.reported = true;
        entry.by_id = claims
            .iter()
            .enumerate()
            .map(|(n, claim)| (claim.id.clone(), n))
            .collect();
        entry.claims = claims;
        share_more(&mut plugins, place);
        settle(&mut plugins);
        // Who reports goes on from there.
        tell(&plugins, |other| other != place);
    }

    /// How long this order has been in force: no plugin waits for ever for those before it.
    pub(crate) fn settles_for(&self) -> Duration {
        self.arranged().elapsed()
    }

    /// Whether a plugin is not in the order any more.
    pub(crate) fn has_left(&self, place: Place) -> bool {
        self.lock().get(place.0).is_none_or(|entry| entry.rank == usize::MAX)
    }

    /// When this order was made.
    pub(crate) fn arranged(&self) -> Instant {
        *self.arranged.lock()
    }

    /// What a plugin may offer, until it says what it has.
    pub(crate) fn knows(&self, place: Place, grants: Arc<Grants>) {
        if let Some(entry) = self.lock().get_mut(place.0) {
            entry.grants = Some(grants);
        }
    }

    /// The plugins before this one that have not reported, so that what this one has may not be said for good yet.
    pub(crate) fn silent_before(&self, place: Place) -> Vec<Silent> {
        let plugins = self.lock();
        let rank = plugins.get(place.0).map_or(0, |entry| entry.rank);
        let silent = plugins
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.rank < rank && !entry.reported);
        let silent = silent.map(|(n, entry)| Silent {
            place: Place(n),
            grants: entry.grants.clone(),
        });
        silent.collect()
    }

    /// The ids of a plugin that cannot be given because of another unit, and why.
    pub(crate) fn lost(&self, place: Place) -> HashMap<UnitId, Lost> {
        self.lock()
            .get(place.0)
            .map(|entry| entry.lost.clone())
            .unwrap_or_default()
    }

    /// Marks units as handed out: from now on no other unit gets their hardware, whatever the order says and whatever is
    /// reported. Returns the ids that were not marked before, for [`Ledger::let_go`] if the allocation fails after all.
    pub(crate) fn hold(&self, place: Place, units: Vec<Claim>) -> Result<Vec<UnitId>, NotHeld> {
        let mut plugins = self.lock();
        let Some(entry) = plugins.get_mut(place.0) else {
            return Err(NotHeld::Changed);
        };
        for unit in &units {
            if let Some(lost) = entry.lost.get(&unit.id) {
                return Err(NotHeld::Lost(Arc::clone(&lost.reason)));
            }
            let reported = entry.by_id.get(&unit.id).and_then(|n| entry.claims.get(*n));
            if !entry
                .held
                .get(&unit.id)
                .or(reported)
                .is_some_and(|known| unit.is_within(known))
            {
                return Err(NotHeld::Changed);
            }
            if self.writes.reach(&unit.backing) {
                return Err(NotHeld::Changed);
            }
        }
        let mut new = Vec::new();
        for unit in units {
            if !entry.held.contains_key(&unit.id) {
                new.push(unit.id.clone());
                entry.fresh.insert(unit.id.clone());
                entry.held.insert(unit.id.clone(), unit);
            }
        }
        Ok(new)
    }

    /// Units that were handed out have other nodes by now, and their consumers find them: these are held instead. Returns the ids of
    /// which that cannot be, as something else is held that cannot be beside it; they stay held as they were.
    pub(crate) fn follow(&self, place: Place, moved: Vec<Claim>) -> Vec<UnitId> {
        let mut plugins = self.lock();
        let (mut taken, mut follows, mut refused) = (Taken::default(), Vec::new(), Vec::new());
        let moves = |at: usize, id: &UnitId| Place(at) == place && moved.iter().any(|claim| claim.id == *id);
        for (at, entry) in plugins.iter().enumerate() {
            for claim in entry.held.values().filter(|claim| !moves(at, &claim.id)) {
                let plugin = &entry.name;
                taken.take(Owner { plugin, claim });
            }
        }
        let plugin = plugins.get(place.0).map(|entry| entry.name.clone()).unwrap_or_default();
        for claim in &moved {
            let owner = Owner { plugin: &plugin, claim };
            match taken.conflict(owner) {
                Some(_) => refused.push(claim.id.clone()),
                None => {
                    taken.take(owner);
                    follows.push(claim.clone());
                }
            }
        }
        drop(taken);
        if let Some(entry) = plugins.get_mut(place.0) {
            for claim in follows {
                // One of before the host started is held as what it is listed as.
                if let Some(held) = entry.held.get_mut(&claim.id) {
                    *held = claim;
                }
            }
        }
        refused
    }

    /// The ids of a plugin that were handed out, those from before the host started among them.
    pub(crate) fn held(&self, place: Place) -> BTreeSet<UnitId> {
        let plugins = self.lock();
        let Some(entry) = plugins.get(place.0) else {
            return BTreeSet::new();
        };
        let remembered = entry
            .claims
            .iter()
            .filter(|claim| claim.remembered && !entry.lost.contains_key(&claim.id));
        let held = entry.held.keys().chain(remembered.map(|claim| &claim.id));
        held.cloned().collect()
    }

    /// No consumer has these any more, whenever they were handed out.
    pub(crate) fn free(&self, place: Place, ids: &[UnitId]) {
        let mut plugins = self.lock();
        let Some(entry) = plugins.get_mut(place.0) else { return };
        let mut counted = false;
        for id in ids {
            let claim = entry.by_id.get(id).and_then(|n| entry.claims.get_mut(*n));
            if let Some(claim) = claim {
                counted |= std::mem::take(&mut claim.remembered);
            }
        }
        // In any case its plugin may give them again, whatever else kept it from that.
        let displaced = if entry.lets_go(ids) | counted {
            settle(&mut plugins)
        } else {
            Vec::new()
        };
        tell(&plugins, |other| other == place || displaced.contains(&other));
    }

    /// Takes back what [`Ledger::hold`] returned.
    pub(crate) fn let_go(&self, place: Place, ids: &[UnitId]) {
        let mut plugins = self.lock();
        if plugins.get_mut(place.0).is_some_and(|entry| entry.lets_go(ids)) {
            let displaced = settle(&mut plugins);
            tell(&plugins, |other| other == place || displaced.contains(&other));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Every change is made whole before the lock is let go, so a panic elsewhere leaves nothing half-done.
        self.plugins.lock()
    }
}

impl Entry {
    /// Takes these off what was handed out; whether that may make a difference to anybody.
    fn lets_go(&mut self, ids: &[UnitId]) -> bool {
        let mut counted = false;
        for id in ids {
            counted |= self.held.remove(id).is_some() & !self.fresh.remove(id);
        }
        counted
    }
}

/// Tells plugins that what they may give may not be what it was.
fn tell(plugins: &[Entry], whom: impl Fn(Place) -> bool) {
    let whom = plugins.iter().enumerate().filter(|(n, _)| whom(Place(*n)));
    whom.for_each(|(_, entry)| entry.told.send_replace(()));
}

/// A pool may list a shared node only later (a driver makes it at its first use): what is held shares it from then on, unless
/// a unit has it for itself.
fn share_more(plugins: &mut [Entry], place: Place) {
    let own: HashSet<NodeNumber> = plugins
        .iter()
        .flat_map(|entry| entry.held.values())
        .flat_map(|held| held.exclusive.iter().copied())
        .collect();
    let Some(entry) = plugins.get_mut(place.0) else { return };
    for claim in &entry.claims {
        let Some(held) = entry.held.get_mut(&claim.id).filter(|held| claim.is_as(held)) else {
            continue;
        };
        for number in &claim.shared {
            if !held.shared.contains(number) && !own.contains(number) {
                held.shared.push(*number);
            }
        }
    }
}

/// Goes through all claims, those that are handed out first, then those that once were, then in policy order, and gives
/// each what is left. Returns the places of those for whom the outcome is another now.
fn settle(plugins: &mut [Entry]) -> Vec<Place> {
    let mut lost: Vec<HashMap<UnitId, Lost>> = vec![HashMap::new(); plugins.len()];
    let mut taken = Taken::with_room_for(plugins.iter().map(|entry| entry.held.len() + entry.claims.len()).sum());
    for entry in plugins.iter() {
        for claim in entry.held.values() {
            taken.take(Owner {
                plugin: &entry.name,
                claim,
            });
        }
    }
    let waiting = |entry: &Entry, claim: &Claim, remembered: bool| {
        !entry.held.contains_key(&claim.id) && claim.remembered == remembered
    };
    let mut order: Vec<_> = plugins.iter().enumerate().collect();
    order.sort_by_key(|(_, entry)| entry.rank);
    let turns = [true, false]
        .into_iter()
        .flat_map(|remembered| order.iter().map(move |(n, entry)| (*n, *entry, remembered)));
    for (n, entry, remembered) in turns {
        let Some(lost) = lost.get_mut(n) else { continue };
        for claim in entry.claims.iter().filter(|claim| waiting(entry, claim, remembered)) {
            let owner = Owner {
                plugin: &entry.name,
                claim,
            };
            match taken.conflict(owner) {
                Some(reason) => {
                    // Its id is its own all the same, as it is listed with the reason.
                    taken.ids.entry(&claim.id).or_insert(owner);
                    lost.insert(claim.id.clone(), reason);
                }
                None => taken.take(owner),
            }
        }
    }
    let mut other = Vec::new();
    for (n, (entry, lost)) in plugins.iter_mut().zip(lost).enumerate() {
        if entry.lost != lost {
            entry.lost = lost;
            other.push(Place(n));
        }
        entry.fresh.clear();
    }
    other
}

#[cfg(test)]
mod tests;
