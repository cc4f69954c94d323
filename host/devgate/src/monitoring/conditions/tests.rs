mod faces;

use super::*;
use crate::monitoring::tests::one;
use crate::reload::Refused;
use devgate_core::status::{KernelLogStatus, When};
use devgate_dra::{AgentStatus, DraStatus, DriverStatus};
use std::time::UNIX_EPOCH;

/// One that needs no look.
fn well() -> Report {
    let mut report = one();
    report.plugins[0].resources[0].devices.pop();
    report.kubelet[0].hidden.clear();
    report.judged()
}

fn refused(report: &mut Report, why: &str) {
    report.policy.refused = Some(Refused { why: why.into(), since: When(UNIX_EPOCH) });
}

/// A driver that is registered, and published unless there is a reason.
fn published(why_not: Option<&str>) -> DraStatus {
    let driver = DriverStatus {
        driver: "edge.example.com".into(),
        phase: devgate_dra::Phase::Registered,
        since: When(UNIX_EPOCH),
        error: None,
        devices: 1,
        left_out: Vec::new(),
        generation: Some(1),
        dropped: Vec::new(),
        unpublished: why_not.map(Into::into),
        claims: 0,
    };
    DraStatus { agent: AgentStatus { connected: true, error: None }, drivers: vec![driver] }
}

#[test]
fn what_is_given_by_claims_needs_a_driver_and_an_agent() {
    let mut report = well();
    report.plugins[0].resources[0].driver = Some("edge.example.com".into());
    report.kubelet.clear();
    report.dra = Some(published(None));
    assert_eq!(report.clone().judged().summary, "all is well: 1 plugin, 1 device, 1 resource");
    let not_well = |report: &Report| report.clone().judged().conditions.remove(0).why;
    if let Some(dra) = &mut report.dra {
        dra.agent.error = Some("cannot be connected to".into());
    }
    assert!(not_well(&report).ends_with("says what claims have (--agent-socket): cannot be connected to"));
    for (phase, why, said) in [
        (
            devgate_dra::Phase::Waiting,
            None,
            "driver edge.example.com: the kubelet has not found it yet (--plugins-registry-dir)",
        ),
        (
            devgate_dra::Phase::Refused,
            Some("the kubelet refuses it: no"),
            "driver edge.example.com: the kubelet refuses it: no",
        ),
    ] {
        let mut dra = published(None);
        dra.drivers[0].phase = phase;
        dra.drivers[0].error = why.map(Into::into);
        report.dra = Some(dra);
        assert_eq!(not_well(&report), said);
        let row = format!(": {}; published, generation 1, 0 claims", said.split_once(": ").unwrap().1);
        let text = crate::status::text::of(&report.clone().judged());
        assert!(text.contains(&row), "{text}");
    }
    report.dra = None;
    assert_eq!(not_well(&report), "its driver is not served yet");
}

/// A report where it holds, and nothing else.
fn with(condition: Condition) -> Report {
    let mut report = well();
    let plugin = &mut report.plugins[0];
    let no = || Some("no".to_owned());
    match condition {
        Condition::WaitsForAnother => {
            return Report::of_waiting(When(UNIX_EPOCH), "state directory /x: another devgate").judged();
        }
        Condition::Hangs => report.late = vec!["plugin edge: is 70s late".into()],
        Condition::PolicyRefused => refused(&mut report, "no"),
        Condition::StateClosed => report.closed = Some("the disk is full".into()),
        Condition::StateUnsaved => report.unsaved = vec!["/x/unhealthy.json could not be saved: no".into()],
        Condition::CdiUnwritten => report.cdi_unwritten = vec!["lease job1: no".into()],
        Condition::PodsNotSeen => report.pods_unseen_s = Some(70),
        Condition::PluginLoading => plugin.state = State::Loading,
        Condition::PluginFailing => (plugin.state, plugin.reason) = (State::Failing, no()),
        Condition::PluginQuarantined => (plugin.state, plugin.reason) = (State::Quarantined, no()),
        Condition::AllRejected => plugin.resources[0].devices.clear(),
        Condition::NothingDescribed => {
            plugin.resources[0].devices.clear();
            (plugin.rejected_total, plugin.unread) = (0, 2);
        }
        Condition::NothingListed => {
            plugin.resources[0].devices.clear();
            (plugin.rejected_total, plugin.unread, plugin.left_out) = (3, 2, 1);
        }
        Condition::AllocationsFail => plugin.allocations_failing = 3,
        Condition::KernelLogOff => plugin.kernel_log = Some(KernelLogStatus { off: no(), gaps: 0 }),
        Condition::LabelsNotTold => plugin.labels.problem = no(),
        Condition::DevicesUnhealthy => plugin.resources[0].devices[0].unhealthy = no(),
        Condition::CallsHang => plugin.hanging = 2,
        Condition::ResourceRefused => report.kubelet[0].phase = Phase::Refused,
        Condition::ResourceNotRegistered => report.kubelet.clear(),
        Condition::KubeletAway => report.kubelet[0].phase = Phase::Waiting,
        Condition::ListNotSent => report.kubelet[0].unsent = no(),
        Condition::NotPublished => {
            plugin.resources[0].driver = Some("edge.example.com".into());
            report.kubelet.clear();
            report.dra = Some(published(Some("no")));
        }
        Condition::DevicesHidden => report.kubelet[0].hidden = one().kubelet.remove(0).hidden,
    }
    report.judged()
}

#[test]
fn a_host_that_is_well_says_so() {
    assert!(well().is_well());
    assert_eq!(well().summary, "all is well: 1 plugin, 1 device, 1 resource");
    let mut idle = well();
    idle.plugins[0].state = State::Idle;
    (idle.plugins[0].resources, idle.kubelet) = (Vec::new(), Vec::new());
    idle.plugins[0].kernel_log = Some(KernelLogStatus { off: Some("no".into()), gaps: 0 });
    // Where nothing is offered, the kubelet need not tell who has it.
    idle.pods_unseen_s = Some(70);
    assert_eq!(idle.judged().summary, "all is well: 1 plugin, 0 devices, 0 resources");
}

#[test]
fn each_thing_that_is_not_well_is_named() {
    let found = Condition::ALL.map(|condition| {
        let report = with(condition);
        let [found] = &report.conditions[..] else { panic!("{condition:?}: {:?}", report.conditions) };
        assert_eq!(found.condition, condition);
        assert_eq!(serde_json::to_value(condition).unwrap(), condition.as_str());
        format!("{}\n    {}: {}", report.summary, found.of, found.why)
    });
    insta::assert_snapshot!(found.join("\n"));
    let mut order = Condition::ALL;
    order.sort_unstable();
    assert_eq!(order, Condition::ALL);
}

#[test]
fn all_that_holds_is_told_in_one_line() {
    let mut report = one();
    report.plugins[0].state = State::Loading;
    report.kubelet[0].phase = Phase::Waiting;
    report.kubelet[0].hidden.clear();
    refused(&mut report, "no");
    assert_eq!(
        report.judged().summary,
        "NOT well: another policy is refused; 1 of 1 plugin loading; 1 of 2 devices unhealthy; 1 of 1 resource waiting for the kubelet"
    );
}

/// Every combination of what most often is not well.
#[test]
fn the_line_and_the_conditions_agree_in_every_combination() {
    let phases = Phase::ALL.into_iter().map(Some).chain([None]);
    let phases: Vec<_> = phases.collect();
    let mut seen = 0;
    for state in State::ALL {
        for phase in &phases {
            for (is_refused, unhealthy) in [(false, false), (false, true), (true, false), (true, true)] {
                let mut report = if unhealthy { one() } else { well() };
                report.plugins[0].state = state;
                report.kubelet[0].hidden.clear();
                match phase {
                    Some(phase) => report.kubelet[0].phase = *phase,
                    None => report.kubelet.clear(),
                }
                if is_refused {
                    refused(&mut report, "no");
                }
                let report = report.judged();
                let line = &report.summary;
                let expected = matches!(state, State::Idle | State::Serving)
                    && *phase == Some(Phase::Registered)
                    && !is_refused
                    && !unhealthy;
                assert_eq!(report.is_well(), expected, "{line}");
                assert_eq!(line.starts_with("all is well: "), expected, "{line}");
                assert_eq!(line.starts_with("NOT well: "), !expected, "{line}");
                assert_eq!(line.contains("another policy is refused"), is_refused, "{line}");
                assert_eq!(line.contains("unhealthy"), unhealthy, "{line}");
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 100);
}

/// What another version says is judged by what it says, not by its word.
#[test]
fn a_report_is_judged_by_whoever_reads_it() {
    let mut json = serde_json::to_value(one()).unwrap();
    assert_eq!(json["conditions"][0]["condition"], "devices-unhealthy");
    let object = json.as_object_mut().unwrap();
    object.remove("conditions");
    object.remove("summary");
    let read: Report = serde_json::from_value(json).unwrap();
    assert_eq!(read.judged(), one());
}

/// A plugin that serves has looked, also where it found nothing to list; to wait for one that is known to fail would only keep the
/// others from being rolled out.
#[test]
fn ready_is_what_is_decided() {
    let waits: Vec<_> =
        Condition::ALL.into_iter().filter(|condition| condition.ready() == Ready::No).map(Condition::as_str).collect();
    let expected = ["waits-for-another", "state-closed", "plugin-loading", "resource-not-registered", "kubelet-away"];
    assert_eq!(waits, expected);
}
