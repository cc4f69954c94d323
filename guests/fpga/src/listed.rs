//! What is found, by resource.

use devgate_sdk::{Pool, Unit};
use std::collections::BTreeMap;

/// Units and what cannot be one now.
#[derive(Default)]
pub(crate) struct Listed {
    pools: BTreeMap<String, Vec<Unit>>,
    unread: Vec<String>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
}

impl Listed {
    pub(crate) fn add(&mut self, resource: String, unit: Unit) {
        self.pools.entry(resource).or_default().push(unit);
    }

    /// A device, by its kernel name, that is there and cannot be described now.
    pub(crate) fn unread(&mut self, name: &str, why: &str) {
        self.notes.push(format!("{name} is not offered now: {why}"));
        self.unread.push(name.to_owned());
    }

    /// The pools, with what is unread on one of them. Where there is none, as what it was cannot be told now, the host takes it from
    /// a pool without units, whatever its name is.
    pub(crate) fn pools(self) -> Vec<Pool> {
        let mut pools = self.pools.into_iter().map(|(name, units)| Pool::new(name, units));
        let none = || (!self.unread.is_empty()).then(|| Pool::new("devgate.dev/unread", Vec::new()));
        let first = pools.next().or_else(none).map(|first| first.with_unread(&self.unread));
        first.into_iter().chain(pools).collect()
    }
}
