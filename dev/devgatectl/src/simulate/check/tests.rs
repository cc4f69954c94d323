use super::*;
use crate::simulate::scenario::open;
use devgate_fake_kubelet::RunOptions;
use std::collections::BTreeMap;

#[test]
fn a_star_is_any_text() {
    for (pattern, text) in [
        ("", ""),
        ("*", ""),
        ("*", "x/y"),
        ("a*", "a"),
        ("a*c", "abc"),
        ("a*b*c", "abbc"),
        ("*a*", "bab"),
        ("0000:*:00.0", "0000:1b:00.0"),
        ("a**b", "ab"),
        ("*ab", "aab"),
    ] {
        assert!(matches(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in [("", "a"), ("a", "ab"), ("a*c", "abcd"), ("a*a", "a"), ("*b*b*", "b"), ("a*b*c", "acb")] {
        assert!(!matches(pattern, text), "{pattern} {text}");
    }
}

#[test]
fn a_list_says_exactly_these() {
    let there: BTreeSet<String> = ["a0", "a1", "b"].map(str::to_owned).into();
    let these = |ids: &[&str]| Amount::These(ids.iter().map(|id| (*id).to_owned()).collect());
    assert!(these(&["a*", "b"]).holds(&there) && these(&["*"]).holds(&there) && Amount::Count(3).holds(&there));
    for wrong in [these(&["a*"]), these(&["a*", "b", "c"]), these(&[]), Amount::Count(2)] {
        assert!(!wrong.holds(&there), "{wrong}");
    }
}

/// The mismatches of an expectation about a pod that has a little of everything.
fn wrong(expected: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("one.yaml");
    let head = "apiVersion: devgate.dev/v1alpha1\nkind: Scenario\npolicy: x\nnode: x\nsteps:\n";
    std::fs::write(&file, format!("{head}  - expect: {{pod: {{name: p, {expected}}}}}\n")).unwrap();
    let scenario = open(&file).unwrap();
    let crate::simulate::scenario::Verb::Expect(expect) = &scenario.steps[0].verb else { panic!("an expectation") };
    let device = |host: &str, permissions: &str| devgate_kubelet::api::DeviceSpec {
        container_path: String::new(),
        host_path: host.to_owned(),
        permissions: permissions.to_owned(),
    };
    let mount = devgate_kubelet::api::Mount {
        container_path: "/opt/acme".to_owned(),
        host_path: "/srv/acme".to_owned(),
        read_only: true,
    };
    let started = Started {
        pod: "p".to_owned(),
        container: "main".to_owned(),
        devices: [("a/b".to_owned(), BTreeSet::from(["x".to_owned()]))].into(),
        options: RunOptions {
            envs: [("A".to_owned(), "one,two".to_owned())].into(),
            annotations: [("a/mode".to_owned(), "fast".to_owned())].into(),
            devices: [("/dev/a0".to_owned(), device("/dev/a0", "rw")), ("/dev/a1".to_owned(), device("/dev/b1", "r"))]
                .into(),
            mounts: BTreeMap::from([("/opt/acme".to_owned(), mount)]),
            cdi_devices: BTreeSet::from(["a/b=x".to_owned()]),
            conflicts: Vec::new(),
        },
    };
    let mut wrong = Vec::new();
    container::look(expect.pod.as_ref().unwrap(), &[started], &mut wrong);
    wrong.iter().map(|wrong| format!("{wrong}\n")).collect()
}

#[test]
fn what_a_container_has_is_as_expected() {
    for expected in [
        "devices: {a/b: 1, c/d: 0}",
        "devices: {a/b: [x]}, container: main",
        "nodes: [{path: \"/dev/a*\", count: 2}]",
        "nodes: [{path: /dev/a0, permissions: rw}, {path: /dev/a1, host: /dev/b1}]",
        "env: {A: \"*,two\", B: null}, annotations: {a/mode: fast}",
        "mounts: [{path: /opt/acme, host: /srv/acme, read-only: true}]",
        "cdi: [\"a/b=*\"]",
    ] {
        assert_eq!(wrong(expected), "", "{expected}");
    }
}

#[test]
fn what_a_container_has_otherwise_is_told() {
    insta::assert_snapshot!(wrong("devices: {a/b: 2, c/d: [x]}"), @"
    pod p a/b: expected 2, found 1: x
    pod p c/d: expected x, found none
    ");
    insta::assert_snapshot!(wrong("container: other"), @r#"pod p: expected a container that was started, found none; start one with "pod""#);
    insta::assert_snapshot!(wrong("nodes: [/dev/a0]"), @"pod p nodes: expected /dev/a0, found /dev/a0 rw, /dev/a1 r from /dev/b1");
    insta::assert_snapshot!(wrong("nodes: [{path: \"/dev/*\", count: 3}]"), @"pod p nodes: expected /dev/* (3 times), found /dev/a0 rw, /dev/a1 r from /dev/b1");
    insta::assert_snapshot!(wrong("nodes: [/dev/a0, {path: /dev/a1, permissions: rw}]"), @"pod p nodes: expected /dev/a0, /dev/a1 rw, found /dev/a0 rw, /dev/a1 r from /dev/b1");
    insta::assert_snapshot!(wrong("nodes: [/dev/a0, {path: /dev/a1, host: /dev/a1}]"), @"pod p nodes: expected /dev/a0, /dev/a1 from /dev/a1, found /dev/a0 rw, /dev/a1 r from /dev/b1");
    insta::assert_snapshot!(wrong("env: {A: one, B: \"*\"}, annotations: {a/mode: null}"), @r#"
    pod p env A: expected "one", found "one,two"
    pod p env B: expected "*", found nothing
    pod p annotation a/mode: expected nothing, found "fast"
    "#);
    insta::assert_snapshot!(wrong("mounts: []"), @"pod p mounts: expected none, found /opt/acme read-only from /srv/acme");
    insta::assert_snapshot!(wrong("mounts: [{path: /opt/acme, read-only: false}]"), @"pod p mounts: expected /opt/acme read-write, found /opt/acme read-only from /srv/acme");
    insta::assert_snapshot!(wrong("mounts: [/opt/acme, /opt/other]"), @"pod p mounts: expected /opt/acme, /opt/other, found /opt/acme read-only from /srv/acme");
    insta::assert_snapshot!(wrong("cdi: []"), @"pod p cdi: expected none, found a/b=x");
}
