//! How a host is: everything that an admin should look at, in one list. Status, its exit code, the page, probes, metrics and what the
//! service manager is told are all made of it, so that they cannot disagree. docs/operate.md has what each means, on each of them,
//! and what to do; a test holds that table against [`Condition::ALL`].

pub(super) mod summary;

use super::Report;
use devgate_core::status::{Nothing, PluginStatus, State};
use devgate_device_plugin::{Phase, RegistrationStatus};
use devgate_dra::DriverStatus;
use serde::Serialize;
use std::collections::BTreeSet;

/// What `/readyz` says because of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready {
    /// It is decided, and a rollout goes on: to wait for it would only keep all others from being served.
    Yes,
    /// Ready, and an admin should see it.
    Told,
    /// It is not decided yet.
    No,
}

/// What a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    Host,
    Plugin,
    Device,
    Resource,
}

macro_rules! conditions {
    ($($name:ident $word:literal $about:ident $ready:ident $says:literal;)*) => {
        /// Something that is not as it should be, in the order in which it is told.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum Condition { $($name,)* }

        impl Condition {
            /// All of them.
            pub(crate) const ALL: [Self; [$($word),*].len()] = [$(Self::$name),*];

            /// Its name, what it is about, whether a host is ready with it, and what the last line of `devgate status` says of it.
            const fn facts(self) -> (&'static str, About, Ready, &'static str) {
                match self { $(Self::$name => ($word, About::$about, Ready::$ready, $says),)* }
            }
        }
    };
}

conditions! {
    WaitsForAnother "waits-for-another" Host No "this host waits for another one to end";
    Hangs "hangs" Host Yes "the host hangs";
    PolicyRefused "policy-refused" Host Told "another policy is refused";
    StateClosed "state-closed" Host No "no device is given that no pod has";
    StateUnsaved "state-unsaved" Host Yes "the state directory cannot be written";
    CdiUnwritten "cdi-unwritten" Host Yes "a device by name that no container gets";
    PodsNotSeen "pods-not-seen" Host Yes "it is not known which pods have what";
    PluginLoading "plugin-loading" Plugin No "loading";
    PluginFailing "plugin-failing" Plugin Yes "failing";
    PluginQuarantined "plugin-quarantined" Plugin Yes "quarantined";
    AllRejected "all-rejected" Plugin Yes "with everything rejected";
    NothingDescribed "nothing-described" Plugin Yes "with no device that can be described";
    NothingListed "nothing-listed" Plugin Yes "with no device";
    AllocationsFail "allocations-fail" Plugin Yes "with allocations that fail";
    KernelLogOff "kernel-log-off" Plugin Yes "not hearing the kernel's log";
    LabelsNotTold "labels-not-told" Plugin Yes "with labels that are not told";
    DevicesUnhealthy "devices-unhealthy" Device Yes "unhealthy";
    CallsHang "calls-hang" Plugin Yes "with calls that have not returned";
    ResourceRefused "resource-refused" Resource Yes "refused by the kubelet";
    ResourceNotRegistered "resource-not-registered" Resource No "not registered";
    KubeletAway "kubelet-away" Resource No "waiting for the kubelet";
    ListNotSent "list-not-sent" Resource Yes "with a list that cannot be sent";
    DevicesHidden "devices-hidden" Resource Yes "with devices that come and go";
    NotPublished "not-published" Resource Yes "with devices that are not published";
}

impl Condition {
    /// As it is written.
    pub(crate) const fn as_str(self) -> &'static str {
        self.facts().0
    }

    pub(crate) const fn about(self) -> About {
        self.facts().1
    }

    pub(crate) const fn ready(self) -> Ready {
        self.facts().2
    }
}

/// A condition that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ActiveCondition {
    pub(crate) condition: Condition,
    /// Whose it is: `plugin gpus`, `resource vendor.com/gpu`, `state`.
    pub(crate) of: String,
    /// For people.
    pub(crate) why: String,
    /// How many plugins, devices or resources.
    pub(crate) count: usize,
}

/// All that hold, in the order of [`Condition`].
pub(super) fn of(report: &Report) -> Vec<ActiveCondition> {
    let mut all = ActiveCondition::of_host(report);
    for plugin in &report.plugins {
        ActiveCondition::of_plugin(plugin, &mut all);
    }
    for name in resources(report).into_iter().filter(|_| !report.no_kubelet) {
        if has_driver(report, name) {
            ActiveCondition::of_claimed(name, report, &mut all);
        } else {
            ActiveCondition::of_resource(name, report.registration(name), &mut all);
        }
    }
    all.sort_by_key(|found| found.condition);
    all
}

/// Those that plugins have, and those that the kubelet was told of.
fn resources(report: &Report) -> BTreeSet<&str> {
    let of_plugins = report.plugins.iter().flat_map(|plugin| &plugin.resources);
    let told = report.kubelet.iter().map(|registration| registration.resource.as_str());
    of_plugins.map(|resource| resource.name.as_str()).chain(told).collect()
}

fn has_driver(report: &Report, name: &str) -> bool {
    let mut all = report.plugins.iter().flat_map(|plugin| &plugin.resources);
    all.any(|resource| resource.name == name && resource.driver.is_some())
}

impl ActiveCondition {
    fn one(condition: Condition, of: impl Into<String>, why: impl Into<String>) -> Self {
        let (of, why, count) = (of.into(), why.into(), 1);
        Self { condition, of, why, count }
    }

    fn of_host(report: &Report) -> Vec<Self> {
        // Where nothing is offered the kubelet need not be asked.
        let unseen = report.pods_unseen_s.filter(|_| !resources(report).is_empty());
        let unseen = unseen.map(|seconds| format!(
            "the kubelet's pod-resources API has not answered for {seconds}s: no device is known to be free again (--pod-resources-dir)"
        ));
        let refused = report.policy.refused.as_ref().map(|refused| refused.why.clone());
        let all = [
            (Condition::WaitsForAnother, "host", report.waits.as_slice()),
            (Condition::Hangs, "host", &report.late),
            (Condition::PolicyRefused, "policy", refused.as_slice()),
            (Condition::StateClosed, "state", report.closed.as_slice()),
            (Condition::StateUnsaved, "state", &report.unsaved),
            (Condition::CdiUnwritten, "cdi", &report.cdi_unwritten),
            (Condition::PodsNotSeen, "pods", unseen.as_slice()),
        ];
        let found =
            all.into_iter().flat_map(|(condition, of, why)| why.iter().map(move |why| Self::one(condition, of, why)));
        found.collect()
    }

    fn of_plugin(plugin: &PluginStatus, all: &mut Vec<Self>) {
        let mut add = |condition, why: String| all.push(Self::one(condition, format!("plugin {}", plugin.name), why));
        let reason = |otherwise: &str| plugin.reason.clone().unwrap_or_else(|| otherwise.to_owned());
        match plugin.state {
            State::Idle | State::Serving => {}
            State::Loading => add(Condition::PluginLoading, reason("is loading")),
            State::Failing => add(Condition::PluginFailing, reason("fails")),
            State::Quarantined => add(Condition::PluginQuarantined, reason("is quarantined")),
        }
        if let Some(nothing) = plugin.nothing() {
            add(of_nothing(nothing), nothing.as_str().to_owned());
        }
        if let last @ 1.. = plugin.allocations_failing {
            let why = format!("the last {last} of its allocations failed, and none was given since");
            add(Condition::AllocationsFail, why);
        }
        if let calls @ 1.. = plugin.hanging {
            let why = format!("{calls} of its calls have not returned since the host gave up on them");
            add(Condition::CallsHang, why);
        }
        let log = plugin.kernel_log.as_ref().filter(|_| plugin.state != State::Idle);
        if let Some(why) = log.and_then(|log| log.off.as_ref()) {
            add(Condition::KernelLogOff, format!("the kernel's log is not read: {why}"));
        }
        if let Some(why) = &plugin.labels.problem {
            add(Condition::LabelsNotTold, format!("its labels are not told: {why}"));
        }
        for resource in &plugin.resources {
            let unhealthy = resource.devices.iter().filter(|device| device.unhealthy.is_some());
            if let count @ 1.. = unhealthy.count() {
                let (of, why) = (format!("resource {}", resource.name), format!("{count} unhealthy"));
                let one = Self::one(Condition::DevicesUnhealthy, of, why);
                all.push(Self { count, ..one });
            }
        }
    }

    /// What is given by claims has a driver, which the kubelet looks for by itself.
    fn of_claimed(name: &str, report: &Report, all: &mut Vec<Self>) {
        let mut add = |condition, why: String| all.push(Self::one(condition, format!("resource {name}"), why));
        let Some(driver) = report.driver(name) else {
            return add(Condition::ResourceNotRegistered, "its driver is not served yet".to_owned());
        };
        let of = &driver.driver;
        if let Some(why) = unregistered(driver) {
            let is_refused = driver.phase == devgate_dra::Phase::Refused;
            let condition = if is_refused { Condition::ResourceRefused } else { Condition::ResourceNotRegistered };
            add(condition, format!("driver {of}: {why}"));
        }
        if let Some(why) = unpublished(driver, report) {
            add(Condition::NotPublished, format!("driver {of}: {why}"));
        }
    }

    fn of_resource(name: &str, registration: Option<&RegistrationStatus>, all: &mut Vec<Self>) {
        let mut add = |condition, why: &str| all.push(Self::one(condition, format!("resource {name}"), why));
        match registration.map(|known| known.phase) {
            Some(Phase::Registered) => {}
            Some(Phase::Refused) => {
                let why = registration.and_then(|known| known.error.as_deref());
                add(Condition::ResourceRefused, why.unwrap_or("the kubelet refuses it"));
            }
            Some(Phase::Waiting) => add(Condition::KubeletAway, "there is no kubelet"),
            // It has not even been told of it.
            Some(Phase::Registering) | None => add(Condition::ResourceNotRegistered, "is not registered yet"),
        }
        let Some(known) = registration else { return };
        if let Some(why) = &known.unsent {
            let why = format!("its list is not sent, the one before stands: {why}");
            add(Condition::ListNotSent, &why);
        }
        if let hidden @ 1.. = known.hidden.len() {
            let why = format!("{hidden} come and go: the kubelet is shown them as unhealthy");
            add(Condition::DevicesHidden, &why);
        }
    }
}

/// Why the kubelet has not taken a driver, if it has not.
pub(crate) fn unregistered(driver: &DriverStatus) -> Option<String> {
    let why = driver.error.as_ref();
    match driver.phase {
        devgate_dra::Phase::Registered => None,
        devgate_dra::Phase::Refused => Some(why.map_or_else(|| "the kubelet refuses it".to_owned(), String::clone)),
        devgate_dra::Phase::Waiting => {
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            Some(format!("the kubelet has not found it yet (--plugins-registry-dir){why}"))
        }
    }
}

/// Why not all of a driver's devices are published, if so.
pub(crate) fn unpublished(driver: &DriverStatus, report: &Report) -> Option<String> {
    let away = report.dra.as_ref().and_then(|dra| dra.agent.error.as_ref());
    let away =
        away.map(|why| format!("no agent publishes its devices and says what claims have (--agent-socket): {why}"));
    away.or_else(|| driver.unpublished.clone())
}

fn of_nothing(nothing: Nothing) -> Condition {
    match nothing {
        Nothing::Rejected => Condition::AllRejected,
        Nothing::Unread => Condition::NothingDescribed,
        Nothing::LeftOut | Nothing::Empty => Condition::NothingListed,
    }
}

#[cfg(test)]
mod tests;
