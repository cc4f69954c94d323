//! What a newer host wrote: kept byte for byte, and what it gave to anybody stays held.

use super::allocation::{AllocationId, Ask, Take};
use super::change::Units;
use super::consumer::Consumer;
use super::journal::Kind;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Entries that this host cannot say itself, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Foreign {
    entries: Vec<(Kind, Arc<[u8]>)>,
    allocations: BTreeSet<AllocationId>,
}

impl Foreign {
    /// Keeps an entry.
    pub(super) fn keep(&mut self, kind: Kind, bytes: &[u8]) {
        self.entries.push((kind, bytes.into()));
    }

    /// Keeps the beginning of allocations whose consumer is not known, and says what they take; nothing where it is no such
    /// thing.
    pub(super) fn keep_acquire(
        &mut self,
        kind: Kind,
        bytes: &[u8],
    ) -> Option<(Consumer, BTreeMap<AllocationId, Ask>, Units)> {
        if kind != Kind::ACQUIRE {
            return None;
        }
        let what: Value = serde_json::from_slice(bytes).ok()?;
        let named = what.get("consumer")?.get("kind")?.as_str()?;
        let consumer = Consumer::Unknown { kind: named.to_owned() };
        let mut allocations = BTreeMap::new();
        for (id, ask) in what.get("allocations")?.as_object()? {
            let take = ask.get("take")?.as_array()?.iter();
            let take = take.map(|take| Some(Take::whole(take.get("unit")?.as_str()?)));
            let take = take.collect::<Option<Vec<_>>>()?;
            let ask = Ask::of(ask.get("resource")?.as_str()?, take);
            allocations.insert(AllocationId(id.parse().ok()?), ask);
        }
        // Of a unit that cannot be read nothing is known but that it is given.
        let units = what.get("units").cloned().map(serde_json::from_value).and_then(Result::ok);
        self.allocations.extend(allocations.keys());
        self.keep(kind, bytes);
        Some((consumer, allocations, units.unwrap_or_default()))
    }

    /// Whether an allocation is one of those.
    pub(super) fn has(&self, id: AllocationId) -> bool {
        self.allocations.contains(&id)
    }

    /// The entries, as they were.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Kind, Vec<u8>)> + '_ {
        self.entries.iter().map(|(kind, bytes)| (*kind, bytes.to_vec()))
    }
}
