//! What a vendor reads: of scenarios that pass and fail, of files that are wrong, in a pipeline, and after Ctrl-C.

use super::{guests, scenario, simulate};
use devgate_tests::{components, devgatectl};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const STEPS: &str = "within: 300ms
steps:
  - expect: {devices: {example.com/serial: [1-1.1, 1-1.2]}}
  - pod: {name: p, requests: {example.com/serial: 2}}
  - unplug: usb/1-1.2
    note: The pod & its <port>.
  - expect: {devices: {example.com/serial: 2}, reason: {1-1.2: \"too hot\"}}
  - plug: usb/1-1.2
  - wait: 1s
";

/// What changes from run to run.
fn steady(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut line = line.to_owned();
        while let Some(at) = line.find("devgate-")
            && let Some(end) = line.get(at..).and_then(|rest| rest.find("/node"))
        {
            line.replace_range(at..at + end, "[temp]");
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[test]
fn a_failure_says_what_was_expected_and_what_was_there() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let (good, bad, xml) = (dir.path().join("a.yaml"), dir.path().join("b.yaml"), dir.path().join("r.xml"));
    std::fs::write(&good, scenario("One that passes", "steps: [{wait: 1ms}]\n"))?;
    std::fs::write(&bad, scenario("Pulled out", STEPS))?;
    let output = simulate(&[dir.path(), Path::new("--junit"), &xml])?;
    assert_eq!(output.status.code(), Some(5));
    let text = String::from_utf8(output.stdout)?;
    let (shown, log) = text.split_once("  the host's log, its last lines:\n").unwrap();
    insta::with_settings!({filters => vec![(r"\d+\.\d\d s\b", "[time]"), (r"/\S*/", "[dir]/")]}, {
        insta::assert_snapshot!(shown);
    });
    assert!(steady(log).contains("WARN  plugin serial: device 1-1.2 is unhealthy: device 1-1.2 is gone"), "{log}");
    assert!(log.contains("2 scenarios: 1 passed, 1 failed ("), "{log}");

    let text = std::fs::read_to_string(&xml)?;
    let document = roxmltree::Document::parse(&text)?;
    let named = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).collect::<Vec<_>>();
    let [all] = named("testsuites").try_into().unwrap();
    assert_eq!((all.attribute("tests"), all.attribute("failures")), (Some("2"), Some("1")));
    assert_eq!(named("testsuite").len(), 1);
    let cases = named("testcase");
    let seconds = |case: &roxmltree::Node<'_, '_>| case.attribute("time").and_then(|time| time.parse::<f64>().ok());
    assert!(cases.iter().all(|case| seconds(case).is_some_and(|time| time > 0.0)), "{text}");
    let [passed, failed] = cases.try_into().unwrap();
    assert!(passed.attribute("name").unwrap().ends_with("a.yaml: One that passes"));
    assert!(passed.descendants().all(|node| !node.has_tag_name("failure")));
    assert_eq!(failed.attribute("classname"), bad.to_str());
    let [failure] = named("failure").try_into().unwrap();
    let message = failure.attribute("message").unwrap();
    assert!(message.starts_with("step 4, line 12: expect: "), "{message}");
    assert!(message.contains("example.com/serial healthy: expected 2, found 1: 1-1.1"), "{message}");
    assert!(failure.text().unwrap().contains("The pod & its <port>."), "{text}");
    Ok(())
}

#[test]
fn what_is_wrong_before_anything_is_played_is_told_at_once() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let file = |name: &str, text: &str| {
        let file = dir.path().join(name);
        std::fs::write(&file, text).map(|()| file)
    };
    let generic = guests().join("generic");
    let node = generic.join("nodes/edge.umockdev");
    let head = |policy: &Path, node: &Path| {
        let (policy, node) = (policy.display(), node.display());
        format!(
            "apiVersion: devgate.dev/v1alpha1\nkind: Scenario\npolicy: {policy}\nnode: {node}\nsteps: [{{wait: 1s}}]\n"
        )
    };
    let text = file("text", "nothing")?;
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty)?;
    for (name, path, code, said) in [
        ("empty", empty, 2, "the folder has no .yaml or .yml file"),
        ("missing", dir.path().join("missing.yaml"), 2, "missing.yaml: "),
        (
            "wrong",
            file("a.yaml", &scenario("x", "steps: [{stpo: x}]\n"))?,
            2,
            "a.yaml:6:10: unknown key \"stpo\" in a step; did you mean \"stop\"?",
        ),
        ("policy", file("b.yaml", &head(&text, &node))?, 3, "text:1:1: "),
        ("no policy", file("c.yaml", &head(&dir.path().join("none"), &node))?, 3, "none: "),
        ("node", file("d.yaml", &head(&generic.join("policy.yaml"), &text))?, 4, "text: "),
        (
            "no node",
            file("e.yaml", &head(&generic.join("policy.yaml"), Path::new("none")))?,
            4,
            "there is no such file",
        ),
        (
            "patch",
            file("f.yaml", &scenario("x", "policy-patch: {plugins: {serial: {hardwear: []}}}\nsteps: [{wait: 1s}]\n"))?,
            3,
            "with policy-patch:",
        ),
    ] {
        let output = simulate(&[&path])?;
        let wrong = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(code), "{name}: {wrong}");
        assert!(wrong.contains(said), "{name}: {wrong}");
        assert!(output.stdout.is_empty(), "{name}");
    }
    Ok(())
}

/// A component that is not there costs the plugin, and the scenario says so.
#[test]
fn a_component_that_is_not_there_is_told() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("one.yaml");
    std::fs::write(&file, scenario("x", "within: 100ms\nsteps: [{expect: {plugins: {serial: serving}}}]\n"))?;
    let output = Command::new(devgatectl()?).arg("simulate").arg(&file).arg("--components").arg(dir.path()).output()?;
    let text = String::from_utf8(output.stdout)?;
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains("generic.wasm"), "{text}");
    Ok(())
}

#[test]
fn who_interrupts_leaves_nothing_behind() -> anyhow::Result<()> {
    for signal in [Signal::INT, Signal::TERM] {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("long.yaml");
        std::fs::write(&file, scenario("x", "steps: [{wait: 10m}]\n"))?;
        let temp = dir.path().join("temp");
        std::fs::create_dir(&temp)?;
        let mut child = Command::new(devgatectl()?)
            .arg("simulate")
            .arg(&file)
            .arg("--components")
            .arg(components()?)
            .env("TMPDIR", &temp)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let deadline = Instant::now() + Duration::from_secs(60);
        let begun = || std::fs::read_dir(&temp).unwrap().flatten().any(|one| one.path().join("status.sock").exists());
        while !begun() {
            assert!(Instant::now() < deadline, "nothing was played");
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        kill_process(pid, signal)?;
        assert_eq!(child.wait()?.code(), Some(1));
        assert_eq!(std::fs::read_dir(&temp)?.count(), 0, "{signal:?}");
    }
    Ok(())
}
