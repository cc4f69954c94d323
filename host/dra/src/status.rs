//! What is known of every driver, for `devgate status`.

use crate::agent::Agent;
use crate::driver::Driver;
use devgate_core::status::When;
use devgate_types::{Mutex, words};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a driver is with the kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The kubelet has not asked yet.
    Waiting,
    /// The kubelet said no, and tries again by itself.
    Refused,
    /// The kubelet said yes.
    Registered,
}

words!(Phase: Waiting "waiting", Refused "refused", Registered "registered");

/// Everything of the front end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraStatus {
    /// The agent.
    pub agent: AgentStatus,
    /// By their names: those that are published, and those that claims have something of.
    pub drivers: Vec<DriverStatus>,
}

/// The agent, as the host sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStatus {
    /// Whether it is connected.
    pub connected: bool,
    /// Why not, if so; escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverStatus {
    /// Its name.
    pub driver: String,
    /// Where it is with the kubelet.
    pub phase: Phase,
    /// Since when.
    pub since: When,
    /// Why it is not registered, if that is known; escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its devices.
    pub devices: usize,
    /// Ids that are not published, as another device has their name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The generation of its pool that the API server has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Fields that the API server did not keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// Why not all of it is published, if so; escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpublished: Option<String>,
    /// The claims that have something of it.
    pub claims: usize,
}

/// All drivers of a front end. Clones share them.
#[derive(Clone, Default)]
pub struct DraWatch(Arc<Mutex<Served>>);

#[derive(Default)]
struct Served {
    agent: Option<Arc<Agent>>,
    drivers: BTreeMap<String, Arc<Driver>>,
}

impl DraWatch {
    /// Everything now; nothing before it is served.
    #[must_use]
    pub fn status(&self) -> Option<DraStatus> {
        let served = self.0.lock();
        let error = served.agent.as_ref()?.away();
        let agent = AgentStatus { connected: error.is_none(), error };
        let drivers: Vec<_> = served.drivers.values().cloned().collect();
        drop(served);
        let all = drivers.iter().map(|driver| (driver.is_published, driver.status()));
        // One that is left only for pods that never had anything of it is nothing to look at.
        let told = all.filter(|(is_published, status)| *is_published || status.claims > 0);
        Some(DraStatus { agent, drivers: told.map(|(_, status)| status).collect() })
    }

    pub(crate) fn begins(&self, agent: &Arc<Agent>) {
        self.0.lock().agent = Some(Arc::clone(agent));
    }

    pub(crate) fn serves(&self, driver: &Arc<Driver>) {
        self.0.lock().drivers.insert(driver.name.clone(), Arc::clone(driver));
    }

    pub(crate) fn ends(&self, driver: &str) {
        self.0.lock().drivers.remove(driver);
    }
}

/// Where a driver is with the kubelet, as it was noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registered {
    pub(crate) phase: Phase,
    pub(crate) since: When,
    pub(crate) error: Option<String>,
}

impl Registered {
    pub(crate) fn new() -> Self {
        Self { phase: Phase::Waiting, since: When::now(), error: None }
    }

    pub(crate) fn note(&mut self, phase: Phase, error: Option<String>) {
        if self.phase != phase {
            (self.phase, self.since) = (phase, When::now());
        }
        self.error = error;
    }
}
