//! Who has what of the host's hardware, and who may have the same besides.

use super::Footprint;
use crate::units::{Lost, MAX_PARTS, places_above};
use devgate_node::DevicePath;
use devgate_types::{NodeNumber, UnitId, escape};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// Who has what, while it is being settled.
#[derive(Default)]
pub(crate) struct Occupancy<'a> {
    pub(super) ids: HashMap<&'a UnitId, Owner<'a>>,
    nodes: FxHashMap<NodeNumber, Node<'a>>,
    /// Of each place in the tree what the devices there are to their units: what they are made of, and their pieces. The kernel names
    /// places and numbers nodes, so that no component makes up keys that are slow to find.
    places: FxHashMap<&'a str, [At<'a>; 2]>,
    values: HashMap<&'a str, Owners<'a>>,
}

/// Who has a node for himself, and who shares it.
#[derive(Default)]
struct Node<'a> {
    exclusive: Owners<'a>,
    shared: Owners<'a>,
}

/// Who has a place in the tree, and who has one beneath it.
#[derive(Default)]
struct At<'a> {
    itself: Owners<'a>,
    beneath: Owners<'a>,
}

/// All who have the same.
#[derive(Default)]
struct Owners<'a> {
    /// One that does not share, if there is one; else one of those that share with others that do: a newcomer must
    /// get along with all of them.
    strictest: Option<Owner<'a>>,
    /// Those that may be parts of it, of whom each must get along with each.
    parts: Vec<Owner<'a>>,
}

/// A unit of a plugin.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) footprint: &'a Footprint,
    /// Whether a consumer has it, or may have it.
    pub(crate) is_held: bool,
}

impl<'a> Owner<'a> {
    /// One that a consumer has.
    pub(crate) const fn held(plugin: &'a str, footprint: &'a Footprint) -> Self {
        Self { plugin, footprint, is_held: true }
    }

    /// Whether both are offered and either may be given: a whole, and a part of it.
    fn is_choice_with(self, other: Owner<'_>) -> bool {
        let (one, two) = (self.footprint, other.footprint);
        let are_counted = one.is_counted && two.is_counted && self.plugin == other.plugin;
        are_counted && !self.is_held && !other.is_held && one.part.is_some() != two.part.is_some()
    }

    /// Whether both may have the same.
    fn gets_along_with(self, other: Owner<'_>) -> bool {
        let parts = match (&self.footprint.part, &other.footprint.part) {
            (Some(one), Some(two)) => self.plugin == other.plugin && one.is_beside(two),
            _ => false,
        };
        parts || self.shares_with(other) || self.is_choice_with(other)
    }

    fn shares_with(self, other: Owner<'_>) -> bool {
        self.footprint.shares && other.footprint.shares
    }
}

/// One that wants to have something, and the parts that it was found to get along with.
struct Newcomer<'n> {
    owner: Owner<'n>,
    judged: RefCell<HashSet<*const Footprint>>,
}

impl<'n> Newcomer<'n> {
    fn new(owner: Owner<'n>) -> Self {
        let judged = RefCell::default();
        Self { owner, judged }
    }

    /// Whether it gets along with a part. Two parts may have many nodes in common, and are compared once.
    fn gets_along_with(&self, part: Owner<'_>) -> bool {
        let key = std::ptr::from_ref(part.footprint);
        if self.judged.borrow().contains(&key) {
            return true;
        }
        let fine = self.owner.gets_along_with(part);
        if fine {
            self.judged.borrow_mut().insert(key);
        }
        fine
    }
}

impl<'a> Owners<'a> {
    /// One that keeps another from having the same, if there is one.
    fn against(&self, new: &Newcomer<'_>) -> Option<Owner<'a>> {
        let full = self.parts.first().filter(|_| self.parts.len() >= MAX_PARTS);
        let strangers = self.strictest.iter().find(|owner| !owner.gets_along_with(new.owner));
        let owner = strangers.or(full);
        owner.or_else(|| self.parts.iter().find(|part| !new.gets_along_with(**part))).copied()
    }

    /// The same where the other only shares it: parts have nothing for themselves then.
    fn against_sharing(&self, new: Owner<'_>) -> Option<Owner<'a>> {
        let mut all = self.strictest.iter().chain(self.parts.first());
        all.find(|owner| !owner.shares_with(new)).copied()
    }

    fn add(&mut self, owner: Owner<'a>) {
        if owner.footprint.part.is_some() {
            self.parts.push(owner);
        } else {
            self.share(owner);
        }
    }

    /// The same for what the policy marks shared: no unit's part has it for itself.
    fn share(&mut self, owner: Owner<'a>) {
        if self.strictest.is_none_or(|known| known.footprint.shares && !owner.footprint.shares) {
            self.strictest = Some(owner);
        }
    }
}

impl<'a> Occupancy<'a> {
    /// Nothing is taken yet, of so many units.
    pub(crate) fn with_room_for(units: usize) -> Self {
        let mut all = Self::default();
        all.ids.reserve(units);
        all.nodes.reserve(units);
        // Each of its own, on its way.
        all.places.reserve(2 * units);
        all
    }

    /// Why a unit cannot be given beside those that are, if so.
    pub(crate) fn conflict(&self, new: Owner<'_>) -> Option<Lost> {
        let id_owner = self.ids.get(&new.footprint.id);
        let same_id = |owner: &Owner<'_>| {
            format!("id {} is already one of plugin {}; ids are unique on a node", new.footprint.id, owner.plugin)
        };
        let newcomer = Newcomer::new(new);
        let reason = self.node_conflict(&newcomer);
        let reason = reason.or_else(|| self.place_conflict(&newcomer));
        let reason = reason.or_else(|| self.value_conflict(new));
        let reason = reason.or_else(|| id_owner.map(same_id))?;
        Some(Lost { reason: reason.into(), id_taken: id_owner.is_some() })
    }

    fn node_conflict(&self, new: &Newcomer<'_>) -> Option<String> {
        let footprint = new.owner.footprint;
        let given = |number: &NodeNumber, owner: Owner<'_>| {
            format!("node {number} is already given to {} of plugin {}", owner.footprint.id, owner.plugin)
        };
        let exclusive = |number: &NodeNumber| Some(given(number, self.nodes.get(number)?.exclusive.against(new)?));
        let sharing = |number: &NodeNumber| {
            let owner = self.nodes.get(number)?.exclusive.against_sharing(new.owner)?;
            Some(given(number, owner))
        };
        let shared = |number: &NodeNumber| {
            let owner = self.nodes.get(number)?.shared.against_sharing(new.owner)?;
            Some(format!("node {number} is shared with {} of plugin {}", owner.footprint.id, owner.plugin))
        };
        let reason = footprint.exclusive.iter().find_map(exclusive);
        reason
            .or_else(|| footprint.shared.iter().find_map(sharing))
            .or_else(|| footprint.exclusive.iter().find_map(shared))
    }

    /// One device is made of the other where one lies beneath the other: a disk and its partition, a GPU and its node. Two nodes of one
    /// piece of hardware, neither of which lies beneath the other, are one as well.
    fn place_conflict(&self, new: &Newcomer<'_>) -> Option<String> {
        let mut piece = None;
        for (device, is) in places(new.owner.footprint) {
            let [backing, reached] = self.against(device.location(), is, new);
            if let Some(Owner { plugin, footprint, .. }) = backing {
                let (id, name) = (&footprint.id, device.name());
                return Some(format!("device {name} already backs {id} of plugin {plugin}, or a part of it does"));
            }
            piece = piece.or(reached.map(|owner| (device, owner)));
        }
        let (device, Owner { plugin, footprint, .. }) = piece?;
        let (id, name) = (&footprint.id, footprint.piece_with(new.owner.footprint).unwrap_or(device).name());
        Some(format!(
            "it is of one piece of hardware ({name}) with {id} of plugin {plugin}, and a pod has the whole; one unit may have both, or \
             the policy says what is apart (partitions, shares-hardware)"
        ))
    }

    /// What keeps a newcomer from a place that is this to it: the owner of it, of something above or of something beneath.
    fn against(&self, place: &str, is: [bool; 2], new: &Newcomer<'_>) -> [Option<Owner<'a>>; 2] {
        let mut found = [None; 2];
        let mut look = |at: &[At<'a>; 2], of: for<'t> fn(&'t At<'a>) -> &'t Owners<'a>| {
            for ((found, at), _) in found.iter_mut().zip(at).zip(is).filter(|(_, is)| *is) {
                *found = found.or_else(|| of(at).against(new));
            }
        };
        let here = self.places.get(place);
        let above = places_above(place).filter_map(|above| self.places.get(above));
        here.into_iter().chain(above).for_each(|at| look(at, |at| &at.itself));
        here.into_iter().for_each(|at| look(at, |at| &at.beneath));
        found
    }

    /// One value that stands for two units is one device to a program that goes by it. Parts of a device have values of their own.
    fn value_conflict(&self, new: Owner<'_>) -> Option<String> {
        new.footprint.values.iter().find_map(|value| {
            let owner = self.values.get(value.as_str())?.against_sharing(new)?;
            let (id, plugin) = (&owner.footprint.id, owner.plugin);
            let shown = escape(value, 160);
            Some(format!(
                "{shown} already stands for {id} of plugin {plugin}: by it this one's pod would get that one's device"
            ))
        })
    }

    /// Gives a unit what it claims.
    pub(crate) fn add(&mut self, owner: Owner<'a>) {
        self.ids.insert(&owner.footprint.id, owner);
        for number in &owner.footprint.exclusive {
            self.nodes.entry(*number).or_default().exclusive.add(owner);
        }
        for number in &owner.footprint.shared {
            self.nodes.entry(*number).or_default().shared.share(owner);
        }
        for (device, is) in places(owner.footprint) {
            let mut add = |place, of: for<'t> fn(&'t mut At<'a>) -> &'t mut Owners<'a>| {
                let at = self.places.entry(place).or_default().iter_mut().zip(is);
                at.filter(|(_, is)| *is).for_each(|(at, _)| of(at).add(owner));
            };
            add(device.location(), |at| &mut at.itself);
            places_above(device.location()).for_each(|above| add(above, |at| &mut at.beneath));
        }
        for value in &owner.footprint.values {
            self.values.entry(value).or_default().share(owner);
        }
    }
}

/// The places of a unit, each once, and whether that is what it is made of, and a piece that is its alone.
pub(super) fn places(footprint: &Footprint) -> impl Iterator<Item = (&DevicePath, [bool; 2])> {
    let backing = footprint.backing.iter().map(|at| (at, [true, footprint.pieces.contains(at)]));
    let others = footprint.pieces.iter().filter(|at| !footprint.backing.contains(at));
    backing.chain(others.map(|at| (at, [false, true])))
}
