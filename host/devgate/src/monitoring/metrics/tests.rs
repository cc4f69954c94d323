use super::*;
use devgate_core::status::{
    AllocationEnd, CallKind, ComponentStatus, DeviceStatus, Edge, HolderStatus, KernelLogStatus, LabelStatus,
    PluginStatus, Refusal, ResourceStatus, When,
};
use devgate_device_plugin::{Hidden, RegistrationStatus};
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
        answered: Some(at(59)),
        buckets: vec![0, 0, count - 1, 0, 1, 0, 0, 0, 0, 0],
    };
    let holder = HolderStatus {
        uid: None,
        id: "fuse::2".into(),
        namespace: "team-a".into(),
        pod: "train-0".into(),
        container: "main".into(),
    };
    let device = |id: &str, unhealthy: Option<&str>, holders: Vec<HolderStatus>| DeviceStatus {
        id: id.into(),
        unhealthy: unhealthy.map(str::to_owned),
        causes: Vec::new(),
        conditions: Vec::new(),
        settling: None,
        since: unhealthy.map(|_| at(55)),
        numa_nodes: BTreeSet::from([0]),
        held: !holders.is_empty(),
        unlisted: false,
        consumers: Vec::new(),
        holders,
    };
    let plugin = PluginStatus {
        name: "edge".into(),
        state: State::Serving,
        since: at(1),
        reason: None,
        retry_at: None,
        component: ComponentStatus { file: "generic.wasm".into(), sha256: Some("ab".repeat(32)), pinned: true },
        resources: vec![ResourceStatus {
            driver: None,
            name: "devgate.dev/fuse".into(),
            replicas: 4,
            devices: vec![
                device("fuse", None, vec![holder]),
                device("fuse2", Some("node /dev/fuse2 is gone"), Vec::new()),
            ],
        }],
        rejected: vec![devgate_core::Rejection {
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
        left_out: 0,
        unread: 0,
        allocations_failing: 0,
        allocations: BTreeMap::from([(AllocationEnd::Given, 3), (AllocationEnd::Refused, 1)]),
        calls: vec![call(CallKind::Enumerate, 12, 0), call(CallKind::Allocate, 4, 1)],
        resting: 1,
        given_up: 3,
        hanging: 0,
        runner_restarts: 2,
        near: vec![Edge {
            limit: "limits.memory".into(),
            call: CallKind::Enumerate,
            used: 15 << 20,
            of: 16 << 20,
            at: at(58),
        }],
        kernel_log: Some(KernelLogStatus { off: None, gaps: 1 }),
        labels: LabelStatus::default(),
    };
    Report {
        version: "0.1.0".into(),
        landlock: crate::confinement::Fence { version: 7, ..Default::default() },
        now: at(60),
        policy: crate::reload::InForce::new(at(2)),
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
            hidden: vec![Hidden { id: "fuse".into(), until: When(at(60).0 + Duration::from_secs(12)) }],
            unsent: None,
        }],
        ..Report::new(at(0))
    }
    .judged()
}

fn usage() -> Usage {
    crate::monitoring::process::named([40 << 20, 128 << 20, 31, 1 << 20].map(Some), 12.5)
}

fn all(report: &Report) -> String {
    text(report, &usage())
}

/// `cargo xtask test --only monitoring` reads this snapshot: alerts and dashboards may name what is in it, and nothing else.
#[test]
fn every_number_of_a_report_is_a_metric() {
    insta::assert_snapshot!(all(&one()));
}

#[test]
fn what_is_not_known_or_does_not_apply_is_not_there() {
    let mut report = one();
    report.plugins[0].kernel_log = None;
    report.plugins[0].calls[0].answered = None;
    let text = text(&report, &Usage::new());
    for name in [
        "process_max_fds",
        "devgate_memory_limit_bytes",
        "devgate_kernel_log_readable",
        "timestamp_seconds{plugin=\"edge\",call=\"enumerate\"}",
    ] {
        assert!(!text.contains(name) && all(&one()).contains(name), "{name}");
    }
    report.plugins[0].kernel_log = Some(KernelLogStatus { off: Some("no CAP_SYSLOG".into()), gaps: 0 });
    assert!(all(&report).contains("devgate_kernel_log_readable{plugin=\"edge\"} 0"));
}

#[test]
fn what_a_component_says_or_a_pod_is_called_is_no_label() {
    let said = ["fuse2", "/dev/mem", "is gone", "team-a", "train-0", "id x"];
    let all_of_one = all(&one());
    for word in said {
        assert!(!all_of_one.contains(word), "{word}");
    }
    let mut many = one();
    for n in 0..1_000 {
        many.plugins[0].refusals.extend(one().plugins[0].refusals.clone());
        let mut device = one().plugins[0].resources[0].devices[0].clone();
        device.id = n.to_string();
        many.plugins[0].resources[0].devices.push(device);
    }
    assert_eq!(all(&many).lines().count(), all(&one()).lines().count(), "bounded by the policy");
}

#[test]
fn a_label_stays_in_its_line() {
    let mut series = Series::default();
    series.add("devgate_devices", &[("a", "x\\y\"z\nw"), ("b", "")], 0.5);
    assert_eq!(series.0["devgate_devices"], "devgate_devices{a=\"x\\\\y\\\"z\\nw\",b=\"\"} 0.5\n");
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
    let metrics = all(&one());
    promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.trim().is_empty(), "{said}\n{metrics}");
}
