//! How all is: what somebody should look at, counted. The exit code of `devgate status` and its last line are both made of this,
//! so that they cannot disagree.

use super::Report;
use crate::output::count;
use devgate_core::status::State;
use devgate_device_plugin::Phase;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What is not well; nothing where nobody needs to look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Unwell {
    /// Another policy is refused.
    policy: bool,
    /// Nothing is given that no pod has.
    closed: bool,
    /// Plugins that neither serve nor have nothing to do, by what they do instead.
    plugins: BTreeMap<State, usize>,
    /// Devices that are unhealthy.
    devices: usize,
    /// Plugins with calls that have not returned.
    hanging: usize,
    /// Resources that the kubelet has not taken, by how far it is with them.
    resources: BTreeMap<Waits, usize>,
}

/// Why the kubelet does not have a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Waits {
    Refused,
    NotRegistered,
    ForTheKubelet,
}

impl Waits {
    fn of(phase: Option<Phase>) -> Option<Self> {
        match phase {
            Some(Phase::Registered) => None,
            Some(Phase::Refused) => Some(Self::Refused),
            Some(Phase::Waiting) => Some(Self::ForTheKubelet),
            // It has not even been told of it.
            Some(Phase::Registering) | None => Some(Self::NotRegistered),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused by the kubelet",
            Self::NotRegistered => "not registered",
            Self::ForTheKubelet => "waiting for the kubelet",
        }
    }
}

impl Unwell {
    pub(super) fn of(report: &Report) -> Self {
        let mut unwell = Self {
            policy: report.policy.refused.is_some(),
            closed: report.closed.is_some(),
            ..Self::default()
        };
        for plugin in &report.plugins {
            if !matches!(plugin.state, State::Idle | State::Serving) {
                *unwell.plugins.entry(plugin.state).or_default() += 1;
            }
            let devices = plugin.resources.iter().flat_map(|resource| &resource.devices);
            unwell.hanging += usize::from(plugin.hanging > 0);
            unwell.devices += devices.filter(|device| device.unhealthy.is_some()).count();
        }
        for name in resources(report) {
            let phase = report.registration(name).map(|registration| registration.phase);
            if let Some(waits) = Waits::of(phase) {
                *unwell.resources.entry(waits).or_default() += 1;
            }
        }
        unwell
    }

    /// Whether nobody needs to look.
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Those that plugins have, and those that the kubelet was told of.
fn resources(report: &Report) -> BTreeSet<&str> {
    let of_plugins = report.plugins.iter().flat_map(|plugin| &plugin.resources);
    let told = report.kubelet.iter().map(|registration| registration.resource.as_str());
    of_plugins.map(|resource| resource.name.as_str()).chain(told).collect()
}

/// How all is, in one line.
pub(crate) fn summary(report: &Report) -> String {
    Summary {
        unwell: report.unwell(),
        plugins: report.plugins.len(),
        devices: report
            .plugins
            .iter()
            .flat_map(|plugin| &plugin.resources)
            .map(|resource| resource.devices.len())
            .sum(),
        resources: resources(report).len(),
    }
    .to_string()
}

struct Summary {
    unwell: Unwell,
    plugins: usize,
    devices: usize,
    resources: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.unwell.is_nothing() {
            let (plugins, devices) = (count(self.plugins, "plugin"), count(self.devices, "device"));
            return write!(
                f,
                "all is well: {plugins}, {devices}, {}",
                count(self.resources, "resource")
            );
        }
        let part = |n: usize, of: usize, what: &str, how: &str| format!("{n} of {} {how}", count(of, what));
        let mut parts = Vec::new();
        if self.unwell.policy {
            parts.push("another policy is refused".to_owned());
        }
        if self.unwell.closed {
            parts.push("no device is given that no pod has".to_owned());
        }
        for (state, n) in &self.unwell.plugins {
            parts.push(part(*n, self.plugins, "plugin", state.as_str()));
        }
        if self.unwell.devices > 0 {
            parts.push(part(self.unwell.devices, self.devices, "device", "unhealthy"));
        }
        if self.unwell.hanging > 0 {
            parts.push(part(
                self.unwell.hanging,
                self.plugins,
                "plugin",
                "with calls that have not returned",
            ));
        }
        for (waits, n) in &self.unwell.resources {
            parts.push(part(*n, self.resources, "resource", waits.as_str()));
        }
        write!(f, "NOT well: {}", parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::one;
    use super::*;
    use crate::reload::Refused;
    use devgate_core::status::When;
    use std::time::UNIX_EPOCH;

    /// One that nobody needs to look at.
    fn well() -> Report {
        let mut report = one();
        report.plugins[0].resources[0].devices.pop();
        report
    }

    #[test]
    fn a_host_that_is_well_says_so() {
        assert!(well().unwell().is_nothing());
        assert_eq!(summary(&well()), "all is well: 1 plugin, 1 device, 1 resource");
        let mut idle = well();
        idle.plugins[0].state = State::Idle;
        (idle.plugins[0].resources, idle.kubelet) = (Vec::new(), Vec::new());
        assert_eq!(summary(&idle), "all is well: 1 plugin, 0 devices, 0 resources");
    }

    #[test]
    fn each_thing_that_is_not_well_is_named() {
        let mut refused = well();
        refused.policy.refused = Some(Refused {
            why: "no".into(),
            since: When(UNIX_EPOCH),
        });
        assert_eq!(summary(&refused), "NOT well: another policy is refused");
        let mut closed = well();
        closed.closed = Some("the disk is full".to_owned());
        assert_eq!(summary(&closed), "NOT well: no device is given that no pod has");
        assert_eq!(summary(&one()), "NOT well: 1 of 2 devices unhealthy");
        for (state, says) in [
            (State::Loading, "NOT well: 1 of 1 plugin loading"),
            (State::Failing, "NOT well: 1 of 1 plugin failing"),
            (State::Quarantined, "NOT well: 1 of 1 plugin quarantined"),
        ] {
            let mut report = well();
            report.plugins[0].state = state;
            assert_eq!(summary(&report), says);
        }
        let mut hanging = well();
        hanging.plugins[0].hanging = 2;
        assert_eq!(
            summary(&hanging),
            "NOT well: 1 of 1 plugin with calls that have not returned"
        );
        for (phase, says) in [
            (Phase::Waiting, "NOT well: 1 of 1 resource waiting for the kubelet"),
            (Phase::Registering, "NOT well: 1 of 1 resource not registered"),
            (Phase::Refused, "NOT well: 1 of 1 resource refused by the kubelet"),
        ] {
            let mut report = well();
            report.kubelet[0].phase = phase;
            assert_eq!(summary(&report), says);
        }
        let mut untold = well();
        untold.kubelet.clear();
        assert_eq!(summary(&untold), "NOT well: 1 of 1 resource not registered");
    }

    /// Every combination of all of it: the line says that all is well where the exit code does, and nowhere else.
    #[test]
    fn the_line_and_the_exit_code_agree_in_every_combination() {
        let phases = Phase::ALL.into_iter().map(Some).chain([None]);
        let phases: Vec<_> = phases.collect();
        let mut seen = 0;
        for state in State::ALL {
            for phase in &phases {
                for (refused, unhealthy) in [(false, false), (false, true), (true, false), (true, true)] {
                    let mut report = if unhealthy { one() } else { well() };
                    report.plugins[0].state = state;
                    match phase {
                        Some(phase) => report.kubelet[0].phase = *phase,
                        None => report.kubelet.clear(),
                    }
                    report.policy.refused = refused.then(|| Refused {
                        why: "no".into(),
                        since: When(UNIX_EPOCH),
                    });
                    let line = summary(&report);
                    let expected = matches!(state, State::Idle | State::Serving)
                        && *phase == Some(Phase::Registered)
                        && !refused
                        && !unhealthy;
                    assert_eq!(report.unwell().is_nothing(), expected, "{line}");
                    assert_eq!(line.starts_with("all is well: "), expected, "{line}");
                    assert_eq!(line.starts_with("NOT well: "), !expected, "{line}");
                    assert_eq!(line.contains("another policy is refused"), refused, "{line}");
                    assert_eq!(line.contains("unhealthy"), unhealthy, "{line}");
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, 100);
    }
}
