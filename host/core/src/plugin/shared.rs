//! What plugins run on, and what all of a host share.

use crate::allocations::Allocations;
use crate::health_store::HealthStore;
use crate::holders::HoldersFeed;
use crate::labels::NodeLabels;
use crate::ledger::Ledger;
use crate::loader::Loader;
use crate::registry::Registry;
use crate::watcher::Watcher;
use devgate_node::Node;
use std::sync::Arc;
use std::time::Instant;

/// What plugins run on. Cheap to clone.
#[derive(Clone)]
pub struct Surroundings {
    /// The node that they see.
    pub node: Node,
    /// Where their components come from.
    pub loader: Arc<dyn Loader>,
    /// What was handed out, also before the host started.
    pub allocations: Allocations,
    /// Which container has which device, as far as the kubelet tells.
    pub holders: HoldersFeed,
}

/// What all plugins of a host share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) around: Surroundings,
    pub(crate) ledger: Ledger,
    pub(crate) registry: Registry,
    pub(crate) health_store: HealthStore,
    pub(crate) watcher: Watcher,
    pub(crate) labels: NodeLabels,
    /// When the host began: ticks are counted from it.
    pub(crate) born: Instant,
}
