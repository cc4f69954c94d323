//! What a running host says of itself: one report, from which status, metrics, probes and page are made.

mod conditions;
mod http;
pub(crate) mod judged;
mod metrics;
mod page;
mod ports;
mod process;

pub(crate) use conditions::{About, ActiveCondition, Condition, unpublished, unregistered};
pub(crate) use http::NO_PAGE;
pub(crate) use ports::{Ports, serve, wait};

use crate::confinement::Fence;
use crate::handover::{Handover, NotHandedOver};
use crate::reload::{InForce, NotReloaded, Reloads};
use devgate_cdi::exec::Requests;
use devgate_cdi::{Keeper, Leases};
use devgate_core::StatusReader;
use devgate_core::status::{PluginStatus, When};
use devgate_core::{Allocations, HoldersFeed};
use devgate_device_plugin::{FrontEndWatch, RegistrationStatus};
use devgate_dra::{DraStatus, DraWatch, DriverStatus};
use devgate_oci::{Counts, Store};
use devgate_types::PluginName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Looks at a host. Cheap to clone.
#[derive(Clone)]
pub(crate) enum Monitored {
    /// One that waits for another to end, since then, and serves nothing. Probes may be told that it is ready all the same.
    Waits { since: When, why: Arc<str>, fence: Fence, is_ready: Arc<AtomicBool> },
    /// One that serves.
    Serves(Arc<Serving>),
}

/// What a host that serves is looked at by.
pub(crate) struct Serving {
    pub(crate) plugins: StatusReader,
    pub(crate) front_end: FrontEndWatch,
    pub(crate) drivers: DraWatch,
    pub(crate) holders: HoldersFeed,
    pub(crate) allocations: Allocations,
    pub(crate) reloads: Reloads,
    pub(crate) started: When,
    pub(crate) fence: Fence,
    /// When the kubelet was first asked what pods have.
    pub(crate) asks_since: Instant,
    pub(crate) store: Arc<Store>,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) leases: Leases,
    pub(crate) requests: Arc<Requests>,
    /// Whether there is a kubelet to serve.
    pub(crate) is_kubelet_served: bool,
    pub(crate) handover: Arc<Handover>,
}

/// A host at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Of the host.
    pub(crate) version: String,
    /// When the host started.
    pub(crate) started: When,
    /// When this was looked at.
    pub(crate) now: When,
    /// How far Landlock fences it. Not of an earlier version.
    #[serde(default)]
    pub(crate) landlock: Fence,
    /// The policy that is in force.
    pub(crate) policy: InForce,
    /// Why no device is given that no pod has, if so: it is not known what pods have, or cannot be recorded what they get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) closed: Option<String>,
    /// Why this host serves nothing, where another one has the state directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waits: Option<String>,
    /// What hangs, and for how long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) late: Vec<String>,
    /// What of the state directory could not be written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unsaved: Vec<String>,
    /// Why what a pod or a lease has by name has no file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) cdi_unwritten: Vec<String>,
    /// Whether this host serves no kubelet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_kubelet: bool,
    /// For how many seconds the kubelet has not told which pods have what, where that is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pods_unseen_s: Option<u64>,
    /// Everything that an admin should look at; nothing where all is well. Made of the rest, also of what another version said.
    #[serde(skip_deserializing)]
    pub(crate) conditions: Vec<ActiveCondition>,
    /// The same in one line.
    #[serde(skip_deserializing)]
    pub(crate) summary: String,
    /// Whether it is known who has which device. Never, where this was not asked for on the node itself.
    pub(crate) holders_known: bool,
    /// The plugins, in the policy's order.
    pub plugins: Vec<PluginStatus>,
    /// The resources that the kubelet was told of, or will be.
    pub(crate) kubelet: Vec<RegistrationStatus>,
    /// Drivers of dynamic resource allocation, and their agent, where there is a driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dra: Option<DraStatus>,
    /// What came from registries, and what is kept of it.
    #[serde(default)]
    pub(crate) registry: Counts,
}

impl Monitored {
    /// What there is to say now, with who has what.
    pub(crate) fn report(&self) -> Report {
        match self {
            Self::Waits { since, why, fence, .. } => {
                Report { landlock: fence.clone(), ..Report::of_waiting(*since, why) }
            }
            Self::Serves(serving) => serving.report(),
        }
        .judged()
    }

    /// What hangs: nothing, in a host that lives.
    pub(crate) fn hangs(&self) -> Vec<String> {
        match self {
            Self::Waits { .. } => Vec::new(),
            Self::Serves(serving) => serving.hangs(),
        }
    }

    /// Whether it waits, and the rollout is to go on as if it were ready.
    pub(crate) fn is_ready_standby(&self) -> bool {
        matches!(self, Self::Waits { is_ready, .. } if is_ready.load(Ordering::SeqCst))
    }

    /// Has this host make way for the standby that has this id. Fails with why it goes on.
    pub(crate) fn hand_over(&self, id: &str) -> Result<(), NotHandedOver> {
        match self {
            Self::Waits { why, .. } => Err(NotHandedOver::Waits(Arc::clone(why))),
            Self::Serves(serving) => {
                let plugins = serving.plugins.status();
                if let Some(plugin) = plugins.iter().find(|plugin| plugin.hanging > 0) {
                    return Err(NotHandedOver::Hangs(plugin.name.to_string()));
                }
                serving.handover.hand_over(id)
            }
        }
    }

    /// Has the policy read again, and waits for what becomes of it. Fails with why it was refused.
    pub(crate) async fn reload(&self, forced: bool) -> Result<String, NotReloaded> {
        match self {
            Self::Waits { why, .. } => Err(NotReloaded::Waits(Arc::clone(why))),
            Self::Serves(serving) => serving.reloads.ask(forced).await,
        }
    }
}

impl Serving {
    fn report(&self) -> Report {
        let holders = self.holders.newest();
        let silent = self.holders.silent(self.asks_since).filter(|_| self.is_kubelet_served);
        let mut plugins = self.plugins.status();
        if let Some(holders) = &holders {
            plugins = plugins.into_iter().map(|plugin| plugin.with_holders(holders)).collect();
        }
        Report {
            policy: self.reloads.in_force().with(&plugins),
            closed: self.allocations.trouble().map(|why| why.to_string()),
            late: self.hangs(),
            unsaved: self.allocations.not_saved(),
            cdi_unwritten: self.keeper.problems(),
            no_kubelet: !self.is_kubelet_served,
            pods_unseen_s: silent.map(|silent| silent.as_secs()),
            holders_known: holders.is_some(),
            plugins,
            kubelet: self.front_end.status(),
            dra: self.drivers.status().filter(|dra| !dra.drivers.is_empty()),
            registry: self.store.counts(),
            landlock: self.fence.clone(),
            ..Report::new(self.started)
        }
    }

    fn hangs(&self) -> Vec<String> {
        let plugins = self.plugins.late().into_iter();
        let plugins = plugins.map(|(name, late)| (format!("plugin {name}"), late));
        let front_end = self.front_end.late().map(|late| ("front end".to_owned(), late));
        let all = plugins.chain(front_end);
        all.map(|(what, late)| format!("{what}: is {}s late", late.as_secs())).collect()
    }
}

impl Report {
    /// One with nothing in it.
    fn new(started: When) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started,
            now: When::now(),
            policy: InForce::new(started),
            ..Self::default()
        }
    }

    fn of_waiting(since: When, why: &str) -> Self {
        Self { waits: Some(why.to_owned()), ..Self::new(since) }
    }

    /// The same with the conditions that hold by it.
    pub(crate) fn judged(mut self) -> Self {
        self.conditions = conditions::of(&self);
        self.summary = conditions::summary::of(&self);
        self
    }

    /// The same without a word of who has what.
    pub(crate) fn without_holders(self) -> Self {
        Self {
            holders_known: false,
            plugins: self.plugins.into_iter().map(PluginStatus::without_holders).collect(),
            ..self
        }
    }

    /// The first that speaks against a host that took over: it is not ready, the kubelet does not take something of it, or a plugin fails
    /// that did not in its trial.
    pub(crate) fn speaks_against(&self, may_fail: &BTreeSet<PluginName>) -> Option<String> {
        let may_fail = |of: &str| may_fail.iter().any(|name| of.strip_prefix("plugin ") == Some(name.as_str()));
        let against = |found: &&ActiveCondition| match found.condition {
            Condition::ResourceRefused | Condition::ListNotSent => true,
            Condition::PluginFailing | Condition::PluginQuarantined => !may_fail(&found.of),
            other => other.ready() == conditions::Ready::No,
        };
        self.conditions.iter().find(against).map(|found| format!("{}: {}", found.of, found.why))
    }

    /// Whether there is nothing to look at.
    pub(crate) fn is_well(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Until when the kubelet is shown a device or one of its replicas as unhealthy because it comes and goes, if it is.
    pub(crate) fn hidden_until(&self, resource: &str, id: &str) -> Option<When> {
        let is = |shown: &str| shown.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
        let hidden = self.registration(resource).into_iter().flat_map(|registration| &registration.hidden);
        hidden.filter(|hidden| is(&hidden.id)).map(|hidden| hidden.until).max()
    }

    /// The driver of a resource, where it has one that is served.
    pub(crate) fn driver(&self, resource: &str) -> Option<&DriverStatus> {
        let mut all = self.plugins.iter().flat_map(|plugin| &plugin.resources);
        let name = all.find(|of| of.name == resource)?.driver.as_ref()?;
        self.dra.as_ref()?.drivers.iter().find(|driver| driver.driver == *name)
    }

    /// Where a resource is with the kubelet.
    pub(crate) fn registration(&self, resource: &str) -> Option<&RegistrationStatus> {
        let mut all = self.kubelet.iter();
        all.find(|registration| registration.resource == resource)
    }
}

/// A report for tests of whatever shows one.
#[cfg(test)]
pub(crate) mod tests {
    pub(crate) use super::metrics::tests::one;
}
