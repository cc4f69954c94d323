//! What pods have, which never say when they are done with it, for the task that finds that out: read with its version, and given back
//! only if nothing happened to it since.

mod find;

pub(crate) use find::find;

use crate::allocations::Allocations;
use crate::held_units::Reclaimable;
use crate::registry::Registry;
use std::time::Instant;
use tokio::task::JoinSet;

/// Gives back what pods were found to be done with. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Reclaim {
    registry: Registry,
    allocations: Allocations,
    born: Instant,
}

impl Reclaim {
    pub(crate) fn new(registry: Registry, allocations: Allocations) -> Self {
        let born = Instant::now();
        Self { registry, allocations, born }
    }

    /// All that such consumers have. What no plugin lists may have been given just before the host started.
    fn held(&self) -> Vec<Reclaimable> {
        let plugins = self.registry.plugins();
        let listed = plugins.iter().flat_map(|core| core.held());
        let unclaimed = self.allocations.unclaimed().into_iter().map(|(resource, id)| Reclaimable {
            resource,
            id,
            since: self.born,
            may_end: true,
            version: None,
        });
        listed.chain(unclaimed).collect()
    }

    /// Takes note of units that pods are seen to have and that were not known to be given, by resource and id.
    fn adopt(&self, is_seen: impl Fn(&str, &str) -> bool) {
        for core in self.registry.plugins() {
            core.adopt(&is_seen);
        }
    }

    /// Gives these back, but for those that something happened to. Ends when their components have released them.
    async fn reclaim(self, held: Vec<Reclaimable>) {
        let unclaimed = held.iter().filter(|held| held.version.is_none());
        let unclaimed: Vec<_> = unclaimed.map(|held| (held.resource.clone(), held.id.clone())).collect();
        if !unclaimed.is_empty() {
            let forgotten = unclaimed.len();
            tracing::info!(forgotten, "{forgotten} ids that no plugin lists and no pod has any more are forgotten");
            self.allocations.forget_unclaimed(&unclaimed);
        }
        let mut plugins = JoinSet::new();
        for core in self.registry.plugins() {
            let is_its = |held: &&Reclaimable| held.version.is_some_and(|(index, _)| index == core.index);
            let its: Vec<_> = held.iter().filter(is_its).cloned().collect();
            if !its.is_empty() {
                plugins.spawn(async move { core.reclaim(&its).await });
            }
        }
        while plugins.join_next().await.is_some() {}
    }
}
