//! All plugins of a policy on one node.

use crate::calls::Inline;
use crate::claims::{Ledger, Place};
use crate::memory::Memory;
use crate::offer::Offers;
use crate::plugin::{Loader, Plugin};
use crate::registry::Registry;
use crate::status::Watch;
use crate::watcher::Watcher;
use devgate_node::Node;
use devgate_policy::Policy;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

/// What plugins run on. Cheap to clone.
#[derive(Clone)]
pub struct Surroundings {
    /// The node that they see.
    pub node: Node,
    /// Where their components come from.
    pub loader: Arc<dyn Loader>,
    /// Leave to run calls on threads that serve others.
    pub inline: Inline,
    /// What was handed out, also before the host started.
    pub memory: Memory,
}

/// What all plugins of a host share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) around: Surroundings,
    pub(crate) ledger: Ledger,
    pub(crate) registry: Registry,
    pub(crate) watch: Watch,
    pub(crate) watcher: Watcher,
    /// When the host began: ticks are counted from it.
    pub(crate) born: Instant,
}

/// The running plugins. Dropping this ends their tasks; calls that block are not waited for.
pub struct Plugins {
    registry: Registry,
    tasks: JoinSet<()>,
    watch: Watch,
}

impl Plugins {
    /// Starts one task for each entry of the policy. Needs a tokio runtime.
    #[must_use]
    pub fn start(policy: &Policy, around: Surroundings) -> Self {
        let watcher = Watcher::new(around.node.clone());
        let shared = Shared {
            around,
            watcher,
            ledger: Ledger::new(policy.plugins.keys().map(ToString::to_string)),
            registry: Registry::new(),
            watch: Watch::default(),
            born: Instant::now(),
        };
        let mut tasks = JoinSet::new();
        for (place, policy) in policy.plugins.values().enumerate() {
            let plugin = Plugin::new(Place(place), Arc::new(policy.clone()), shared.clone());
            tasks.spawn(plugin.run());
        }
        let Shared { registry, watch, .. } = shared;
        Self { registry, tasks, watch }
    }

    /// Waits until a plugin's task ends, which only a bug of the host makes happen: nobody looks after its devices any
    /// more. The text says why.
    pub async fn failed(&mut self) -> String {
        match self.tasks.join_next().await {
            Some(Err(error)) => format!("a plugin's task failed: {error}"),
            Some(Ok(())) => "a plugin's task ended".to_owned(),
            // Without plugins there is nothing that could fail.
            None => std::future::pending().await,
        }
    }

    /// What is known about every plugin, for whoever asks.
    #[must_use]
    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// What is offered now, and a way to be told when there is more.
    #[must_use]
    pub fn offers(&self) -> Offers {
        self.registry.offers()
    }
}
