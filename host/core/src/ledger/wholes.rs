//! Which units of a plugin are parts of which, where who picks them counts that.

use super::Footprint;
use super::occupancy::places;
use crate::units::places_above;
use devgate_types::{NodeNumber, UnitId};
use std::collections::{BTreeSet, HashMap};

/// The most wholes that a part is counted with.
const MAX_WHOLES: usize = 32;

/// The wholes of each part, and the parts of each whole.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wholes {
    wholes: HashMap<UnitId, BTreeSet<UnitId>>,
    parts: HashMap<UnitId, BTreeSet<UnitId>>,
}

impl Wholes {
    /// Of those that have a node or a place in common, or one beneath the other.
    pub(super) fn of(footprints: &[Footprint]) -> Self {
        let (parts, wholes): (Vec<_>, Vec<_>) =
            footprints.iter().filter(|footprint| footprint.is_counted).partition(|footprint| footprint.part.is_some());
        let mut all = Self::default();
        if parts.is_empty() {
            return all;
        }
        let mut index = Index::default();
        wholes.into_iter().for_each(|whole| index.add(whole));
        for part in parts {
            let mut of = BTreeSet::new();
            // No scheduler counts more, and the ledger refuses what cannot be.
            for whole in index.beside(part) {
                of.insert(whole.clone());
                if of.len() > MAX_WHOLES {
                    break;
                }
            }
            for whole in &of {
                all.parts.entry(whole.clone()).or_default().insert(part.id.clone());
            }
            if !of.is_empty() {
                all.wholes.insert(part.id.clone(), of);
            }
        }
        all
    }

    /// The wholes that a unit is a part of, or itself where it is one.
    pub(crate) fn wholes(&self, id: &UnitId) -> Vec<String> {
        match self.wholes.get(id) {
            Some(wholes) => wholes.iter().map(ToString::to_string).collect(),
            None => self.parts.contains_key(id).then(|| id.to_string()).into_iter().collect(),
        }
    }

    /// What is never given together with a unit for that.
    pub(crate) fn choices(&self, id: &UnitId) -> impl Iterator<Item = &UnitId> {
        self.wholes.get(id).or_else(|| self.parts.get(id)).into_iter().flatten()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.wholes.is_empty()
    }
}

/// Where wholes are: what they are made of and their pieces apart, as those of others are compared with each alone.
#[derive(Default)]
struct Index<'a> {
    nodes: HashMap<NodeNumber, Vec<&'a UnitId>>,
    at: [HashMap<&'a str, Vec<&'a UnitId>>; 2],
    beneath: [HashMap<&'a str, Vec<&'a UnitId>>; 2],
}

impl<'a> Index<'a> {
    fn add(&mut self, whole: &'a Footprint) {
        for node in &whole.exclusive {
            self.nodes.entry(*node).or_default().push(&whole.id);
        }
        for (device, is) in places(whole) {
            for ((at, beneath), _) in self.at.iter_mut().zip(&mut self.beneath).zip(is).filter(|(_, is)| *is) {
                at.entry(device.location()).or_default().push(&whole.id);
                for above in places_above(device.location()) {
                    beneath.entry(above).or_default().push(&whole.id);
                }
            }
        }
    }

    fn beside(&self, part: &'a Footprint) -> impl Iterator<Item = &'a UnitId> {
        let nodes = part.exclusive.iter().filter_map(|node| self.nodes.get(node));
        let places = places(part).flat_map(|(device, is)| {
            let tables = self.at.iter().zip(&self.beneath).zip(is).filter(|(_, is)| *is);
            tables.flat_map(|((at, beneath), _)| {
                let place = device.location();
                let here = [at.get(place), beneath.get(place)].into_iter().flatten();
                here.chain(places_above(place).filter_map(|above| at.get(above)))
            })
        });
        nodes.chain(places).flatten().copied()
    }
}
