//! All plugins of a policy on one node.

use crate::calls::Inline;
use crate::claims::{Ledger, Place};
use crate::memory::Memory;
use crate::offer::Offers;
use crate::plugin::{Loader, Plugin};
use crate::registry::Registry;
use devgate_node::Node;
use devgate_policy::Policy;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

/// The running plugins. Dropping this ends their tasks; calls that block are not waited for.
pub struct Plugins {
    registry: Registry,
    tasks: JoinSet<()>,
}

impl Plugins {
    /// Starts one task for each entry of the policy. Needs a tokio runtime.
    #[must_use]
    pub fn start(policy: &Policy, node: &Node, loader: &Arc<dyn Loader>, inline: &Inline, memory: &Memory) -> Self {
        let ledger = Ledger::new(policy.plugins.keys().map(ToString::to_string));
        let registry = Registry::new();
        let (mut tasks, born) = (JoinSet::new(), Instant::now());
        for (place, policy) in policy.plugins.values().enumerate() {
            let plugin = Plugin::new(
                Place(place),
                Arc::new(policy.clone()),
                node.clone(),
                Arc::clone(loader),
                ledger.clone(),
                registry.clone(),
                inline.clone(),
                memory.clone(),
                born,
            );
            tasks.spawn(plugin.run());
        }
        Self { registry, tasks }
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

    /// What is offered now, and a way to be told when there is more.
    #[must_use]
    pub fn offers(&self) -> Offers {
        self.registry.offers()
    }
}
