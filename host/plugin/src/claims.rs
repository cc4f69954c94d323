//! Exclusive means exclusive: which unit of which plugin has which node and which device, over the whole host.
//!
//! The outcome depends on the policy's order and on what pods hold, never on who was first to say something.

mod writes;

#[cfg(test)]
pub(crate) use writes::Writing;
pub(crate) use writes::{HeldByOther, Intent, NotWritten};

use devgate_model::{NodeNumber, UnitId};
use devgate_node::DevicePath;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use writes::Writes;

/// The most parts of one device: each of them is compared with each.
const MOST_PARTS: usize = 256;

/// A plugin's place among all that there were since the host started. Its rank in the policy's order may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(pub(crate) usize);

/// What one unit needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) id: UnitId,
    /// The nodes that it has for itself.
    pub(crate) exclusive: Vec<NodeNumber>,
    /// The nodes that the policy marks shared: others may have them as well, but nobody for himself.
    pub(crate) shared: Vec<NodeNumber>,
    /// The devices that it is made of.
    pub(crate) backing: Vec<DevicePath>,
    /// Whether the policy lets its resource share hardware with others that do.
    pub(crate) shares: bool,
    /// Whether it may be one of several parts of a device.
    pub(crate) parts: bool,
    /// Whether this very hardware was handed out under this id before the host started: nobody knows yet whether a pod
    /// still has it, so it comes before what was not.
    pub(crate) remembered: bool,
}

impl Claim {
    /// Whether the unit has for itself what it had then. What it shares with others may come and go.
    fn is_as(&self, then: &Self) -> bool {
        (&self.id, &self.exclusive, &self.backing, self.shares, self.parts)
            == (&then.id, &then.exclusive, &then.backing, then.shares, then.parts)
    }

    /// Whether it has a node for itself that another one has not.
    fn has_more_than(&self, other: &Self) -> bool {
        self.exclusive.iter().any(|number| !other.exclusive.contains(number))
    }

    /// Whether it is the same unit, and shares nothing that it did not share then.
    fn is_within(&self, then: &Self) -> bool {
        self.is_as(then) && self.shared.iter().all(|number| then.shared.contains(number))
    }
}

/// Why a unit cannot be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) reason: Arc<str>,
    /// Whether its very id is another unit's, so that it cannot even be listed: the kubelet looks health up by id alone.
    pub(crate) id_taken: bool,
}

/// Why ids were not marked as handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotHeld {
    /// Another unit has the hardware of one.
    Lost(Arc<str>),
    /// One is not what it was when the allocation began, or somebody is writing to what is close to it.
    Changed,
}

/// All claims of all plugins. Cheap to clone; one per host.
#[derive(Clone)]
pub(crate) struct Ledger {
    plugins: Arc<Mutex<Vec<Entry>>>,
    /// Writes to hardware that are under way.
    writes: Writes,
    changed: watch::Sender<u64>,
    /// When the order was made.
    arranged: Arc<Mutex<Instant>>,
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
    claims: Vec<Claim>,
    /// Where in `claims` an id is.
    by_id: HashMap<UnitId, usize>,
    /// What was handed out, as it was then.
    held: BTreeMap<UnitId, Claim>,
    /// The ids that cannot be given because of another unit.
    lost: HashMap<UnitId, Lost>,
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
            changed: watch::Sender::new(0),
            arranged: Arc::new(Mutex::new(Instant::now())),
        }
    }

    /// To be told when an outcome may have changed.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Puts the plugins into another order, new ones among them. One that is left out claims nothing any more; what it holds
    /// stays held.
    pub(crate) fn arrange(&self, order: &[(Place, String)]) {
        *self.arranged.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
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
                (entry.name, entry.rank, entry.left) = (name.clone(), rank, false);
            }
        }
        for entry in plugins.iter_mut().filter(|entry| entry.rank == usize::MAX) {
            (entry.reported, entry.left) = (true, true);
            entry.claims.clear();
            entry.by_id.clear();
        }
        settle(&mut plugins);
        drop(plugins);
        self.changed.send_modify(|n| *n += 1);
    }

    /// Replaces what a plugin claims. What it holds stays as it was handed out.
    pub(crate) fn report(&self, place: Place, claims: Vec<Claim>) {
        let mut plugins = self.lock();
        let Some(entry) = plugins.get_mut(place.0) else { return };
        let left = entry.rank == usize::MAX;
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
        drop(plugins);
        self.changed.send_modify(|n| *n += 1);
    }

    /// How long this order has been in force: nobody waits for ever for those before him.
    pub(crate) fn settles_for(&self) -> Duration {
        self.arranged.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Whether a plugin is not in the order any more.
    pub(crate) fn has_left(&self, place: Place) -> bool {
        self.lock().get(place.0).is_none_or(|entry| entry.rank == usize::MAX)
    }

    /// Whether every plugin before this one has reported, so that what this one has can be said for good.
    pub(crate) fn is_settled_before(&self, place: Place) -> bool {
        let plugins = self.lock();
        let rank = plugins.get(place.0).map_or(0, |entry| entry.rank);
        plugins.iter().all(|entry| entry.rank >= rank || entry.reported)
    }

    /// The ids of a plugin that cannot be given because of another unit, and why.
    pub(crate) fn lost(&self, place: Place) -> HashMap<UnitId, Lost> {
        self.lock()
            .get(place.0)
            .map(|entry| entry.lost.clone())
            .unwrap_or_default()
    }

    /// Marks units as handed out: from now on nobody else gets their hardware, whatever the order says and whatever is
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
                entry.held.insert(unit.id.clone(), unit);
            }
        }
        Ok(new)
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

    /// Nobody has these any more, whenever they were handed out.
    pub(crate) fn free(&self, place: Place, ids: &[UnitId]) {
        if let Some(entry) = self.lock().get_mut(place.0) {
            for id in ids {
                let claim = entry.by_id.get(id).and_then(|n| entry.claims.get_mut(*n));
                if let Some(claim) = claim {
                    claim.remembered = false;
                }
            }
        }
        self.let_go(place, ids);
    }

    /// Takes back what [`Ledger::hold`] returned.
    pub(crate) fn let_go(&self, place: Place, ids: &[UnitId]) {
        let mut plugins = self.lock();
        let Some(entry) = plugins.get_mut(place.0) else { return };
        for id in ids {
            entry.held.remove(id);
        }
        settle(&mut plugins);
        drop(plugins);
        self.changed.send_modify(|n| *n += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Every change is made whole before the lock is let go, so a panic elsewhere leaves nothing half-done.
        self.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pool may list a shared node only later (a driver makes it at its first use): what is held shares it from then on, unless
/// somebody has it for himself.
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
/// each what is left.
fn settle(plugins: &mut [Entry]) {
    let mut lost: Vec<HashMap<UnitId, Lost>> = vec![HashMap::new(); plugins.len()];
    let mut taken = Taken::default();
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
    for (entry, lost) in plugins.iter_mut().zip(lost) {
        entry.lost = lost;
    }
}

/// Who has what, while it is being settled.
#[derive(Default)]
struct Taken<'a> {
    ids: HashMap<&'a UnitId, Owner<'a>>,
    exclusive: HashMap<NodeNumber, Owners<'a>>,
    shared: HashMap<NodeNumber, Owners<'a>>,
    /// By place in the tree.
    backing: HashMap<&'a str, Owners<'a>>,
    /// Every place above one of those.
    above: HashMap<&'a str, Owners<'a>>,
}

/// All who have the same.
#[derive(Default)]
struct Owners<'a> {
    /// One that shares with nobody, if there is one; else one of those that share with others that do: whoever comes next must
    /// get along with all of them.
    strictest: Option<Owner<'a>>,
    /// Those that may be parts of it, of whom each must get along with each.
    parts: Vec<Owner<'a>>,
}

#[derive(Clone, Copy)]
struct Owner<'a> {
    plugin: &'a str,
    claim: &'a Claim,
}

impl<'a> Owner<'a> {
    /// Whether both may have the same. Parts of one plugin may, where each has a node besides: who has no more than a part has
    /// that part, or the whole.
    fn gets_along_with(self, other: Owner<'_>) -> bool {
        let (one, two) = (self.claim, other.claim);
        let parts = || one.parts && two.parts && self.plugin == other.plugin;
        (one.shares && two.shares) || (parts() && one.has_more_than(two) && two.has_more_than(one))
    }
}

impl<'a> Owners<'a> {
    /// One that keeps another from having the same, if there is one.
    fn against(&self, new: Owner<'_>) -> Option<Owner<'a>> {
        let full = self.parts.first().filter(|_| self.parts.len() >= MOST_PARTS);
        let strange = |owner: &&Owner<'a>| !owner.gets_along_with(new);
        let owner = self.strictest.iter().find(strange).or(full);
        owner.or_else(|| self.parts.iter().find(strange)).copied()
    }

    fn add(&mut self, owner: Owner<'a>) {
        if owner.claim.parts {
            self.parts.push(owner);
        } else {
            self.share(owner);
        }
    }

    /// The same for what the policy marks shared: nobody's part has it for itself.
    fn share(&mut self, owner: Owner<'a>) {
        if self
            .strictest
            .is_none_or(|known| known.claim.shares && !owner.claim.shares)
        {
            self.strictest = Some(owner);
        }
    }
}

impl<'a> Taken<'a> {
    fn conflict(&self, new: Owner<'_>) -> Option<Lost> {
        let id_owner = self.ids.get(&new.claim.id);
        let same_id = |owner: &Owner<'_>| {
            format!(
                "id {} is already one of plugin {}; ids are unique on a node",
                new.claim.id, owner.plugin
            )
        };
        let reason = self.node_conflict(new).or_else(|| self.backing_conflict(new));
        let reason = reason.or_else(|| id_owner.map(same_id))?;
        Some(Lost {
            reason: reason.into(),
            id_taken: id_owner.is_some(),
        })
    }

    fn node_conflict(&self, new: Owner<'_>) -> Option<String> {
        let exclusive = |number: &NodeNumber| {
            let owner = self.exclusive.get(number)?.against(new)?;
            Some(format!(
                "node {number} is already given to {} of plugin {}",
                owner.claim.id, owner.plugin
            ))
        };
        let shared = |number: &NodeNumber| {
            // Not even a part may have it for itself.
            let strictest = self.shared.get(number)?.strictest?;
            let owner = Some(strictest).filter(|owner| !(owner.claim.shares && new.claim.shares))?;
            Some(format!(
                "node {number} is shared with {} of plugin {}",
                owner.claim.id, owner.plugin
            ))
        };
        let claim = new.claim;
        claim
            .exclusive
            .iter()
            .chain(&claim.shared)
            .find_map(exclusive)
            .or_else(|| claim.exclusive.iter().find_map(shared))
    }

    /// One device is made of the other where one lies beneath the other: a disk and its partition, a GPU and its node.
    fn backing_conflict(&self, new: Owner<'_>) -> Option<String> {
        new.claim.backing.iter().find_map(|device| {
            let at = device.location();
            let same_or_above = std::iter::once(at)
                .chain(places_above(at))
                .find_map(|place| self.backing.get(place)?.against(new));
            let owner = same_or_above.or_else(|| self.above.get(at)?.against(new))?;
            let (id, plugin) = (&owner.claim.id, owner.plugin);
            Some(format!(
                "device {} already backs {id} of plugin {plugin}, or a part of it does",
                device.name()
            ))
        })
    }

    fn take(&mut self, owner: Owner<'a>) {
        self.ids.insert(&owner.claim.id, owner);
        for number in &owner.claim.exclusive {
            self.exclusive.entry(*number).or_default().add(owner);
        }
        for number in &owner.claim.shared {
            self.shared.entry(*number).or_default().share(owner);
        }
        for device in &owner.claim.backing {
            self.backing.entry(device.location()).or_default().add(owner);
            for place in places_above(device.location()) {
                self.above.entry(place).or_default().add(owner);
            }
        }
    }
}

/// The places above one, nearest first.
fn places_above(place: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(place.rsplit_once('/'), |(above, _)| above.rsplit_once('/')).map(|(above, _)| above)
}

#[cfg(test)]
mod tests;
