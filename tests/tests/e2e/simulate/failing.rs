//! Every expectation where it is not so, and every step that cannot be done: which step fails, and what is said of it.

use super::{scenario, simulate};
use std::path::Path;

/// Steps, of which the last one fails, and a part of what is said.
const CASES: [(&str, &str, &str); 29] = [
    (
        "count",
        "[{expect: {devices: {example.com/serial: 3}}}]",
        "example.com/serial healthy: expected 3, found 2: 1-1.1 1-1.2",
    ),
    (
        "ids",
        "[{expect: {devices: {example.com/serial: [1-1.1]}}}]",
        "example.com/serial healthy: expected 1-1.1, found 2: 1-1.1 1-1.2",
    ),
    (
        "unhealthy",
        "[{expect: {devices: {example.com/serial: {unhealthy: [1-1.2]}}}}]",
        "example.com/serial unhealthy: expected 1-1.2, found none",
    ),
    (
        "unknown",
        "[{expect: {devices: {example.com/serail: 2}}}]",
        "example.com/serail healthy: expected 2, found no such resource: nothing was registered under this name",
    ),
    (
        "numa",
        "[{expect: {devices: {example.com/serial: {numa: {1-1.1: 0, x: 1}}}}}]",
        "NUMA nodes of 1-1.1: expected 0, found none; example.com/serial NUMA nodes of x: expected 1, found no such device",
    ),
    (
        "no-reason",
        "[{expect: {reason: {1-1.1: gone}}}]",
        "1-1.1 reason: expected \"gone\" in it, found a healthy device",
    ),
    (
        "other-reason",
        "[{pod: {name: p, requests: {example.com/serial: 2}}}, {unplug: usb/1-1.1}, {expect: {reason: {1-1.1: hot, x: y}}}]",
        "1-1.1 reason: expected \"hot\" in it, found \"device 1-1.1 is gone\"; x reason: expected \"y\" in it, found no such device",
    ),
    ("state", "[{expect: {plugins: {serial: failing}}}]", "plugin serial state: expected failing, found serving"),
    ("plugin", "[{expect: {plugins: {x: serving}}}]", "plugin x: expected to be there, found no such plugin"),
    (
        "status",
        "[{expect: {status: {plugins: [{name: serial, state: idle}], holders_known: 5}}}]",
        "among them, found [{",
    ),
    (
        "log",
        "[{expect: {log: [{text: loaded, plugin: serial, level: warn}]}}]",
        "log of serial at WARN: expected a line with \"loaded\"",
    ),
    (
        "old-log",
        "[{expect: {log: loaded}}, {kernel: x}, {expect: {log: \"serial: loaded\"}}]",
        "log: expected a line with \"serial: loaded\" since something happened last",
    ),
    (
        "choice",
        "[{expect: {choice: {resource: example.com/serial, size: 1, must-include: [1-1.2], prefers: [1-1.1]}}}]",
        "example.com/serial choice of 1: expected 1-1.1, found 1: 1-1.2",
    ),
    ("never", "[{expect: {devices: {example.com/serial: 2}}, never-for: 10s}]", "must not be so, and was after"),
    (
        "lasting",
        "[{pod: {name: p, requests: {example.com/serial: 2}}}, {unplug: usb/1-1.1}, \
         {expect: {devices: {example.com/serial: {unhealthy: 1}}}, within: 20s}, {plug: usb/1-1.1}, \
         {expect: {devices: {example.com/serial: {unhealthy: 1}}}, for: 60s}]\npolicy-patch: {plugins: {serial: {health: {healthy-after: 2s}}}}",
        " of 60.00 s; example.com/serial unhealthy: expected 1, found none",
    ),
    ("slow", "[{crash: host, at-most: 1ms}]", ", more than 0.00 s"),
    ("no-pod", "[{expect: {pod: {name: p}}}]", "pod p: expected a container that was started, found none"),
    (
        "container",
        "[{pod: {name: p, requests: {devgate.dev/fuse: 1}}}, {expect: {pod: {name: p, nodes: [/dev/null]}}}]",
        "pod p nodes: expected /dev/null, found /dev/fuse rw",
    ),
    (
        "unschedulable",
        "[{pod: {name: p, requests: {example.com/serial: 3}}}]",
        "example.com/serial allocatable: expected 3 or more for the pod, found 2",
    ),
    (
        "rejected",
        "[{pod: {name: p, requests: {example.com/serial: [x]}}}]",
        "the pod: expected to be admitted, found Pod was rejected: Allocate failed due to device x of example.com/serial was chosen and is not",
    ),
    (
        "admitted",
        "[{pod: {name: p, requests: {example.com/serial: 1}}, expect-refused: full}]",
        "pod p: expected to be refused with \"full\", found it was admitted and started",
    ),
    (
        "refused-otherwise",
        "[{pod: {name: p, requests: {example.com/serial: 3}}, expect-refused: full}]",
        "the pod: expected to be refused with \"full\", found Pod was rejected",
    ),
    ("start", "[{start: p}]", "pod p: there is no such pod"),
    ("stop", "[{stop: p}]", "pod p: there is no such pod"),
    ("device", "[{set: {device: usb/9-9, attribute: x, value: y}}]", "device usb/9-9: not found"),
    ("name", "[{unplug: 1-1.1}]", "device 1-1.1: must be SUBSYSTEM/NAME, such as pci/0000:00:02.0, or /devices/"),
    ("plug", "[{plug: usb/1-1.1}]", "device usb/1-1.1: was not unplugged under this name"),
    ("described", "[{plug: {text: \"X: y\"}}]", "line 1"),
    ("node", "[{node: {path: /dev/x, number: x}}, {wait: 1s}]", "\"number\" must be c or b, a space, and major:minor"),
];

#[test]
fn what_is_not_as_expected_is_told() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let mut played = Vec::new();
    for (name, steps, said) in CASES {
        let file = dir.path().join(format!("{name}.yaml"));
        std::fs::write(&file, scenario(name, &format!("within: 400ms\nsteps: {steps}\n")))?;
        // One of them is wrong before anything is played.
        if name == "node" {
            let output = simulate(&[&file])?;
            assert_eq!(output.status.code(), Some(2));
            let wrong = String::from_utf8(output.stderr)?;
            assert!(wrong.contains(said), "{wrong}");
            std::fs::remove_file(&file)?;
        } else {
            played.push((name, steps, said));
        }
    }
    let args = [dir.path(), Path::new("--output"), Path::new("json"), Path::new("--jobs"), Path::new("3")];
    let output = simulate(&args)?;
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    let results: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!((&results["passed"], &results["failed"]), (&0.into(), &played.len().into()));
    for (name, steps, said) in played {
        let of = |one: &&serde_json::Value| one["about"] == name;
        let one = results["scenarios"].as_array().unwrap().iter().find(of).unwrap();
        let taken = one["steps"].as_array().unwrap();
        assert_eq!(one["error"], serde_json::Value::Null, "{name}");
        assert_eq!(one["steps_total"], taken.len(), "{name} {steps}: {taken:#?}");
        let failure = &taken.last().unwrap()["failure"];
        let wrong = failure["wrong"].as_array().unwrap().iter();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let wrong = wrong.map(|one| {
            format!("{}: expected {}, found {}", text(&one["what"]), text(&one["expected"]), text(&one["found"]))
        });
        let all: Vec<_> = std::iter::once(text(&failure["message"])).chain(wrong).collect();
        let all = all.join("; ");
        assert!(all.contains(said), "{name}: {all}");
        assert!(!one["log"].as_array().unwrap().is_empty(), "{name}");
    }
    Ok(())
}

#[test]
fn a_policy_that_is_refused_and_one_that_is_not_fail_where_the_other_is_expected() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    for (steps, said) in [
        (
            "[{pod: {name: p, requests: {example.com/serial: 2}}}, {reload: {policy-patch: {plugins: {serial: null}}}}]",
            "expected  to be in force\n            found     plugin serial: is not in the policy any more",
        ),
        (
            "[{reload: {policy-patch: {plugins: {serial: null}}}, expect-refused: held}]",
            "expected  to be refused with \"held\"\n            found     it is in force",
        ),
        ("[{reload: {policy-patch: {plugins: {Serial: {}}}}}]", "FAILED  step 1"),
    ] {
        let file = dir.path().join("one.yaml");
        std::fs::write(&file, scenario("reload", &format!("steps: {steps}\n")))?;
        let output = simulate(&[&file])?;
        let text = String::from_utf8(output.stdout)?;
        assert_eq!(output.status.code(), Some(5), "{text}");
        assert!(text.contains(said), "{text}");
    }
    Ok(())
}
