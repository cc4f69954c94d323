//! Who has what of the host's hardware, and who may have the same besides.

use super::Claim;
use crate::units::Lost;
use crate::units::MOST_PARTS;
use devgate_node::DevicePath;
use devgate_types::{NodeNumber, UnitId, escape};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// Who has what, while it is being settled.
#[derive(Default)]
pub(crate) struct Taken<'a> {
    pub(super) ids: HashMap<&'a UnitId, Owner<'a>>,
    exclusive: HashMap<NodeNumber, Owners<'a>>,
    shared: HashMap<NodeNumber, Owners<'a>>,
    backing: Places<'a>,
    pieces: Places<'a>,
    values: HashMap<&'a str, Owners<'a>>,
}

/// Who has which place in the tree.
#[derive(Default)]
struct Places<'a> {
    taken: HashMap<&'a str, Owners<'a>>,
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

/// A unit of a plugin.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) claim: &'a Claim,
}

impl Owner<'_> {
    /// Whether both may have the same.
    fn gets_along_with(self, other: Owner<'_>) -> bool {
        let parts = match (&self.claim.part, &other.claim.part) {
            (Some(one), Some(two)) => self.plugin == other.plugin && one.is_beside(two),
            _ => false,
        };
        parts || self.shares_with(other)
    }

    fn shares_with(self, other: Owner<'_>) -> bool {
        self.claim.shares && other.claim.shares
    }
}

/// One that wants to have something, and the parts that it was found to get along with.
struct Newcomer<'n> {
    owner: Owner<'n>,
    judged: RefCell<HashSet<*const Claim>>,
}

impl<'n> Newcomer<'n> {
    fn new(owner: Owner<'n>) -> Self {
        let judged = RefCell::default();
        Self { owner, judged }
    }

    /// Whether it gets along with a part. Two parts may have many nodes in common, and are compared once.
    fn gets_along_with(&self, part: Owner<'_>) -> bool {
        let key = std::ptr::from_ref(part.claim);
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
        let full = self.parts.first().filter(|_| self.parts.len() >= MOST_PARTS);
        let strangers = self.strictest.iter().find(|owner| !owner.gets_along_with(new.owner));
        let owner = strangers.or(full);
        owner
            .or_else(|| self.parts.iter().find(|part| !new.gets_along_with(**part)))
            .copied()
    }

    /// The same where the other only shares it: parts have nothing for themselves then.
    fn against_sharing(&self, new: Owner<'_>) -> Option<Owner<'a>> {
        let mut all = self.strictest.iter().chain(self.parts.first());
        all.find(|owner| !owner.shares_with(new)).copied()
    }

    fn add(&mut self, owner: Owner<'a>) {
        if owner.claim.part.is_some() {
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
    /// Why a unit cannot be given beside those that are, if so.
    pub(crate) fn conflict(&self, new: Owner<'_>) -> Option<Lost> {
        let id_owner = self.ids.get(&new.claim.id);
        let same_id = |owner: &Owner<'_>| {
            format!(
                "id {} is already one of plugin {}; ids are unique on a node",
                new.claim.id, owner.plugin
            )
        };
        let newcomer = Newcomer::new(new);
        let reason = self.node_conflict(&newcomer);
        let reason = reason.or_else(|| self.backing_conflict(&newcomer));
        let reason = reason.or_else(|| self.piece_conflict(&newcomer));
        let reason = reason.or_else(|| self.value_conflict(new));
        let reason = reason.or_else(|| id_owner.map(same_id))?;
        Some(Lost {
            reason: reason.into(),
            id_taken: id_owner.is_some(),
        })
    }

    fn node_conflict(&self, new: &Newcomer<'_>) -> Option<String> {
        let claim = new.owner.claim;
        let given = |number: &NodeNumber, owner: Owner<'_>| {
            format!(
                "node {number} is already given to {} of plugin {}",
                owner.claim.id, owner.plugin
            )
        };
        let exclusive = |number: &NodeNumber| Some(given(number, self.exclusive.get(number)?.against(new)?));
        let sharing = |number: &NodeNumber| {
            let owner = self.exclusive.get(number)?.against_sharing(new.owner)?;
            Some(given(number, owner))
        };
        let shared = |number: &NodeNumber| {
            let owner = self.shared.get(number)?.against_sharing(new.owner)?;
            Some(format!(
                "node {number} is shared with {} of plugin {}",
                owner.claim.id, owner.plugin
            ))
        };
        let reason = claim.exclusive.iter().find_map(exclusive);
        reason
            .or_else(|| claim.shared.iter().find_map(sharing))
            .or_else(|| claim.exclusive.iter().find_map(shared))
    }

    /// One device is made of the other where one lies beneath the other: a disk and its partition, a GPU and its node.
    fn backing_conflict(&self, new: &Newcomer<'_>) -> Option<String> {
        let (device, owner) = self.backing.against(&new.owner.claim.backing, new)?;
        let (id, plugin) = (&owner.claim.id, owner.plugin);
        let name = device.name();
        Some(format!(
            "device {name} already backs {id} of plugin {plugin}, or a part of it does"
        ))
    }

    /// Two nodes of one piece of hardware, neither of which lies beneath the other, are one as well.
    fn piece_conflict(&self, new: &Newcomer<'_>) -> Option<String> {
        let (device, owner) = self.pieces.against(&new.owner.claim.pieces, new)?;
        let (id, plugin) = (&owner.claim.id, owner.plugin);
        let piece = owner.claim.piece_with(new.owner.claim).unwrap_or(device).name();
        Some(format!(
            "it is of one piece of hardware ({piece}) with {id} of plugin {plugin}, and a pod has the whole; one unit may have both, or \
             the policy says what is apart (partitions, shares-hardware)"
        ))
    }

    /// One value that stands for two units is one device to whoever goes by it. Parts of a device have values of their own.
    fn value_conflict(&self, new: Owner<'_>) -> Option<String> {
        new.claim.values.iter().find_map(|value| {
            let owner = self.values.get(value.as_str())?.against_sharing(new)?;
            let (id, plugin) = (&owner.claim.id, owner.plugin);
            let shown = escape(value, 160);
            Some(format!(
                "{shown} already stands for {id} of plugin {plugin}: by it this one's pod would get that one's device"
            ))
        })
    }

    /// Gives a unit what it claims.
    pub(crate) fn take(&mut self, owner: Owner<'a>) {
        self.ids.insert(&owner.claim.id, owner);
        for number in &owner.claim.exclusive {
            self.exclusive.entry(*number).or_default().add(owner);
        }
        for number in &owner.claim.shared {
            self.shared.entry(*number).or_default().share(owner);
        }
        self.backing.take(&owner.claim.backing, owner);
        self.pieces.take(&owner.claim.pieces, owner);
        for value in &owner.claim.values {
            self.values.entry(value).or_default().share(owner);
        }
    }
}

impl<'a> Places<'a> {
    /// The first of these devices that another one has, or something above or beneath, and who that is.
    fn against<'d>(&self, devices: &'d [DevicePath], new: &Newcomer<'_>) -> Option<(&'d DevicePath, Owner<'a>)> {
        devices.iter().find_map(|device| {
            let at = device.location();
            let same_or_above = std::iter::once(at)
                .chain(places_above(at))
                .find_map(|place| self.taken.get(place)?.against(new));
            let owner = same_or_above.or_else(|| self.above.get(at)?.against(new))?;
            Some((device, owner))
        })
    }

    fn take(&mut self, devices: &'a [DevicePath], owner: Owner<'a>) {
        for device in devices {
            self.taken.entry(device.location()).or_default().add(owner);
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
