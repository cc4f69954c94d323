//! What is known about every plugin at one moment, as plain records: the one source of `devgate status`, of the metrics and of
//! the page.

mod calls;
mod recorder;
mod refusals;

pub use crate::health::Settling;
pub use crate::when::When;
pub(crate) use calls::Used;
pub use calls::{BUCKETS, CallStatus, Edge};
pub use devgate_types::component::CallKind;
pub(crate) use recorder::StatusRecorder;
pub use refusals::{Refusal, RefusalKind};

use crate::holders::{Holder, Holders};
use crate::replica::replica_ids;
use crate::units::{Cause, Causes, Rejection};
use devgate_policy::NoLabel;
use devgate_types::{Condition, ResourceName, UnitId, escape, words};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most characters of a name of Kubernetes.
const MAX_NAME: usize = 253;

/// What a plugin is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// No selector matches a device of this node: nothing to do.
    Idle,
    /// Its component is being loaded, or asked for the first time.
    #[default]
    Loading,
    /// The last call that keeps it going failed; what was known last still stands. Tried again with growing delays.
    Failing,
    /// Its component answers.
    Serving,
    /// It has failed for so long (`health.stale-after`) that nothing of it is given to anybody, or it was never loaded. Tried
    /// again all the same.
    Quarantined,
}

words!(State: Idle "idle", Loading "loading", Failing "failing", Serving "serving", Quarantined "quarantined");

/// One plugin. Everything that a component said is escaped and cut.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PluginStatus {
    /// The policy's name for it.
    pub name: String,
    /// What it is doing.
    pub state: State,
    /// Since when; where it is quarantined, since it fails.
    pub since: When,
    /// Why it fails, if it does.
    pub reason: Option<String>,
    /// When it is tried again, if it fails.
    pub retry_at: Option<When>,
    /// Its component.
    pub component: ComponentStatus,
    /// What it offers, in the order of the names.
    pub resources: Vec<ResourceStatus>,
    /// Units that the gate does not let through; at most 32.
    pub rejected: Vec<Rejection>,
    /// How many those are altogether.
    pub rejected_total: u64,
    /// How many units `only` and `except` leave out.
    #[serde(default)]
    pub left_out: u64,
    /// How many devices its component says that it cannot describe now.
    #[serde(default)]
    pub unread: u64,
    /// What was asked for and not given, the latest last; at most 32, each once with the number of times.
    pub refusals: Vec<Refusal>,
    /// How many refusals there were of each kind since the host started.
    pub refused: BTreeMap<RefusalKind, u64>,
    /// How many allocations had which end since the host started.
    pub allocations: BTreeMap<AllocationEnd, u64>,
    /// How many allocations in a row its component or the host has failed, if the last of them is of the last half hour or there
    /// were three.
    #[serde(default)]
    pub allocations_failing: u64,
    /// Its component's calls.
    pub calls: Vec<CallStatus>,
    /// How many devices are not given for a while, because calls about them keep failing.
    #[serde(default)]
    pub resting: u64,
    /// How many calls the host gave up on since it started.
    #[serde(default)]
    pub given_up: u64,
    /// How many of them have not returned.
    #[serde(default)]
    pub hanging: u64,
    /// How often the runner of its component ended and was started anew since the component was loaded.
    #[serde(default)]
    pub runner_restarts: u64,
    /// Limits of which a call used more than four fifths within the last hour.
    pub near: Vec<Edge>,
    /// What it hears of the kernel's log; nothing where the policy grants it nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_log: Option<KernelLogStatus>,
    /// What it tells of the node.
    #[serde(default)]
    pub labels: LabelStatus,
}

/// What a plugin hears of the kernel's log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLogStatus {
    /// Why it hears nothing, if so.
    pub off: Option<String>,
    /// How many times lines were lost before they were read, since the host started.
    pub gaps: u64,
}

/// Labels of the node that a plugin tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelStatus {
    /// Names and values.
    pub given: BTreeMap<String, String>,
    /// Those that there are not.
    pub missing: Vec<NoLabel>,
    /// Why Node Feature Discovery is not told of them, if so.
    pub problem: Option<String>,
}

/// A component's file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentStatus {
    /// As the policy names it: the file, or the artifact's reference.
    pub file: String,
    /// The digest of what runs, as `sha256sum` prints it; nothing where nothing is loaded.
    pub sha256: Option<String>,
    /// Whether the policy pins it.
    pub pinned: bool,
}

/// One resource of one plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceStatus {
    /// What pods ask for.
    pub name: String,
    /// The driver that gives it by claims, where the kubelet does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// How many ids the kubelet sees of each device.
    pub replicas: u32,
    /// Its devices, by id.
    pub devices: Vec<DeviceStatus>,
}

/// One device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceStatus {
    /// Its id, without the replicas' numbers.
    pub id: String,
    /// Why it may not be given, if so.
    pub unhealthy: Option<String>,
    /// All that speaks against it, that reason's first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseStatus>,
    /// What is not as it should be although it works, as far as the policy names it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionStatus>,
    /// Whether it is about to change: what its component found has not lasted as long as the policy asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settling: Option<Settling>,
    /// Since when it is as healthy or unhealthy as it is; nothing where it has been healthy since the host knows it.
    pub since: Option<When>,
    /// The NUMA nodes that it belongs to.
    pub numa_nodes: BTreeSet<u32>,
    /// Whether the host counts it as handed out.
    pub held: bool,
    /// Whether its component does not list it any more, and it is there only for the pod that holds it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlisted: bool,
    /// Who has it, as far as that is known.
    pub holders: Vec<HolderStatus>,
    /// Who has it besides containers of the kubelet's, such as `lease job1`; escaped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumers: Vec<String>,
}

/// What is not as it should be with a device that works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionStatus {
    /// What it is, as the policy names it.
    pub key: String,
    /// What follows for schedulers of claims: `None`, `NoSchedule` or `NoExecute`.
    pub effect: String,
    /// For people.
    pub message: String,
}

impl ConditionStatus {
    /// One as the policy lets it go.
    #[must_use]
    pub fn of(Condition { key, effect, message }: &Condition) -> Self {
        Self { key: key.clone(), effect: effect.as_str().to_owned(), message: message.clone() }
    }
}

/// What speaks against a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseStatus {
    /// As [`crate::Cause`] writes it.
    pub cause: String,
    /// For people.
    pub reason: String,
}

impl CauseStatus {
    /// All of these, in their order.
    #[must_use]
    pub fn of(causes: &Causes) -> Vec<Self> {
        let of =
            |(cause, reason): (Cause, &Arc<str>)| Self { cause: cause.as_str().to_owned(), reason: reason.to_string() };
        causes.iter().map(of).collect()
    }
}

/// A container that has a device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HolderStatus {
    /// The id that it has: one of the replicas, where there are several.
    pub id: String,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The container's name.
    pub container: String,
    /// The pod's uid, where the kubelet's record has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

impl DeviceStatus {
    /// Who has it or a replica of it: containers, as far as the kubelet tells, and other consumers.
    #[must_use]
    pub fn held_by(&self) -> Vec<String> {
        let holders = self.holders.iter().map(|h| format!("{}/{} ({})", h.namespace, h.pod, h.container));
        holders.chain(self.consumers.iter().cloned()).collect()
    }
}

impl HolderStatus {
    /// A container that has this id.
    #[must_use]
    pub fn new(id: &str, holder: &Holder) -> Self {
        let name = |text: &str| escape(text, MAX_NAME);
        Self {
            id: id.to_owned(),
            namespace: name(&holder.namespace),
            pod: name(&holder.pod),
            container: name(&holder.container),
            uid: None,
        }
    }
}

/// How an allocation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationEnd {
    /// The devices were given.
    Given,
    /// An id that there is not.
    Unknown,
    /// Refused: unhealthy, in use elsewhere, or the policy or the component does not allow it.
    Refused,
    /// Trying again may help.
    Busy,
    /// The component broke.
    Guest,
    /// The host failed.
    Host,
}

words!(AllocationEnd: Given "given", Unknown "unknown", Refused "refused", Busy "busy", Guest "guest", Host "host");

/// Why a plugin whose component answers has nothing to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nothing {
    /// `only` and `except` leave out all that passed the gate.
    LeftOut,
    /// The gate lets nothing through.
    Rejected,
    /// The component can describe nothing.
    Unread,
    /// The component lists nothing.
    Empty,
}

impl Nothing {
    /// What counts of a component's answer: whether anything is listed, and whether something was rejected, could not be described or
    /// was left out.
    #[must_use]
    pub const fn of(listed: bool, rejected: bool, unread: bool, left_out: bool) -> Option<Self> {
        match (listed, left_out, rejected, unread) {
            (true, ..) => None,
            (false, true, ..) => Some(Self::LeftOut),
            (false, false, true, _) => Some(Self::Rejected),
            (false, false, false, true) => Some(Self::Unread),
            (false, false, false, false) => Some(Self::Empty),
        }
    }

    /// For scripts.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Rejected => "all-rejected",
            Self::Unread => "nothing-described",
            Self::LeftOut | Self::Empty => "nothing-listed",
        }
    }

    /// For people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "all that the component lists was rejected, so that it offers nothing",
            Self::Unread => "the component can describe no device now, so that it offers nothing",
            Self::LeftOut => "only and except leave out all that the component lists, so that it offers nothing",
            Self::Empty => "the component lists no device, so that it offers nothing",
        }
    }
}

impl PluginStatus {
    /// Why it offers nothing, where its component answers and lists nothing that counts.
    #[must_use]
    pub fn nothing(&self) -> Option<Nothing> {
        let mut devices = self.resources.iter().flat_map(|resource| &resource.devices);
        let listed = devices.any(|device| !device.unlisted);
        let nothing = Nothing::of(listed, self.rejected_total > 0, self.unread > 0, self.left_out > 0);
        nothing.filter(|_| self.state == State::Serving)
    }

    /// The same with who has what.
    #[must_use]
    pub fn with_holders(mut self, holders: &Holders) -> Self {
        for resource in &mut self.resources {
            let Ok(name) = ResourceName::try_new(&resource.name) else {
                continue;
            };
            for device in &mut resource.devices {
                let Ok(unit) = UnitId::try_new(&device.id) else {
                    continue;
                };
                for id in replica_ids(&unit, resource.replicas) {
                    let offered = (name.clone(), id);
                    let seen = holders.seen.get(&offered).into_iter().flatten();
                    let uid = holders.uids.get(&offered).map(|uid| escape(uid, MAX_NAME));
                    let of = |holder| HolderStatus { uid: uid.clone(), ..HolderStatus::new(&offered.1, holder) };
                    device.holders.extend(seen.map(of));
                }
            }
        }
        self
    }

    /// The same without a word of who has what: what anybody may see.
    #[must_use]
    pub fn without_holders(mut self) -> Self {
        for device in self.resources.iter_mut().flat_map(|resource| &mut resource.devices) {
            device.holders.clear();
            device.consumers.clear();
        }
        self
    }
}

#[cfg(test)]
mod tests;
