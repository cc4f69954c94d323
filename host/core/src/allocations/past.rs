//! What was handed out before the host started, and who else's it must not become.
//!
//! Pods may still have it, whether or not a plugin lists it now: its component may be missing, or its entry gone from the
//! policy. So what would be refused beside a unit that is held is refused beside one that is remembered: the same device, one
//! above or beneath it, a node of its own by number, and by path as well, since the kubelet keeps paths.

use super::Key;
use super::contents::Contents;
use super::record::AllocatedUnit;
use crate::units::places_above;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An index of it, so that a unit is compared with what it could be in the way of.
#[derive(Default)]
pub(super) struct Past {
    then: BTreeMap<Key, AllocatedUnit>,
    /// Who had something of this name.
    had: HashMap<Kind, HashMap<String, Vec<Key>>>,
    /// Those of which nothing but the id is known: any hardware may be theirs.
    bare: BTreeSet<Key>,
}

/// What a name was of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// A place in the device tree of what each had for itself.
    Place,
    AbovePlace,
    /// The same with what its nodes reach besides.
    Piece,
    AbovePiece,
    /// The path of a node that each had for itself, or its number where that is of this boot.
    Own,
    /// The same of what each shared with others.
    Shared,
    /// The path of a node of one of which only the kubelet's records tell.
    Recorded,
}

const PLACE: [Kind; 2] = [Kind::Place, Kind::AbovePlace];
const PIECE: [Kind; 2] = [Kind::Piece, Kind::AbovePiece];

/// One that was handed out, and what it has in common with another unit.
pub(super) struct Clash<'a> {
    pub(super) of: &'a Key,
    /// `hardware`, or `node /dev/x`.
    pub(super) what: String,
}

impl Past {
    /// What was handed out by then; numbers count where they are of the boot that this is.
    pub(super) fn new(contents: &Contents, boot: Option<&str>) -> Self {
        let mut past = Self::default();
        for (key, unit) in contents.records() {
            past.insert(key, (**unit).clone().in_boot(boot));
        }
        past
    }

    /// This is known of one, in place of what was.
    pub(super) fn insert(&mut self, key: &Key, unit: AllocatedUnit) {
        self.forget(key);
        for (kind, name) in names(&unit) {
            self.had.entry(kind).or_default().entry(name.to_owned()).or_default().push(key.clone());
        }
        if unit.is_bare() {
            self.bare.insert(key.clone());
        }
        self.then.insert(key.clone(), unit);
    }

    /// It is this by now, if it was handed out by then.
    pub(super) fn replace(&mut self, key: &Key, unit: &AllocatedUnit) {
        if self.then.contains_key(key) {
            self.insert(key, unit.clone());
        }
    }

    /// No pod has it any more.
    pub(super) fn forget(&mut self, key: &Key) {
        let Some(unit) = self.then.remove(key) else { return };
        self.bare.remove(key);
        for (kind, name) in names(&unit) {
            let had = self.had.entry(kind).or_default();
            if let Some(of) = had.get_mut(name) {
                of.retain(|other| other != key);
                if of.is_empty() {
                    had.remove(name);
                }
            }
        }
    }

    /// One of which nothing but the id is known, if there is any.
    pub(super) fn first_bare(&self) -> Option<&Key> {
        self.bare.first()
    }

    /// One that was handed out under another id, and that a unit cannot be given beside; the first, if there are several.
    pub(super) fn clash<'a>(&'a self, key: &Key, now: &AllocatedUnit) -> Option<Clash<'a>> {
        let against = |kind: Kind, name: &str, parts: bool| {
            let stands = |then: &AllocatedUnit| {
                let beside = parts && then.is_part_beside(now);
                !(beside || (then.shares && now.shares))
            };
            let mut had = self.had.get(&kind)?.get(name)?.iter();
            had.find(|other| *other != key && self.then.get(*other).is_some_and(stands))
        };
        let at = |[is, above]: [Kind; 2], place: &str| {
            let mut at = std::iter::once(place).chain(places_above(place));
            at.find_map(|at| against(is, at, true)).or_else(|| against(above, place, true))
        };
        let place = now.own_places().find_map(|place| at(PLACE, place));
        let place = place.or_else(|| now.pieces().find_map(|place| at(PIECE, place)));
        if let Some(of) = place {
            return Some(Clash { of, what: "hardware".to_owned() });
        }
        now.names().find_map(|(shared, name)| {
            let others = [Kind::Shared, Kind::Recorded].into_iter().filter(|_| !shared);
            let own = against(Kind::Own, name, !shared);
            let of = own.or_else(|| others.into_iter().find_map(|kind| against(kind, name, false)))?;
            Some(Clash { of, what: format!("node {}", devgate_types::escape(name, 80)) })
        })
    }
}

/// All that tells one from others.
fn names(unit: &AllocatedUnit) -> impl Iterator<Item = (Kind, &str)> {
    let at = |[is, above]: [Kind; 2], place| {
        std::iter::once((is, place)).chain(places_above(place).map(move |place| (above, place)))
    };
    let places = unit.own_places().flat_map(move |place| at(PLACE, place));
    let pieces = unit.pieces().flat_map(move |place| at(PIECE, place));
    let names = unit.names().map(|(shared, name)| match shared {
        _ if unit.recorded => (Kind::Recorded, name),
        true => (Kind::Shared, name),
        false => (Kind::Own, name),
    });
    places.chain(pieces).chain(names)
}
