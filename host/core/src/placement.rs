//! Which devices to take where the kubelet has a choice: the host's own answer, from what it knows of every unit.
//!
//! One rule after the other, each among what the ones before leave equal; `docs/policy.md` says the same for people:
//!
//! 1. as few replicas of one unit as can be;
//! 2. on as few NUMA nodes as can be;
//! 3. as close together in the device tree as can be: two units are the closer, the more steps of their paths they share;
//! 4. as the policy's placement says, units first and then the branches that they are on: packed leaves what stays free as
//!    close together as can be, spread keeps what is in use as far apart as can be;
//! 5. the lowest ids.
//!
//! Rules 1 and 2 are always kept, and so are 3 and 4 for a single unit and for units side by side on one branch. Otherwise
//! a cheap choice is found in place of the cheapest one: see [`greedy`].

mod cost;
mod greedy;
mod numa;
mod preference;
mod request;
mod share;

use crate::units::Topology;
use cost::{Cost, Costs};
use devgate_policy::Placement;
pub(crate) use preference::IgnoredAnswers;
pub(crate) use request::Request;
use share::{Base, Slots};
use std::collections::BTreeMap;

/// The most units that are looked at for one choice, where there are several sets of NUMA nodes to try: about 30 ms.
const MAX_LOOKS: usize = 300_000;

/// Finds the units of one more replica each among those that are open, and what that costs.
type Cheapest = fn(&Topology, &Costs<'_>, &dyn Fn(usize) -> bool, usize) -> (Cost, Vec<usize>);

/// How many replicas of each unit to take, `size` in all; nothing where that cannot be done.
fn choose(
    topology: &Topology,
    slots: &[Slots],
    size: usize,
    placement: Placement,
    cheapest: Cheapest,
) -> Option<Vec<u32>> {
    let Base { mut taken, open, rest } = Base::of(slots, size)?;
    let costs = Costs::new(topology, slots, &taken, placement);
    let (mut needed, mut free) = (0, BTreeMap::new());
    for ((position, taken), open) in topology.positions.iter().zip(&taken).zip(&open) {
        needed |= if *taken > 0 { position.numa } else { 0 };
        *free.entry(position.numa).or_insert(0) += u64::from(*open);
    }
    let sets = numa::smallest_sets(needed, &free, u64::try_from(rest).unwrap_or(u64::MAX));
    let most = MAX_LOOKS.checked_div(topology.positions.len()).unwrap_or_default().max(1);
    let within = |set: u64| {
        let within = |unit: usize| {
            let position = topology.positions.get(unit);
            position.is_some_and(|position| position.numa & !set == 0) && open.get(unit).copied().unwrap_or_default()
        };
        cheapest(topology, &costs, &within, rest)
    };
    let best = sets.into_iter().take(most).map(within).min_by_key(|(cost, _)| *cost);
    for unit in best.into_iter().flat_map(|(_, units)| units) {
        if let Some(taken) = taken.get_mut(unit) {
            *taken += 1;
        }
    }
    Some(taken)
}

#[cfg(test)]
mod tests;
