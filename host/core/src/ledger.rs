//! Exclusive means exclusive: which unit of which plugin has which node and which device, over the whole host.
//!
//! The outcome depends on the policy's order and on what pods hold, never on who was first to say something.

mod occupancy;
mod settle;
mod wholes;
mod writes;

pub(crate) use occupancy::{Occupancy, Owner};
pub(crate) use wholes::Wholes;
#[cfg(test)]
pub(crate) use writes::Writing;
pub(crate) use writes::{Intent, NotWritten};

use crate::grants::Grants;
use crate::units::{Lost, Part};
use devgate_node::DevicePath;
use devgate_types::{Mutex, NodeNumber, UnitId};
use settle::{settle, share_more};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use writes::Writes;

/// A plugin's place among all that there were since the host started. Its rank in the policy's order may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PluginIndex(pub(crate) usize);

/// What one unit needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Footprint {
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
    /// Whether who picks it knows wholes and parts of its plugin apart, so that both are offered until one is given.
    pub(crate) is_counted: bool,
    /// Whether this very hardware was handed out under this id before the host started: it is not known yet whether a pod
    /// still has it, so it comes before what was not.
    pub(crate) remembered: bool,
}

impl Footprint {
    /// The piece of hardware that both have, or the higher of two of which one lies beneath the other.
    fn piece_with<'c>(&'c self, other: &'c Self) -> Option<&'c DevicePath> {
        let common = |own: &'c DevicePath, theirs: &'c DevicePath| {
            if own == theirs || theirs.is_beneath(own) { Some(own) } else { own.is_beneath(theirs).then_some(theirs) }
        };
        let pairs =
            self.pieces.iter().flat_map(|own| other.pieces.iter().filter_map(move |theirs| common(own, theirs)));
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

/// The footprints of all units of all plugins. Cheap to clone; one per host.
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
    pub(crate) index: PluginIndex,
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
    footprints: Vec<Footprint>,
    /// Where in `footprints` an id is.
    by_id: HashMap<UnitId, usize>,
    /// What was handed out, as it was then.
    held: BTreeMap<UnitId, Footprint>,
    /// Of those, what was handed out after all footprints were last gone through: no other unit was displaced by it yet.
    fresh: HashSet<UnitId>,
    /// The ids that cannot be given because of another unit.
    lost: HashMap<UnitId, Lost>,
    /// Which of its units are parts of which.
    wholes: Arc<Wholes>,
    /// Whether it ever had units that are counted, of which some may be held.
    has_counted: bool,
    /// Told when that may be another.
    told: watch::Sender<()>,
}

impl Ledger {
    /// A ledger for these plugins, in policy order: their places are counted from 0.
    pub(crate) fn new(plugins: impl IntoIterator<Item = String>) -> Self {
        let plugins =
            plugins.into_iter().enumerate().map(|(rank, name)| Entry { name, rank, ..Entry::default() }).collect();
        Self {
            plugins: Arc::new(Mutex::new(plugins)),
            writes: Writes::default(),
            arranged: Arc::new(Mutex::new(Instant::now())),
        }
    }

    /// For a plugin to be told when an outcome of it may have changed. Only those are whom it concerns: to look again costs a plugin with
    /// thousands of devices dear.
    pub(crate) fn subscribe(&self, index: PluginIndex) -> watch::Receiver<()> {
        let told = self.lock().get(index.0).map(|entry| entry.told.clone());
        told.unwrap_or_default().subscribe()
    }

    /// Puts the plugins into another order, new ones among them. One that is left out claims nothing any more; what it holds
    /// stays held.
    pub(crate) fn arrange(&self, order: &[(PluginIndex, String)]) {
        *self.arranged.lock() = Instant::now();
        let mut plugins = self.lock();
        for entry in plugins.iter_mut() {
            entry.rank = usize::MAX;
        }
        for (rank, (index, name)) in order.iter().enumerate() {
            if plugins.len() <= index.0 {
                plugins.resize_with(index.0 + 1, Entry::default);
            }
            if let Some(entry) = plugins.get_mut(index.0) {
                // One that left and is back has not said anything yet.
                entry.reported &= !entry.left;
                entry.grants = entry.grants.take().filter(|_| !entry.left);
                (entry.name, entry.rank, entry.left) = (name.clone(), rank, false);
            }
        }
        for entry in plugins.iter_mut().filter(|entry| entry.rank == usize::MAX) {
            (entry.reported, entry.left) = (true, true);
            entry.footprints.clear();
            entry.by_id.clear();
        }
        settle(&mut plugins);
        notify(&plugins, |_| true);
    }

    /// Replaces what a plugin claims. What it holds stays as it was handed out.
    pub(crate) fn report(&self, index: PluginIndex, mut footprints: Vec<Footprint>) {
        let mut plugins = self.lock();
        let Some(entry) = plugins.get_mut(index.0) else { return };
        let left = entry.rank == usize::MAX;
        // What is held was handed out, and comes first anyway: that is no news for which everything is gone through.
        for footprint in footprints.iter_mut().filter(|footprint| entry.held.contains_key(&footprint.id)) {
            let before = entry.by_id.get(&footprint.id).and_then(|n| entry.footprints.get(*n));
            footprint.remembered = before.is_some_and(|before| before.remembered);
        }
        if left || (entry.reported && entry.footprints == footprints) {
            return;
        }
        entry.reported = true;
        entry.wholes = Arc::new(Wholes::of(&footprints));
        entry.has_counted |= footprints.iter().any(|footprint| footprint.is_counted);
        entry.by_id = footprints.iter().enumerate().map(|(n, footprint)| (footprint.id.clone(), n)).collect();
        entry.footprints = footprints;
        share_more(&mut plugins, index);
        settle(&mut plugins);
        // Who reports goes on from there.
        notify(&plugins, |other| other != index);
    }

    /// How long this order has been in force: no plugin waits for ever for those before it.
    pub(crate) fn settles_for(&self) -> Duration {
        self.arranged().elapsed()
    }

    /// Whether a plugin is not in the order any more.
    pub(crate) fn has_left(&self, index: PluginIndex) -> bool {
        self.lock().get(index.0).is_none_or(|entry| entry.rank == usize::MAX)
    }

    /// When this order was made.
    pub(crate) fn arranged(&self) -> Instant {
        *self.arranged.lock()
    }

    /// What a plugin may offer, until it says what it has.
    pub(crate) fn knows(&self, index: PluginIndex, grants: Arc<Grants>) {
        if let Some(entry) = self.lock().get_mut(index.0) {
            entry.grants = Some(grants);
        }
    }

    /// The plugins before this one that have not reported, so that what this one has may not be said for good yet.
    pub(crate) fn silent_before(&self, index: PluginIndex) -> Vec<Silent> {
        let plugins = self.lock();
        let rank = plugins.get(index.0).map_or(0, |entry| entry.rank);
        let silent = plugins.iter().enumerate().filter(|(_, entry)| entry.rank < rank && !entry.reported);
        let silent = silent.map(|(n, entry)| Silent { index: PluginIndex(n), grants: entry.grants.clone() });
        silent.collect()
    }

    /// The ids of a plugin that cannot be given because of another unit, and why.
    pub(crate) fn lost(&self, index: PluginIndex) -> HashMap<UnitId, Lost> {
        self.lock().get(index.0).map(|entry| entry.lost.clone()).unwrap_or_default()
    }

    /// Which units of a plugin are parts of which, where who picks them knows.
    pub(crate) fn wholes(&self, index: PluginIndex) -> Arc<Wholes> {
        self.lock().get(index.0).map(|entry| Arc::clone(&entry.wholes)).unwrap_or_default()
    }

    /// Marks units as handed out: from now on no other unit gets their hardware, whatever the order says and whatever is
    /// reported. Returns the ids that were not marked before, for [`Ledger::let_go`] if the allocation fails after all.
    pub(crate) fn hold(&self, index: PluginIndex, units: Vec<Footprint>) -> Result<Vec<UnitId>, NotHeld> {
        let mut plugins = self.lock();
        let Some(entry) = plugins.get_mut(index.0) else {
            return Err(NotHeld::Changed);
        };
        for unit in &units {
            if let Some(lost) = entry.lost.get(&unit.id) {
                return Err(NotHeld::Lost(Arc::clone(&lost.reason)));
            }
            let reported = entry.by_id.get(&unit.id).and_then(|n| entry.footprints.get(*n));
            if !entry.held.get(&unit.id).or(reported).is_some_and(|known| unit.is_within(known)) {
                return Err(NotHeld::Changed);
            }
            if self.writes.reach(&unit.backing) {
                return Err(NotHeld::Changed);
            }
        }
        if let Some(lost) = entry.beside_what_is_held(&units) {
            return Err(NotHeld::Lost(lost.reason));
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
    pub(crate) fn follow(&self, index: PluginIndex, moved: Vec<Footprint>) -> HashSet<UnitId> {
        let mut plugins = self.lock();
        let mut occupancy = Occupancy::default();
        let moving: HashSet<_> = moved.iter().map(|footprint| &footprint.id).collect();
        let moves = |at: usize, id: &UnitId| PluginIndex(at) == index && moving.contains(id);
        for (at, entry) in plugins.iter().enumerate() {
            for footprint in entry.held.values().filter(|footprint| !moves(at, &footprint.id)) {
                occupancy.add(Owner::held(&entry.name, footprint));
            }
        }
        let plugin = plugins.get(index.0).map(|entry| entry.name.clone()).unwrap_or_default();
        let refused = moved.iter().filter_map(|footprint| {
            let owner = Owner::held(&plugin, footprint);
            if occupancy.conflict(owner).is_some() {
                return Some(footprint.id.clone());
            }
            occupancy.add(owner);
            None
        });
        let refused: HashSet<_> = refused.collect();
        drop(occupancy);
        if let Some(entry) = plugins.get_mut(index.0) {
            for footprint in moved.into_iter().filter(|footprint| !refused.contains(&footprint.id)) {
                // One of before the host started is held as what it is listed as.
                if let Some(held) = entry.held.get_mut(&footprint.id) {
                    *held = footprint;
                }
            }
        }
        refused
    }

    /// The ids of a plugin that were handed out, those from before the host started among them.
    pub(crate) fn held(&self, index: PluginIndex) -> BTreeSet<UnitId> {
        let plugins = self.lock();
        plugins.get(index.0).into_iter().flat_map(Entry::with_consumers).map(|footprint| footprint.id.clone()).collect()
    }

    /// No consumer has these any more, whenever they were handed out.
    pub(crate) fn free(&self, index: PluginIndex, ids: &[UnitId]) {
        let mut plugins = self.lock();
        let Some(entry) = plugins.get_mut(index.0) else { return };
        let mut counted = false;
        for id in ids {
            let footprint = entry.by_id.get(id).and_then(|n| entry.footprints.get_mut(*n));
            if let Some(footprint) = footprint {
                counted |= std::mem::take(&mut footprint.remembered);
            }
        }
        // In any case its plugin may give them again, whatever else kept it from that.
        let displaced = if entry.lets_go(ids) | counted { settle(&mut plugins) } else { Vec::new() };
        notify(&plugins, |other| other == index || displaced.contains(&other));
    }

    /// Takes back what [`Ledger::hold`] returned.
    pub(crate) fn let_go(&self, index: PluginIndex, ids: &[UnitId]) {
        let mut plugins = self.lock();
        if plugins.get_mut(index.0).is_some_and(|entry| entry.lets_go(ids)) {
            let displaced = settle(&mut plugins);
            notify(&plugins, |other| other == index || displaced.contains(&other));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Every change is made whole before the lock is let go, so a panic elsewhere leaves nothing half-done.
        self.plugins.lock()
    }
}

impl Entry {
    /// What was handed out, that from before the host started among it.
    fn with_consumers(&self) -> impl Iterator<Item = &Footprint> {
        let remembered = self.footprints.iter().filter(|footprint| {
            footprint.remembered && !self.held.contains_key(&footprint.id) && !self.lost.contains_key(&footprint.id)
        });
        self.held.values().chain(remembered)
    }

    /// What keeps units from being given beside those that are: a whole and its parts are both offered until then.
    fn beside_what_is_held(&self, units: &[Footprint]) -> Option<Lost> {
        // Who asks may know another policy than that by which units were offered, or are held.
        if !self.has_counted && !units.iter().any(|unit| unit.is_counted) {
            return None;
        }
        let mut occupancy = Occupancy::default();
        let is_asked = |footprint: &&Footprint| !units.iter().any(|unit| unit.id == footprint.id);
        for footprint in self.with_consumers().filter(is_asked) {
            occupancy.add(Owner::held(&self.name, footprint));
        }
        for footprint in units {
            let owner = Owner::held(&self.name, footprint);
            if let Some(lost) = occupancy.conflict(owner) {
                return Some(lost);
            }
            occupancy.add(owner);
        }
        None
    }

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
fn notify(plugins: &[Entry], whom: impl Fn(PluginIndex) -> bool) {
    let whom = plugins.iter().enumerate().filter(|(n, _)| whom(PluginIndex(*n)));
    whom.for_each(|(_, entry)| entry.told.send_replace(()));
}

#[cfg(test)]
mod tests;
