//! What a container may get besides device nodes.

mod annotations;
mod cdi;
mod entries;
mod env;
mod mounts;

pub use annotations::dangerous_annotation;
pub use cdi::is_cdi_device;
pub use entries::RuleEntry;
pub use mounts::MountGrant;

use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::resources::ResourceGrant;
use crate::value_rule::ValueRule;
use crate::{Danger, key};
use devgate_types::ResourceName;
use indexmap::IndexMap;
use std::borrow::Cow;
use std::sync::Arc;

/// What a container may get besides device nodes: `containers:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Containers {
    env: Vec<RuleEntry>,
    annotations: Vec<RuleEntry>,
    cdi: Vec<RuleEntry>,
    mounts: IndexMap<String, Arc<MountGrant>>,
    device_info: bool,
    /// The rules of each resource that the policy names in full.
    named: IndexMap<ResourceName, Rules>,
}

/// The rules for containers that get units of one resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    env: IndexMap<String, ValueRule>,
    annotations: IndexMap<String, ValueRule>,
    cdi: IndexMap<String, ValueRule>,
}

impl Rules {
    /// The rule for an environment variable; nothing if the policy does not grant it.
    #[must_use]
    pub fn env(&self, key: &str) -> Option<&ValueRule> {
        self.env.get(key)
    }

    /// The rule for an annotation; nothing if the policy does not grant it.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&ValueRule> {
        self.annotations.get(key)
    }

    /// The rule for the names of CDI devices of one kind, such as `vendor.com/gpu`; nothing if the policy grants none.
    #[must_use]
    pub fn cdi(&self, kind: &str) -> Option<&ValueRule> {
        self.cdi.get(kind)
    }

    /// Every environment variable with its rule, in the policy's order.
    pub fn env_rules(&self) -> impl Iterator<Item = (&str, &ValueRule)> {
        self.env.iter().map(|(key, rule)| (key.as_str(), rule))
    }

    /// Every annotation with its rule, in the policy's order.
    pub fn annotation_rules(&self) -> impl Iterator<Item = (&str, &ValueRule)> {
        self.annotations.iter().map(|(key, rule)| (key.as_str(), rule))
    }

    /// Every kind of CDI device with the rule for its names, in the policy's order. A template is expanded once for each
    /// allocated unit, each time over that unit's record alone.
    pub fn cdi_rules(&self) -> impl Iterator<Item = (&str, &ValueRule)> {
        self.cdi.iter().map(|(kind, rule)| (kind.as_str(), rule))
    }
}

impl Containers {
    /// The rules for containers that get units of `resource`: at hand where the policy names it, made where a pattern
    /// grants it.
    #[must_use]
    pub fn rules(&self, resource: &ResourceName) -> Cow<'_, Rules> {
        match self.named.get(resource) {
            Some(rules) => Cow::Borrowed(rules),
            None => Cow::Owned(self.bind(resource)),
        }
    }

    /// A mount by the name that the policy gives it.
    #[must_use]
    pub fn mount(&self, name: &str) -> Option<&Arc<MountGrant>> {
        self.mounts.get(name)
    }

    /// Every mount, in the policy's order.
    pub fn mounts(&self) -> impl Iterator<Item = &Arc<MountGrant>> {
        self.mounts.values()
    }

    /// The environment variables as the policy writes them, for `check`.
    #[must_use]
    pub fn env(&self) -> &[RuleEntry] {
        &self.env
    }

    /// The annotations as the policy writes them, for `check`.
    #[must_use]
    pub fn annotations(&self) -> &[RuleEntry] {
        &self.annotations
    }

    /// The kinds of CDI device as the policy writes them, for `check`.
    #[must_use]
    pub fn cdi(&self) -> &[RuleEntry] {
        &self.cdi
    }

    /// Whether the host tells by a file which PCI function is behind an id that was handed out.
    #[must_use]
    pub fn device_info(&self) -> bool {
        self.device_info
    }

    fn bind(&self, resource: &ResourceName) -> Rules {
        let of = |entries: &[RuleEntry]| entries.iter().map(|entry| entry.bind(resource)).collect();
        Rules {
            env: of(&self.env),
            annotations: of(&self.annotations),
            cdi: of(&self.cdi),
        }
    }

    pub(crate) fn read(
        item: &Item<'_>,
        plugin: &str,
        resources: &[ResourceGrant],
        accepted: &dyn Fn(&Danger) -> bool,
        report: &mut Report,
    ) -> Self {
        let mut containers = Self::default();
        let place = format!("containers of {plugin}");
        let Some(fields) = Fields::open(item.node, &place, &key::CONTAINERS, report) else {
            return containers;
        };
        if let Some(item) = fields.get("env") {
            containers.env = env::read(&item, resources, report);
        }
        if let Some(item) = fields.get("annotations") {
            containers.annotations = annotations::read(&item, resources, accepted, report);
        }
        if let Some(item) = fields.get("cdi") {
            containers.cdi = cdi::read(&item, report);
        }
        if let Some(item) = fields.get("mounts") {
            containers.mounts = mounts::read(&item, plugin, accepted, report);
        }
        fields.flag("device-info", &mut containers.device_info, report);
        for grant in resources.iter() {
            if let ResourceGrant::Exact(resource) = grant {
                let rules = containers.bind(resource);
                containers.named.insert(resource.clone(), rules);
            }
        }
        containers
    }
}
