//! One of the two policies, with its components.

use super::costs::{CallCost, Costs, Measured};
use super::offered::Offered;
use devgate::components::Components;
use devgate::loader::ComponentLoader;
use devgate_core::{LoadFailure, Loader};
use devgate_node::Node;
use devgate_policy::{PluginPolicy, Policy};
use devgate_runner::{CodeCache, Programs, Runners};
use devgate_types::component::Component;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A policy and what runs its components.
pub(crate) struct Side {
    policy: Policy,
    loader: LoadedOnce,
}

/// What came of loading a component.
type Loaded = Result<Arc<dyn Component>, LoadFailure>;

/// Loads each plugin's component once, whatever the number of nodes.
struct LoadedOnce {
    loader: ComponentLoader,
    loaded: Mutex<HashMap<String, Loaded>>,
    costs: Costs,
}

impl Side {
    pub(crate) fn new(policy: Policy, components: Components, code: CodeCache) -> anyhow::Result<Self> {
        let loader = ComponentLoader::new(Runners::new(Programs::beside_or_own()?, Some(code))?, components);
        Ok(Self { policy, loader: LoadedOnce { loader, loaded: Mutex::default(), costs: Costs::default() } })
    }

    /// What it does on a node.
    pub(crate) fn on(&self, node: &Node) -> anyhow::Result<Offered> {
        Offered::look(&self.policy, node, &self.loader)
    }

    /// What its components' calls took so far.
    pub(crate) fn costs(&self) -> Vec<CallCost> {
        self.loader.costs.all()
    }
}

impl Loader for LoadedOnce {
    fn load(&self, policy: &PluginPolicy) -> Loaded {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let known = loaded.entry(policy.name.to_string());
        let measured = |inner| -> Arc<dyn Component> {
            Arc::new(Measured { plugin: policy.name.to_string(), inner, costs: self.costs.clone() })
        };
        known.or_insert_with(|| self.loader.load(policy).map(measured)).clone()
    }

    fn digest(&self, policy: &PluginPolicy) -> Result<Option<[u8; 32]>, LoadFailure> {
        self.loader.digest(policy)
    }

    fn progress(&self, policy: &PluginPolicy) -> Option<String> {
        self.loader.progress(policy)
    }
}
