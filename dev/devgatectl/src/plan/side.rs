//! One of the two policies, with its components.

use super::offered::Offered;
use devgate::components::Components;
use devgate::loader::ComponentLoader;
use devgate::policy;
use devgate_core::{LoadFailure, Loader};
use devgate_node::Node;
use devgate_policy::{PluginPolicy, Policy};
use devgate_runner::{CodeCache, Programs, Runners};
use devgate_types::component::Component;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A policy and what runs its components.
pub(super) struct Side {
    policy: Policy,
    loader: LoadedOnce,
}

/// Loads each plugin's component once, whatever the number of nodes.
struct LoadedOnce {
    loader: ComponentLoader,
    loaded: Mutex<HashMap<String, Result<Arc<dyn Component>, LoadFailure>>>,
}

impl Side {
    pub(super) fn read(path: &Path, components: Components, code: CodeCache) -> anyhow::Result<Self> {
        let policy = policy::read(&[path.to_owned()])?;
        let loader = ComponentLoader::new(Runners::new(Programs::beside_or_own()?, Some(code))?, components);
        Ok(Self { policy, loader: LoadedOnce { loader, loaded: Mutex::default() } })
    }

    /// What it does on a node.
    pub(super) fn on(&self, node: &Node) -> anyhow::Result<Offered> {
        Offered::look(&self.policy, node, &self.loader)
    }
}

impl Loader for LoadedOnce {
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let known = loaded.entry(policy.name.to_string());
        known.or_insert_with(|| self.loader.load(policy)).clone()
    }

    fn digest(&self, policy: &PluginPolicy) -> Result<Option<[u8; 32]>, LoadFailure> {
        self.loader.digest(policy)
    }

    fn progress(&self, policy: &PluginPolicy) -> Option<String> {
        self.loader.progress(policy)
    }
}
