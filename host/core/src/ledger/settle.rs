//! Who has what, where units of several plugins need the same hardware.

use super::occupancy::{Occupancy, Owner};
use super::{Entry, Footprint, PluginIndex};
use crate::units::Lost;
use devgate_types::{NodeNumber, UnitId};
use std::collections::{HashMap, HashSet};

/// A pool may list a shared node only later (a driver makes it at its first use): what is held shares it from then on, unless
/// a unit has it for itself.
pub(super) fn share_more(plugins: &mut [Entry], index: PluginIndex) {
    let own: HashSet<NodeNumber> =
        plugins.iter().flat_map(|entry| entry.held.values()).flat_map(|held| held.exclusive.iter().copied()).collect();
    let Some(entry) = plugins.get_mut(index.0) else { return };
    for footprint in &entry.footprints {
        let Some(held) = entry.held.get_mut(&footprint.id).filter(|held| footprint.is_as(held)) else {
            continue;
        };
        for number in &footprint.shared {
            if !held.shared.contains(number) && !own.contains(number) {
                held.shared.push(*number);
            }
        }
    }
}

/// Goes through all footprints, those that are handed out first, then those that once were, then in policy order, and gives
/// each what is left. Returns the places of those for whom the outcome is another now.
pub(super) fn settle(plugins: &mut [Entry]) -> Vec<PluginIndex> {
    let mut lost: Vec<HashMap<UnitId, Lost>> = vec![HashMap::new(); plugins.len()];
    let mut occupancy =
        Occupancy::with_room_for(plugins.iter().map(|entry| entry.held.len() + entry.footprints.len()).sum());
    for entry in plugins.iter() {
        for footprint in entry.held.values() {
            occupancy.add(Owner::held(&entry.name, footprint));
        }
    }
    let waiting = |entry: &Entry, footprint: &Footprint, remembered: bool| {
        !entry.held.contains_key(&footprint.id) && footprint.remembered == remembered
    };
    let mut order: Vec<_> = plugins.iter().enumerate().collect();
    order.sort_by_key(|(_, entry)| entry.rank);
    let turns =
        [true, false].into_iter().flat_map(|remembered| order.iter().map(move |(n, entry)| (*n, *entry, remembered)));
    for (n, entry, remembered) in turns {
        let Some(lost) = lost.get_mut(n) else { continue };
        for footprint in entry.footprints.iter().filter(|footprint| waiting(entry, footprint, remembered)) {
            let owner = Owner { plugin: &entry.name, footprint, is_held: remembered };
            match occupancy.conflict(owner) {
                Some(reason) => {
                    // Its id is its own all the same, as it is listed with the reason.
                    occupancy.ids.entry(&footprint.id).or_insert(owner);
                    lost.insert(footprint.id.clone(), reason);
                }
                None => occupancy.add(owner),
            }
        }
    }
    let mut other = Vec::new();
    for (n, (entry, lost)) in plugins.iter_mut().zip(lost).enumerate() {
        if entry.lost != lost {
            entry.lost = lost;
            other.push(PluginIndex(n));
        }
        entry.fresh.clear();
    }
    other
}
