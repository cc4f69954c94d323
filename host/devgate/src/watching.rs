//! What a running host says of itself: one report, from which status, metrics, probes and page are made.

mod http;
mod metrics;
mod page;
mod ports;
mod probes;
mod process;
mod well;

pub(crate) use ports::{Ports, serve, wait};
pub(crate) use well::{Unwell, summary};

use crate::reload::{InForce, Reloads};
use devgate_core::status::{PluginStatus, Watch, When};
use devgate_core::{HoldersFeed, Memory};
use devgate_device_plugin::{FrontEndWatch, RegistrationStatus};
use devgate_oci::{Counts, Store};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Looks at a running host. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Watching {
    pub(crate) plugins: Watch,
    pub(crate) front_end: FrontEndWatch,
    pub(crate) holders: HoldersFeed,
    pub(crate) memory: Memory,
    pub(crate) reloads: Reloads,
    pub(crate) started: When,
    pub(crate) store: Arc<Store>,
}

/// A host at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Of the host.
    pub(crate) version: String,
    /// When the host started.
    pub(crate) started: When,
    /// When this was looked at.
    pub(crate) now: When,
    /// The policy that is in force.
    pub(crate) policy: InForce,
    /// Why no device is given that no pod has, if so: it is not known what pods have, or cannot be recorded what they get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) closed: Option<String>,
    /// Whether it is known who has which device. Never, where this was not asked for on the node itself.
    pub(crate) holders_known: bool,
    /// The plugins, in the policy's order.
    pub plugins: Vec<PluginStatus>,
    /// The resources that the kubelet was told of, or will be.
    pub(crate) kubelet: Vec<RegistrationStatus>,
    /// What came from registries, and what is kept of it.
    #[serde(default)]
    pub(crate) registry: Counts,
}

impl Watching {
    /// What there is to say now, with who has what.
    pub(crate) fn report(&self) -> Report {
        let holders = self.holders.newest();
        let plugins = self.plugins.status().into_iter();
        let plugins = plugins.map(|plugin| match &holders {
            Some(holders) => plugin.with_holders(holders),
            None => plugin,
        });
        let plugins: Vec<_> = plugins.collect();
        Report {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: self.started,
            now: When::now(),
            policy: self.reloads.in_force().with(&plugins),
            closed: self.memory.trouble().map(|why| why.to_string()),
            holders_known: holders.is_some(),
            plugins,
            kubelet: self.front_end.status(),
            registry: self.store.counts(),
        }
    }
}

impl Report {
    /// The same without a word of who has what.
    pub(crate) fn without_holders(self) -> Self {
        Self {
            holders_known: false,
            plugins: self.plugins.into_iter().map(PluginStatus::without_holders).collect(),
            ..self
        }
    }

    /// What somebody should look at.
    pub(crate) fn unwell(&self) -> Unwell {
        Unwell::of(self)
    }

    /// Where a resource is with the kubelet.
    pub(crate) fn registration(&self, resource: &str) -> Option<&RegistrationStatus> {
        self.kubelet
            .iter()
            .find(|registration| registration.resource == resource)
    }
}

/// A report for tests of whatever shows one.
#[cfg(test)]
pub(crate) mod tests {
    pub(crate) use super::metrics::tests::one;
}
