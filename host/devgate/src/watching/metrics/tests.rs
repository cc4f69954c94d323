use super::*;
use devgate_kubelet::RegistrationStatus;
use devgate_plugin::status::{
    AllocationEnd, CallKind, ComponentStatus, DeviceStatus, Edge, HolderStatus, PluginStatus, Refusal, RejectedUnit,
    ResourceStatus, When,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

fn at(minutes: u64) -> When {
    When(UNIX_EPOCH + Duration::from_secs(1_795_274_400 + 60 * minutes))
}

/// A host with one plugin that works, where everything has a value.
pub(crate) fn one() -> Report {
    let call = |call, count, guest| CallStatus {
        call,
        count,
        failed: 0,
        guest,
        host: 0,
        last_us: 180,
        longest_us: 2_100,
        total_us: 9_000,
        memory: 1_310_720,
        memory_limit: 16 << 20,
        buckets: vec![0, 0, count - 1, 0, 1, 0, 0, 0, 0, 0],
    };
    let holder = HolderStatus {
        id: "fuse".into(),
        namespace: "team-a".into(),
        pod: "train-0".into(),
        container: "main".into(),
    };
    let device = |id: &str, unhealthy: Option<&str>, holders: Vec<HolderStatus>| DeviceStatus {
        id: id.into(),
        unhealthy: unhealthy.map(str::to_owned),
        settling: None,
        since: unhealthy.map(|_| at(55)),
        numa_nodes: BTreeSet::from([0]),
        held: !holders.is_empty(),
        holders,
    };
    let plugin = PluginStatus {
        name: "edge".into(),
        state: State::Serving,
        since: at(1),
        reason: None,
        retry_at: None,
        component: ComponentStatus {
            file: "generic.wasm".into(),
            sha256: Some("ab".repeat(32)),
            pinned: true,
        },
        resources: vec![ResourceStatus {
            name: "devgate.dev/fuse".into(),
            replicas: 1,
            devices: vec![
                device("fuse", None, vec![holder]),
                device("fuse2", Some("node /dev/fuse2 is gone"), Vec::new()),
            ],
        }],
        rejected: vec![RejectedUnit {
            what: "id x of devgate.dev/fuse".into(),
            why: "its node is not offered".into(),
        }],
        rejected_total: 1,
        refusals: vec![Refusal {
            kind: RefusalKind::Capability,
            text:
                "plugin edge: the component asked for node \"/dev/mem\": no entry of the policy's host-nodes matches it"
                    .into(),
            first: at(2),
            last: at(50),
            times: 12,
        }],
        refused: BTreeMap::from([(RefusalKind::Capability, 12)]),
        allocations: BTreeMap::from([(AllocationEnd::Given, 3), (AllocationEnd::Refused, 1)]),
        calls: vec![call(CallKind::Enumerate, 12, 0), call(CallKind::Allocate, 4, 1)],
        near: vec![Edge {
            limit: "limits.memory".into(),
            call: CallKind::Enumerate,
            used: 15 << 20,
            of: 16 << 20,
            at: at(58),
        }],
    };
    Report {
        version: "0.1.0".into(),
        started: at(0),
        now: at(60),
        policy: crate::reload::InForce {
            since: at(2),
            refused: None,
        },
        holders_known: true,
        plugins: vec![plugin],
        kubelet: vec![RegistrationStatus {
            resource: "devgate.dev/fuse".into(),
            phase: Phase::Registered,
            since: at(1),
            registrations: 2,
            incarnations: 2,
            streams: 1,
            lists: 5,
            error: None,
        }],
    }
}

/// The metrics that do not depend on this process.
fn own(report: &Report) -> String {
    let all = text(report).unwrap();
    let lines = all.lines().filter(|line| !line.contains("process_"));
    lines.fold(String::new(), |text, line| text + line + "\n")
}

#[test]
fn every_number_of_a_report_is_a_metric() {
    insta::assert_snapshot!(own(&one()));
}

#[test]
fn what_a_component_says_or_a_pod_is_called_is_no_label() {
    let said = ["fuse2", "/dev/mem", "is gone", "team-a", "train-0", "id x"];
    let all = text(&one()).unwrap();
    for word in said {
        assert!(!all.contains(word), "{word}");
    }
    let mut many = one();
    for n in 0..1_000 {
        many.plugins[0].refusals.extend(one().plugins[0].refusals.clone());
        let mut device = one().plugins[0].resources[0].devices[0].clone();
        device.id = n.to_string();
        many.plugins[0].resources[0].devices.push(device);
    }
    assert_eq!(
        own(&many).lines().count(),
        own(&one()).lines().count(),
        "bounded by the policy"
    );
}

/// With Prometheus' own tool. It is in Debian's package `prometheus`, which `.ci/run` installs.
#[test]
fn promtool_takes_the_metrics() {
    let started = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = started else {
        assert!(
            std::env::var_os("CI").is_none(),
            "promtool is not here, and CI must not pass without it: apt-get install prometheus"
        );
        eprintln!("SKIPPED: promtool is not here (apt-get install prometheus)");
        return;
    };
    let metrics = text(&one()).unwrap();
    promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.trim().is_empty(), "{said}\n{metrics}");
}
