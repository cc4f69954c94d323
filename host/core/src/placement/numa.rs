//! On which NUMA nodes to take what is asked for: on as few as can be.

use std::collections::BTreeMap;

/// The most NUMA nodes of which every set is looked at. Two processors cut into eight parts have eight.
const MAX_NODES: u32 = 12;
/// The most sets that are worth comparing.
const MAX_SETS: usize = 256;

/// The smallest sets of NUMA nodes (a bit for each) that hold `base` and where `rest` more units can be taken, those with
/// the fewest units first. `free` says how many can be taken by the nodes that they need. At least one where there are
/// enough units at all.
pub(super) fn smallest_sets(base: u64, free: &BTreeMap<u64, u64>, rest: u64) -> Vec<u64> {
    let room = |set: u64| -> u64 {
        let held = free.iter().filter(|(nodes, _)| *nodes & !set == 0);
        held.map(|(_, count)| count).sum()
    };
    if room(base) >= rest {
        return vec![base];
    }
    let more = free.keys().fold(0, |all, nodes| all | nodes) & !base;
    if more.count_ones() > MAX_NODES {
        return vec![grow(base, free, rest, &room)];
    }
    let (mut fewest, mut found) = (u32::MAX, Vec::new());
    for added in subsets(more).filter(|set| *set != 0) {
        let (count, room) = (added.count_ones(), room(base | added));
        if count > fewest || room < rest {
            continue;
        }
        if count < fewest {
            fewest = count;
            found.clear();
        }
        found.push((room, base | added));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, set)| set).take(MAX_SETS).collect()
}

/// Every subset of a set of bits.
fn subsets(of: u64) -> impl Iterator<Item = u64> {
    let next = move |set: &u64| (*set != of).then(|| (set.wrapping_sub(of)) & of);
    std::iter::successors(Some(0), next)
}

/// Node by node, those with the most units first: the fewest where every unit has one node.
fn grow(base: u64, free: &BTreeMap<u64, u64>, rest: u64, room: &dyn Fn(u64) -> u64) -> u64 {
    let mut set = base;
    while room(set) < rest {
        let wider = free.keys().map(|nodes| set | nodes).filter(|wider| *wider != set);
        // The most units for each node more; of equals, the lowest nodes.
        let value = |wider: &u64| (room(*wider) << 8) / u64::from((wider & !set).count_ones());
        match wider.max_by_key(|wider| (value(wider), std::cmp::Reverse(*wider))) {
            Some(wider) => set = wider,
            None => break,
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_nodes_are_taken_and_all_such_sets_are_found() {
        let free = BTreeMap::from([(0b001, 4), (0b010, 3), (0b100, 2)]);
        assert_eq!(smallest_sets(0, &free, 2), [0b100, 0b010, 0b001]);
        assert_eq!(smallest_sets(0, &free, 4), [0b001]);
        assert_eq!(smallest_sets(0, &free, 6), [0b101, 0b011], "the last two have room for five");
        assert_eq!(smallest_sets(0b100, &free, 2), [0b100], "what must be taken counts");
        assert_eq!(smallest_sets(0b100, &free, 5), [0b110, 0b101]);
        assert_eq!(smallest_sets(0, &BTreeMap::from([(0b11, 2), (0b100, 1)]), 2), [0b11]);
    }

    #[test]
    fn with_more_nodes_than_can_be_tried_the_fullest_are_taken() {
        let free: BTreeMap<u64, u64> = (0..40).map(|n| (1 << n, n + 1)).collect();
        assert_eq!(smallest_sets(0, &free, 79), [0b11 << 38]);
        assert_eq!(smallest_sets(1, &free, 41), [1 | 1 << 39]);
    }
}
