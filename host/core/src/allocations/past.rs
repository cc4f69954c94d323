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
    /// The places in the device tree of what each had for itself.
    places: Places,
    /// The same with what its nodes reach besides.
    pieces: Places,
    /// The paths of the nodes that each had for itself, and their numbers where they are of this boot.
    own: Index,
    /// The same of what each shared with others.
    shared: Index,
    /// The paths of the nodes of those of which only the kubelet's records tell.
    recorded: Index,
    /// Those of which nothing but the id is known: any hardware may be theirs.
    bare: BTreeSet<Key>,
}

#[derive(Default)]
struct Places {
    taken: Index,
    /// Every place above one of those.
    above: Index,
}

type Index = HashMap<String, Vec<Key>>;

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
        self.each(&unit, |index, name| {
            index.entry(name.to_owned()).or_default().push(key.clone());
        });
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
        self.each(&unit, |index, name| {
            if let Some(of) = index.get_mut(name) {
                of.retain(|other| other != key);
                if of.is_empty() {
                    index.remove(name);
                }
            }
        });
    }

    /// One of which nothing but the id is known, if there is any.
    pub(super) fn first_bare(&self) -> Option<&Key> {
        self.bare.first()
    }

    fn each(&mut self, unit: &AllocatedUnit, mut each: impl FnMut(&mut Index, &str)) {
        for place in unit.own_places() {
            self.places.each(place, &mut each);
        }
        for place in unit.pieces() {
            self.pieces.each(place, &mut each);
        }
        for (shared, name) in unit.names() {
            let index = match shared {
                _ if unit.recorded => &mut self.recorded,
                true => &mut self.shared,
                false => &mut self.own,
            };
            each(index, name);
        }
    }

    /// One that was handed out under another id, and that a unit cannot be given beside; the first, if there are several.
    pub(super) fn clash<'a>(&'a self, key: &Key, now: &AllocatedUnit) -> Option<Clash<'a>> {
        let against = |index: &'a Index, name: &str, what: &dyn Fn() -> String, parts: bool| {
            let of = index.get(name)?.iter().find(|other| {
                let stands = |then: &AllocatedUnit| {
                    let beside = parts && then.is_part_beside(now);
                    !(beside || (then.shares && now.shares))
                };
                *other != key && self.then.get(*other).is_some_and(stands)
            })?;
            Some(Clash { of, what: what() })
        };
        let hardware = || "hardware".to_owned();
        let at = |places: &'a Places, place: &str| {
            let mut at = std::iter::once(place).chain(places_above(place));
            at.find_map(|at| against(&places.taken, at, &hardware, true))
                .or_else(|| against(&places.above, place, &hardware, true))
        };
        let place = now.own_places().find_map(|place| at(&self.places, place));
        let place = place.or_else(|| now.pieces().find_map(|place| at(&self.pieces, place)));
        place.or_else(|| {
            now.names().find_map(|(shared, name)| {
                let what = || format!("node {}", devgate_types::escape(name, 80));
                let own = against(&self.own, name, &what, !shared);
                let shares = || against(&self.shared, name, &what, false);
                let recorded = || against(&self.recorded, name, &what, false);
                own.or_else(|| (!shared).then(|| shares().or_else(recorded)).flatten())
            })
        })
    }
}

impl Places {
    fn each(&mut self, place: &str, each: &mut impl FnMut(&mut Index, &str)) {
        each(&mut self.taken, place);
        for above in places_above(place) {
            each(&mut self.above, above);
        }
    }
}
