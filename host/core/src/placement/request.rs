//! From a front end's ids to what there is of each unit, and back.

use super::{Slots, greedy};
use crate::replica::{replica_id, split_replica};
use crate::unit_table::Snapshot;
use devgate_policy::Placement;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A choice to be made.
pub(crate) struct Request {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) replicas: u32,
    placement: Placement,
    pub(super) size: usize,
    /// What may be taken, sorted, each once.
    pub(super) free: Vec<Free>,
}

/// A replica that may be taken: of which unit, whether it must be, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Free {
    pub(super) unit: usize,
    number: u32,
    pub(super) may_be_left: bool,
}

impl Request {
    /// Understands a request. An id that cannot be handed out now is not available, whatever the front end says. Nothing
    /// where no answer is possible.
    pub(crate) fn new(
        snapshot: Arc<Snapshot>,
        replicas: u32,
        placement: Placement,
        available: &[String],
        must_include: &[String],
        size: usize,
    ) -> Option<Self> {
        let find = |id: &String| {
            let (base, number) = split_replica(id, replicas)?;
            let (unit, _, causes) = snapshot.find(base)?;
            causes.is_empty().then_some((unit, number))
        };
        let mut free: BTreeMap<_, bool> = available.iter().filter_map(find).map(|at| (at, true)).collect();
        for id in must_include {
            *free.get_mut(&find(id)?)? = false;
        }
        let free = free.into_iter().map(|((unit, number), may_be_left)| Free { unit, number, may_be_left });
        let free = free.collect();
        Some(Self { snapshot, replicas, placement, size, free })
    }

    /// How many ids there are to choose from.
    pub(crate) fn available(&self) -> usize {
        self.free.len()
    }

    /// The host's choice, sorted; empty where `size` cannot be reached.
    pub(crate) fn choose(&self) -> Vec<String> {
        let (topology, slots) = (&self.snapshot.topology, self.slots());
        let counts = super::choose(topology, &slots, self.size, self.placement, greedy::cheapest);
        let Some(counts) = counts else {
            return Vec::new();
        };
        let mut chosen = Vec::with_capacity(self.size);
        for of_unit in self.free.chunk_by(|a, b| a.unit == b.unit) {
            let count = of_unit.first().and_then(|free| counts.get(free.unit));
            let mut of_unit = of_unit.to_vec();
            // Those that must be taken, then the lowest.
            of_unit.sort_unstable_by_key(|free| (free.may_be_left, free.number));
            chosen.extend(of_unit.into_iter().take(count.map_or(0, |count| *count as usize)));
        }
        chosen.sort_unstable();
        let id = |free: Free| {
            let unit = self.snapshot.pool.units.get(free.unit)?;
            Some(replica_id(&unit.id, self.replicas, free.number))
        };
        chosen.into_iter().filter_map(id).collect()
    }

    fn slots(&self) -> Vec<Slots> {
        let mut slots = vec![Slots::default(); self.snapshot.pool.units.len()];
        for free in &self.free {
            if let Some(slot) = slots.get_mut(free.unit) {
                slot.free += 1;
                slot.must += u32::from(!free.may_be_left);
            }
        }
        // What could be given and is not available is in use. A front end may keep back more than that; then it is the
        // same for all that it lets be chosen.
        let units = slots.iter_mut().zip(&self.snapshot.published);
        for (slot, _) in units.filter(|(_, unit)| unit.causes.is_empty()) {
            slot.used = self.replicas.max(1).saturating_sub(slot.free);
        }
        slots
    }
}

#[cfg(test)]
mod tests;
