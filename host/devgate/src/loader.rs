//! Hands components to what runs them, with what the policy grants.

use crate::components::Components;
use crate::progress::Progress;
use crate::reload::stamps;
use devgate_core::{LoadFailure, Loader};
use devgate_policy::{ComponentSource, PluginPolicy};
use devgate_runner::{LoadRequest, Runners};
use devgate_types::component::Component;
use devgate_types::load::Refusal;
use devgate_types::{Mutex, PluginName};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Loads components from files and registries.
pub struct ComponentLoader {
    runners: Runners,
    components: Components,
    /// Whether it says what it loads where that takes a while: compiling a language's whole runtime takes seconds.
    pub(crate) says_progress: bool,
    ready: Mutex<BTreeMap<PluginName, Ready>>,
}

/// A component that was loaded beforehand, and called by none yet.
struct Ready {
    loaded_by: PluginPolicy,
    component: Arc<dyn Component>,
}

impl ComponentLoader {
    /// A loader for these components.
    pub fn new(runners: Runners, components: Components) -> Self {
        Self { runners, components, says_progress: false, ready: Mutex::default() }
    }

    /// Loads what plugins name, for who asks for just that next.
    pub(crate) fn load_beforehand<'a>(&self, plugins: impl IntoIterator<Item = &'a PluginPolicy>) {
        for policy in plugins {
            // Who asks is told why not.
            if let Ok(component) = self.load(policy) {
                self.ready.lock().insert(policy.name.clone(), Ready { loaded_by: policy.clone(), component });
            }
        }
    }

    /// Where they come from.
    pub(crate) const fn components(&self) -> &Components {
        &self.components
    }

    /// What runs them.
    #[must_use]
    pub fn runners(&self) -> &Runners {
        &self.runners
    }
}

impl Loader for ComponentLoader {
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        let ready = self.ready.lock().remove(&policy.name);
        if let Some(ready) = ready.filter(|ready| ready.loaded_by == *policy) {
            return Ok(ready.component);
        }
        let _progress = self.says_progress.then(|| {
            let (components, of) = (self.components.clone(), policy.clone());
            let what = format!("loading the component of plugin {}", policy.name);
            Progress::following(what, move || components.progress(&of))
        });
        let (what, sha256) = match &policy.component {
            ComponentSource::File { sha256, .. } => ("file", *sha256),
            // The bytes are those of the artifact's digest.
            ComponentSource::Oci(_) => ("artifact", None),
        };
        let bytes = self.components.read(policy)?;
        let request = LoadRequest {
            plugin: policy.name.as_str(),
            bytes: &bytes,
            sha256,
            limits: policy.limits.clone(),
            grants: &|interface| policy.grants(interface),
        };
        let loaded = self.runners.load(&request).map_err(|error| {
            let text = format!("{error}\n  {what}: {}", self.components.shown(policy));
            match error.refusal {
                Refusal::Imports(_) | Refusal::Digest { .. } => LoadFailure::Refused(text),
                Refusal::Host(_) | Refusal::Code(_) => LoadFailure::Host(text),
                _ => LoadFailure::Guest(text),
            }
        })?;
        Ok(Arc::new(loaded))
    }

    fn digest(&self, policy: &PluginPolicy) -> Result<Option<[u8; 32]>, LoadFailure> {
        match &policy.component {
            ComponentSource::File { .. } => Ok(Some(devgate_runner::digest(&self.components.read(policy)?))),
            // Another component has another digest in the policy. The keys are files.
            ComponentSource::Oci(_) => self.components.keys(policy).map(|_| None),
        }
    }

    fn progress(&self, policy: &PluginPolicy) -> Option<String> {
        self.components.progress(policy)
    }

    fn stamp(&self, policy: &PluginPolicy) -> u64 {
        let mut hasher = DefaultHasher::new();
        stamps(self.components.files(policy)).hash(&mut hasher);
        hasher.finish()
    }
}
