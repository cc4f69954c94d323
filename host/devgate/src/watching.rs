//! What a running host says of itself: one report, from which status, metrics, probes and page are made.

mod http;
mod metrics;
mod page;
mod ports;
mod probes;
mod process;

pub(crate) use ports::{Ports, serve};

use crate::reload::{InForce, Reloads};
use devgate_kubelet::{FrontEndWatch, Phase, RegistrationStatus};
use devgate_plugin::HoldersFeed;
use devgate_plugin::status::{PluginStatus, Watch, When};
use serde::{Deserialize, Serialize};

/// Looks at a running host. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Watching {
    pub(crate) plugins: Watch,
    pub(crate) front_end: FrontEndWatch,
    pub(crate) holders: HoldersFeed,
    pub(crate) reloads: Reloads,
    pub(crate) started: When,
}

/// A host at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Of the host.
    pub(crate) version: String,
    /// When the host started.
    pub(crate) started: When,
    /// When this was looked at.
    pub(crate) now: When,
    /// The policy that is in force.
    pub(crate) policy: InForce,
    /// Whether it is known who has which device. Never, where this was not asked for on the node itself.
    pub(crate) holders_known: bool,
    /// The plugins, in the policy's order.
    pub(crate) plugins: Vec<PluginStatus>,
    /// The resources that the kubelet was told of, or will be.
    pub(crate) kubelet: Vec<RegistrationStatus>,
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
        Report {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: self.started,
            now: When::now(),
            policy: self.reloads.in_force(),
            holders_known: holders.is_some(),
            plugins: plugins.collect(),
            kubelet: self.front_end.status(),
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

    /// Whether nobody needs to look.
    pub(crate) fn is_well(&self) -> bool {
        self.policy.refused.is_none()
            && self.plugins.iter().all(PluginStatus::is_well)
            && self.kubelet.iter().all(|resource| resource.phase == Phase::Registered)
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
