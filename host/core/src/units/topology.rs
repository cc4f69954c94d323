//! Where a resource's units are: the part of the device tree that holds them, and their NUMA nodes.

use crate::units::UnitRecord;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Stands for the NUMA nodes of a unit that has none: not knowing is a node of its own, as for the kubelet.
const UNKNOWN: u32 = 63;

/// What choosing needs to know of a resource's units, whatever is free of them. Built when they change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Topology {
    /// Every place on the way to units, parents first, by the number of the one above it; the first is `/sys/devices` itself.
    pub(crate) branches: Vec<usize>,
    /// The units, in the order of their ids.
    pub(crate) positions: Vec<Position>,
}

/// A unit's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// The number of its branch.
    pub(crate) branch: usize,
    /// How many steps of the device tree lie between the root and it.
    pub(crate) depth: u32,
    /// A bit for each of its NUMA nodes.
    pub(crate) numa: u64,
}

impl Topology {
    /// The topology of these units, which are sorted by id.
    pub(crate) fn of(units: &[Arc<UnitRecord>]) -> Self {
        let place = |unit: &'_ Arc<UnitRecord>| {
            let location = common(unit.backing.iter().map(|device| device.location()));
            (location.to_owned(), unit.numa_nodes.clone())
        };
        let places: Vec<_> = units.iter().map(place).collect();
        Self::new(&places)
    }

    /// The topology of units by location (empty where nothing is known) and NUMA nodes.
    pub(crate) fn new(places: &[(String, BTreeSet<u32>)]) -> Self {
        let numa: BTreeSet<u32> = places.iter().flat_map(|(_, nodes)| nodes.iter().copied()).collect();
        let bits = (0..UNKNOWN).chain(std::iter::repeat(UNKNOWN - 1));
        let bits: HashMap<u32, u32> = numa.into_iter().zip(bits).collect();
        let (mut branches, mut numbers) = (vec![0], HashMap::new());
        let mut positions = Vec::with_capacity(places.len());
        for (location, nodes) in places {
            let (mut branch, mut depth) = (0, 0);
            for place in steps(location) {
                let above = branch;
                branch = *numbers.entry(place).or_insert_with(|| {
                    branches.push(above);
                    branches.len() - 1
                });
                depth += 1;
            }
            let numa = nodes.iter().filter_map(|node| bits.get(node)).fold(0, |numa, bit| numa | 1 << bit);
            let numa = if numa == 0 { 1 << UNKNOWN } else { numa };
            positions.push(Position { branch, depth, numa });
        }
        Self { branches, positions }
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
    fn every_place_on_the_way_is_a_branch_and_known_once() {
        let unit = |location: &str, numa: &[u32]| (location.to_owned(), numa.iter().copied().collect());
        let topology =
            Topology::new(&[unit("p/q/a/x", &[4]), unit("p/q/b", &[]), unit("p/q/b/y", &[2, 4]), unit("", &[])]);
        let position = |branch, depth, numa| Position { branch, depth, numa };
        // The root, p, q, a, x, b and y.
        assert_eq!(topology.branches, [0, 0, 1, 2, 3, 2, 5]);
        let unknown = 1 << UNKNOWN;
        assert_eq!(
            topology.positions,
            [position(4, 4, 0b10), position(5, 3, unknown), position(6, 4, 0b11), position(0, 0, unknown)]
        );
    }
}
