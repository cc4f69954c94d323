//! What is found, by resource.

use devgate_sdk::{Pool, Property, Unit};
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
        let pools = self.pools.into_iter();
        let mut pools: Vec<Pool> = pools.map(|(name, units)| Pool::new(name, units)).collect();
        if !self.unread.is_empty() {
            if pools.is_empty() {
                pools.push(Pool::new("devgate.dev/unread", Vec::new()));
            }
            let unread = Property::new("devgate.unread", self.unread.join(" "));
            if let Some(pool) = pools.first_mut() {
                pool.properties.push(unread);
            }
        }
        pools
    }
}
