//! How a host is: everything that somebody should look at, in one list. Status, its exit code, the page, probes, metrics and what the
//! service manager is told are all made of it, so that they cannot disagree. docs/watching.md has what each means, on each of them,
//! and what to do; a test holds that table against [`Condition::ALL`].

pub(super) mod summary;

use super::Report;
use devgate_core::status::{Nothing, PluginStatus, State};
use devgate_device_plugin::{Phase, RegistrationStatus};
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
pub(crate) struct Found {
    pub(crate) condition: Condition,
    /// Whose it is: `plugin gpus`, `resource vendor.com/gpu`, `state`.
    pub(crate) of: String,
    /// For people.
    pub(crate) why: String,
    /// How many plugins, devices or resources.
    pub(crate) count: usize,
}

/// All that hold, in the order of [`Condition`].
pub(super) fn of(report: &Report) -> Vec<Found> {
    let mut all = Found::of_host(report);
    report
        .plugins
        .iter()
        .for_each(|plugin| Found::of_plugin(plugin, &mut all));
    for name in resources(report) {
        Found::of_resource(name, report.registration(name), &mut all);
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

impl Found {
    fn one(condition: Condition, of: impl Into<String>, why: impl Into<String>) -> Self {
        let (of, why) = (of.into(), why.into());
        Self {
            condition,
            of,
            why,
            count: 1,
        }
    }

    fn of_host(report: &Report) -> Vec<Self> {
        let waits = report
            .waits
            .as_ref()
            .map(|why| Self::one(Condition::WaitsForAnother, "host", why));
        let hangs = report.late.iter().map(|late| Self::one(Condition::Hangs, "host", late));
        let refused = report.policy.refused.as_ref();
        let refused = refused.map(|refused| Self::one(Condition::PolicyRefused, "policy", &refused.why));
        let closed = report
            .closed
            .as_ref()
            .map(|why| Self::one(Condition::StateClosed, "state", why));
        let unsaved = report
            .unsaved
            .iter()
            .map(|why| Self::one(Condition::StateUnsaved, "state", why));
        // Where nothing is offered nobody has to be asked.
        let unseen = report.pods_unseen_s.filter(|_| !resources(report).is_empty()).map(|seconds| {
            let why = format!(
                "the kubelet's pod-resources API has not answered for {seconds}s: no device is known to be free again (--pod-resources-dir)"
            );
            Self::one(Condition::PodsNotSeen, "pods", why)
        });
        let all = waits.into_iter().chain(hangs).chain(refused).chain(closed);
        all.chain(unsaved).chain(unseen).collect()
    }

    fn of_plugin(plugin: &PluginStatus, all: &mut Vec<Self>) {
        let mut add = |condition, why: &str| all.push(Self::one(condition, format!("plugin {}", plugin.name), why));
        let reason = |otherwise| plugin.reason.as_deref().unwrap_or(otherwise);
        match plugin.state {
            State::Idle | State::Serving => {}
            State::Loading => add(Condition::PluginLoading, reason("is loading")),
            State::Failing => add(Condition::PluginFailing, reason("fails")),
            State::Quarantined => add(Condition::PluginQuarantined, reason("is quarantined")),
        }
        if let Some(nothing) = plugin.nothing() {
            add(of_nothing(nothing), nothing.as_str());
        }
        if plugin.allocations_failing > 0 {
            let last = plugin.allocations_failing;
            add(
                Condition::AllocationsFail,
                &format!("the last {last} of its allocations failed, and none was given since"),
            );
        }
        if plugin.hanging > 0 {
            let why = format!(
                "{} of its calls have not returned since the host gave up on them",
                plugin.hanging
            );
            add(Condition::CallsHang, &why);
        }
        let log = plugin.kernel_log.as_ref().filter(|_| plugin.state != State::Idle);
        if let Some(why) = log.and_then(|log| log.off.as_ref()) {
            add(Condition::KernelLogOff, &format!("the kernel's log is not read: {why}"));
        }
        if let Some(why) = &plugin.labels.problem {
            add(Condition::LabelsNotTold, &format!("its labels are not told: {why}"));
        }
        for resource in &plugin.resources {
            let count = resource
                .devices
                .iter()
                .filter(|device| device.unhealthy.is_some())
                .count();
            if count > 0 {
                let (of, why) = (format!("resource {}", resource.name), format!("{count} unhealthy"));
                all.push(Self {
                    count,
                    ..Self::one(Condition::DevicesUnhealthy, of, why)
                });
            }
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
            add(
                Condition::ListNotSent,
                &format!("its list is not sent, the one before stands: {why}"),
            );
        }
        if !known.hidden.is_empty() {
            let why = format!(
                "{} come and go: the kubelet is shown them as unhealthy",
                known.hidden.len()
            );
            add(Condition::DevicesHidden, &why);
        }
    }
}

fn of_nothing(nothing: Nothing) -> Condition {
    match nothing {
        Nothing::Rejected => Condition::AllRejected,
        Nothing::Unread => Condition::NothingDescribed,
        Nothing::LeftOut | Nothing::Unlisted => Condition::NothingListed,
    }
}

#[cfg(test)]
mod tests;
