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

use crate::fields::Item;
use crate::key;
use crate::resources::ResourceGrant;
use crate::value_rule::ValueRule;
use devgate_types::ResourceName;
use indexmap::IndexMap;
use std::borrow::Cow;
use std::sync::Arc;

/// What a container may get besides device nodes: `containers:` of a plugin, all in the policy's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Containers {
    /// The environment variables as the policy writes them, for `check`.
    pub env: Vec<RuleEntry>,
    /// The annotations as the policy writes them, for `check`.
    pub annotations: Vec<RuleEntry>,
    /// The kinds of CDI device as the policy writes them, for `check`.
    pub cdi: Vec<RuleEntry>,
    /// The mounts by the names that the policy gives them.
    pub mounts: IndexMap<String, Arc<MountGrant>>,
    /// Whether the host tells by a file which PCI function is behind an id that was handed out.
    pub device_info: bool,
    /// Whether a lease of its devices is over when the container that has them has ended.
    pub release_hook: bool,
    /// The rules of each resource that the policy names in full.
    named: IndexMap<ResourceName, Rules>,
}

/// Rules by what they are for, in the policy's order.
pub type ValueRules = IndexMap<String, ValueRule>;

/// The rules for containers that get units of one resource. What has none is not granted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// By environment variable.
    pub env: ValueRules,
    /// By the annotation's key.
    pub annotations: ValueRules,
    /// For the names of CDI devices, by their kind, such as `vendor.com/gpu`. A template is expanded once for each allocated unit, each
    /// time over that unit's record alone.
    pub cdi: ValueRules,
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

    fn bind(&self, resource: &ResourceName) -> Rules {
        let of = |entries: &[RuleEntry]| entries.iter().map(|entry| entry.bind(resource)).collect();
        Rules { env: of(&self.env), annotations: of(&self.annotations), cdi: of(&self.cdi) }
    }

    pub(crate) fn read(item: &Item<'_>, plugin: &str, resources: &[ResourceGrant], dangerous: &[&str]) -> Self {
        let mut containers = Self::default();
        let place = format!("containers of {plugin}");
        let Some(fields) = item.open(&place, &key::CONTAINERS) else {
            return containers;
        };
        containers.env = fields.read("env", |item| env::read(item, resources));
        containers.annotations = fields.read("annotations", |item| annotations::read(item, resources, dangerous));
        containers.cdi = fields.read("cdi", cdi::read);
        containers.mounts = fields.read("mounts", |item| mounts::read(item, plugin, dangerous));
        containers.device_info = fields.flag("device-info");
        containers.release_hook = fields.flag("release-hook");
        for resource in resources.iter().filter_map(|grant| grant.exact.as_ref()) {
            let rules = containers.bind(resource);
            containers.named.insert(resource.clone(), rules);
        }
        containers
    }
}
