//! All plugins of a policy on one node.

use crate::calls::Inline;
use crate::claims::{Ledger, Place};
use crate::offer::Offers;
use crate::plugin::{Loader, Plugin};
use crate::registry::Registry;
use devgate_node::Node;
use devgate_policy::Policy;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The running plugins. Dropping this ends their tasks; calls that block are not waited for.
pub struct Plugins {
    registry: Registry,
    _tasks: JoinSet<()>,
}

impl Plugins {
    /// Starts one task for each entry of the policy. Needs a tokio runtime.
    #[must_use]
    pub fn start(policy: &Policy, node: &Node, loader: &Arc<dyn Loader>, inline: &Inline) -> Self {
        let ledger = Ledger::new(policy.plugins.keys().map(ToString::to_string));
        let registry = Registry::new();
        let mut tasks = JoinSet::new();
        for (place, policy) in policy.plugins.values().enumerate() {
            let plugin = Plugin::new(
                Place(place),
                Arc::new(policy.clone()),
                node.clone(),
                Arc::clone(loader),
                ledger.clone(),
                registry.clone(),
                inline.clone(),
            );
            tasks.spawn(plugin.run());
        }
        Self {
            registry,
            _tasks: tasks,
        }
    }

    /// What is offered now, and a way to be told when there is more.
    #[must_use]
    pub fn offers(&self) -> Offers {
        self.registry.offers()
    }
}
