//! Where a resource's units are: the part of the device tree that holds them, and their NUMA nodes.

use crate::units::UnitRecord;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Stands for the NUMA nodes of a unit that has none: not knowing is a node of its own, as for the kubelet.
const UNKNOWN: u32 = 63;

/// What choosing needs to know of a resource's units, whatever is free of them. Built when they change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Layout {
    /// The places where paths part or units are, parents first; the first is `/sys/devices` itself.
    pub(crate) branches: Vec<Branch>,
    /// The units, in the order of their ids.
    pub(crate) seats: Vec<Seat>,
}

/// A place in the device tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Branch {
    /// The next one above, by number; the root is its own.
    pub(crate) above: u32,
    /// How many steps of the device tree lie between the two.
    pub(crate) steps: u32,
}

/// A unit's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seat {
    /// The number of its branch.
    pub(crate) branch: u32,
    /// How many steps of the device tree lie between the root and it.
    pub(crate) depth: u32,
    /// A bit for each of its NUMA nodes.
    pub(crate) numa: u64,
}

impl Layout {
    /// The layout of these units, which are sorted by id.
    pub(crate) fn of(units: &[Arc<UnitRecord>]) -> Self {
        let place = |unit: &'_ Arc<UnitRecord>| {
            let location = common(unit.backing.iter().map(|device| device.location()));
            (location.to_owned(), unit.numa_nodes.clone())
        };
        let places: Vec<_> = units.iter().map(place).collect();
        Self::new(&places)
    }

    /// The layout of units by location (empty where nothing is known) and NUMA nodes.
    pub(crate) fn new(places: &[(String, BTreeSet<u32>)]) -> Self {
        let mut tree = Tree::default();
        let at: Vec<u32> = places.iter().map(|(location, _)| tree.grow(location)).collect();
        let (branches, moved) = tree.prune();
        let numa: BTreeSet<u32> = places.iter().flat_map(|(_, nodes)| nodes.iter().copied()).collect();
        let bit: HashMap<u32, u32> = numa
            .into_iter()
            .zip((0..UNKNOWN).chain(std::iter::repeat(UNKNOWN - 1)))
            .collect();
        let mut seats = Vec::with_capacity(places.len());
        for ((location, nodes), branch) in places.iter().zip(at) {
            let bits = nodes
                .iter()
                .filter_map(|node| bit.get(node))
                .fold(0, |bits, n| bits | 1 << n);
            seats.push(Seat {
                branch: moved.get(branch as usize).copied().unwrap_or_default(),
                depth: u32::try_from(steps(location).count()).unwrap_or(u32::MAX),
                numa: if bits == 0 { 1 << UNKNOWN } else { bits },
            });
        }
        Self { branches, seats }
    }
}

/// Every place on the way to a location, from the top.
fn steps(location: &str) -> impl Iterator<Item = &str> {
    let ends = location.match_indices('/').map(|(at, _)| at);
    let whole = (!location.is_empty()).then_some(location.len());
    ends.chain(whole).filter_map(|end| location.get(..end))
}

/// The place that all of these are at or beneath: what a unit of several devices is, as far as closeness goes.
fn common<'a>(mut locations: impl Iterator<Item = &'a str>) -> &'a str {
    let first = locations.next().unwrap_or_default();
    locations.fold(first, |common, location| {
        let same = steps(common).zip(steps(location)).take_while(|(a, b)| a == b);
        same.last().map_or("", |(place, _)| place)
    })
}

/// The tree while it grows: every place, by its path.
#[derive(Default)]
struct Tree<'a> {
    numbers: HashMap<&'a str, u32>,
    above: Vec<u32>,
    /// How many places are directly beneath, and whether a unit is there.
    beneath: Vec<(u32, bool)>,
}

impl<'a> Tree<'a> {
    /// Adds the way to a unit's location; the answer is its place's number.
    fn grow(&mut self, location: &'a str) -> u32 {
        let mut at = self.number("", 0);
        for place in steps(location) {
            at = self.number(place, at);
        }
        if let Some((_, taken)) = self.beneath.get_mut(at as usize) {
            *taken = true;
        }
        at
    }

    fn number(&mut self, place: &'a str, above: u32) -> u32 {
        if let Some(number) = self.numbers.get(place) {
            return *number;
        }
        let number = u32::try_from(self.above.len()).unwrap_or(u32::MAX);
        if let Some((places, _)) = self.beneath.get_mut(above as usize) {
            *places += 1;
        }
        self.numbers.insert(place, number);
        self.above.push(above);
        self.beneath.push((0, false));
        number
    }

    /// Without the places where nothing parts; and the new number of each that is left.
    fn prune(&self) -> (Vec<Branch>, Vec<u32>) {
        let mut branches: Vec<Branch> = Vec::new();
        let mut numbers = Vec::with_capacity(self.above.len());
        // Of each place: the number of the lowest branch at or above it, and how many steps beneath that it is.
        let mut reached: Vec<(u32, u32)> = Vec::with_capacity(self.above.len());
        for (n, (above, beneath)) in self.above.iter().zip(&self.beneath).enumerate() {
            let root = n == 0;
            let (above, steps) = reached
                .get(*above as usize)
                .map_or((0, 0), |(at, steps)| (*at, steps + 1));
            if *beneath == (1, false) && !root {
                reached.push((above, steps));
                numbers.push(above);
                continue;
            }
            let number = u32::try_from(branches.len()).unwrap_or(u32::MAX);
            branches.push(Branch { above, steps });
            reached.push((number, 0));
            numbers.push(number);
        }
        (branches, numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_of_several_devices_is_where_all_of_them_are() {
        assert_eq!(common(["pci0/a/b", "pci0/a/c", "pci0/a/b/d"].into_iter()), "pci0/a");
        assert_eq!(common(["pci0/a", "pci0/ab"].into_iter()), "pci0");
        assert_eq!(common(["pci0/a", "pci1/a"].into_iter()), "");
        assert_eq!(common(["pci0/a"].into_iter()), "pci0/a");
        assert_eq!(common(std::iter::empty()), "");
    }

    #[test]
    fn places_where_nothing_parts_are_one_branch_with_their_steps() {
        let unit = |location: &str, numa: &[u32]| (location.to_owned(), numa.iter().copied().collect());
        let layout = Layout::new(&[unit("p/q/a/x", &[4]), unit("p/q/b", &[]), unit("p/q/b/y", &[2, 4])]);
        let branch = |above, steps| Branch { above, steps };
        let seat = |branch, depth, numa| Seat { branch, depth, numa };
        assert_eq!(
            layout.branches,
            [branch(0, 0), branch(0, 2), branch(1, 2), branch(1, 1), branch(3, 1)]
        );
        assert_eq!(
            layout.seats,
            [seat(2, 4, 0b10), seat(3, 3, 1 << UNKNOWN), seat(4, 4, 0b11)]
        );
    }
}
