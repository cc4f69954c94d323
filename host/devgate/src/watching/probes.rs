//! Whether the host lives, and whether it is ready. docs/watching.md says what that means.

use super::{Report, Watching};
use devgate_core::status::State;
use devgate_device_plugin::Phase;
use std::time::Duration;

impl Watching {
    /// What hangs: nothing, in a host that lives.
    pub(crate) fn hangs(&self) -> Vec<String> {
        hangs(&self.plugins.late(), self.front_end.late())
    }
}

fn hangs(plugins: &[(String, Duration)], front_end: Option<Duration>) -> Vec<String> {
    let seconds = |late: &Duration| late.as_secs();
    let plugin = |(name, late): &(String, Duration)| format!("plugin {name}: is {}s late", seconds(late));
    let mut all: Vec<_> = plugins.iter().map(plugin).collect();
    all.extend(front_end.map(|late| format!("front end: is {}s late", seconds(&late))));
    all
}

/// What is not yet decided: nothing, in a host that is ready.
pub(crate) fn waits(report: &Report) -> Vec<String> {
    let mut waits = Vec::new();
    waits.extend(report.closed.as_ref().map(|why| format!("state: {why}")));
    for plugin in &report.plugins {
        match plugin.state {
            State::Loading => {
                let why = plugin.reason.as_deref().unwrap_or("is loading");
                waits.push(format!("plugin {}: {why}", plugin.name));
            }
            // What serves has looked, also where it found nothing to list. What fails is known to fail: to wait for it would only
            // keep the others from being rolled out.
            State::Idle | State::Failing | State::Quarantined | State::Serving => {}
        }
        for resource in &plugin.resources {
            let phase = report
                .registration(&resource.name)
                .map(|registration| registration.phase);
            let why = match phase {
                Some(Phase::Registered | Phase::Refused) => continue,
                Some(Phase::Waiting) => "there is no kubelet",
                Some(Phase::Registering) | None => "is not registered yet",
            };
            waits.push(format!("resource {}: {why}", resource.name));
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::super::metrics::tests::one as report;
    use super::*;

    #[test]
    fn what_is_late_hangs_and_is_named() {
        let late = Duration::from_secs(70);
        assert_eq!(hangs(&[], None), [""; 0]);
        assert_eq!(
            hangs(&[("acme".into(), late)], Some(late)),
            ["plugin acme: is 70s late", "front end: is 70s late"]
        );
    }

    #[test]
    fn ready_is_what_is_registered_idle_or_known_to_fail() {
        let mut now = report();
        assert_eq!(waits(&now), [""; 0]);
        for state in [State::Idle, State::Failing, State::Quarantined, State::Serving] {
            now.plugins[0].state = state;
            assert_eq!(waits(&now), [""; 0], "{state:?}");
        }
        now.kubelet[0].phase = Phase::Refused;
        assert_eq!(waits(&now), [""; 0]);
    }

    #[test]
    fn not_ready_is_what_is_not_decided_yet() {
        let mut now = report();
        now.closed = Some("the disk is full".to_owned());
        assert_eq!(waits(&now), ["state: the disk is full"]);
        now.closed = None;
        now.plugins[0].state = State::Loading;
        assert_eq!(waits(&now), ["plugin edge: is loading"]);
        now.plugins[0].state = State::Serving;
        for (phase, why) in [
            (Phase::Waiting, "there is no kubelet"),
            (Phase::Registering, "is not registered yet"),
        ] {
            now.kubelet[0].phase = phase;
            assert_eq!(waits(&now), [format!("resource devgate.dev/fuse: {why}")]);
        }
        now.kubelet.clear();
        assert_eq!(waits(&now), ["resource devgate.dev/fuse: is not registered yet"]);
        now.plugins[0].resources.clear();
        assert_eq!(waits(&now), [""; 0], "it has looked, and there is nothing");
    }
}
