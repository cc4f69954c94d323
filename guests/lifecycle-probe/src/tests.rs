//! The component natively, through the plugin layer of a real host.

use super::Probe;
use devgate_testing::{Call, LogLevel, Rig, Said};

const POLICY: &str = r"
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  probe:
    component: {file: lifecycle-probe.wasm}
    resources: [example.com/probe]
    hardware:
      - {subsystem: probe, use: offer, nodes: [{access: rw}]}
";

const NODE: &str = r"
P: /devices/virtual/probe/probe0
N: probe0
E: SUBSYSTEM=probe
E: DEVNAME=/dev/probe0
E: MAJOR=240
E: MINOR=0
A: allocate=\n
A: prepare=\n
A: release=\n
";

const RESOURCE: &str = "example.com/probe";

fn rig() -> Rig {
    Rig::of::<Probe>(POLICY, "probe", NODE)
}

fn functions(calls: &[Call]) -> Vec<&str> {
    let acting = calls.iter().filter(|call| !["enumerate", "health"].contains(&call.function));
    acting.map(|call| call.function).collect()
}

#[test]
fn a_device_is_made_ready_given_and_released() {
    let mut rig = rig();
    let survey = rig.survey();
    assert_eq!(survey.to_string(), "example.com/probe\n  probe0\n    of probe0\n    /dev/probe0 rw\n");
    let reply = rig.allocate(RESOURCE, &["probe0"]).unwrap();
    let nodes: Vec<_> = reply.nodes.iter().map(|node| node.host_path.as_str()).collect();
    assert_eq!(nodes, ["/dev/probe0"]);
    rig.release(RESOURCE, &["probe0"]).unwrap();
    assert_eq!(functions(&rig.calls()), ["prepare", "allocate", "release"]);
    let said = ["prepare probe0", "allocate probe0", "release probe0"]
        .map(|text| Said { level: LogLevel::Info, text: text.to_owned() });
    assert_eq!(rig.said(), said);
}

#[test]
fn a_device_that_cannot_be_made_ready_is_not_given() {
    let mut rig = rig();
    rig.set("probe/probe0", "prepare", "fail\n");
    let refused = rig.allocate(RESOURCE, &["probe0"]).unwrap_err();
    assert_eq!(refused.to_string(), "plugin probe: prepare failed: the device does not answer (probe)");
    assert_eq!(functions(&rig.calls()), ["prepare", "release"], "what was begun is undone");
    let survey = rig.survey();
    assert_eq!(
        survey.unit("probe0").unhealthy.as_deref(),
        Some("plugin probe: prepare failed: the device does not answer (probe)")
    );
}

#[test]
fn what_cannot_be_released_says_so() {
    let mut rig = rig();
    rig.allocate(RESOURCE, &["probe0"]).unwrap();
    rig.set("probe/probe0", "release", "fail\n");
    let failed = rig.release(RESOURCE, &["probe0"]).unwrap_err();
    assert_eq!(failed, "failed: the device does not answer (probe)");
    assert!(!rig.survey().unit("probe0").is_healthy());
}
