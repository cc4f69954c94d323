//! Files outside the device tree: the path as written and the path as resolved must both be listed.

use crate::testing::*;
use devgate_fake_node::{Change, RecordedNode};
use devgate_types::component::{Capabilities, Denied};
use devgate_types::{Failure, FailureKind};

const WORLD: &str = "\
F: /proc/driver/fake/version=570.86\\n
F: /proc/driver/fake/gpus/0000:01:00.0/information=Model: Fake\\n
F: /proc/driver/fake/gpus/0000:01:00.0/registry=secret
F: /proc/driver/fake/gpus/0000:02:00.0/information=Model: Fake\\n
F: /proc/driver/fake/gpus/.hidden/information=hidden
F: /proc/driver/fake/binary=\\000\\001\\377
F: /proc/driver/fake/root-only=secret
O: /proc/driver/fake/root-only=0 0600
F: /proc/1/environ=canary
F: /srv/fake/data=canary
I: /proc/driver/fake/escape=l /srv/fake/data
I: /proc/driver/fake/alias=l version
I: /proc/driver/fake/process=l /proc/1/environ
I: /proc/driver/fake/loop=l loop
I: /opt/fake=l ../proc/driver/fake
";

const LISTED: &str = "
    files: [/proc/driver/fake/*, /proc/driver/fake/gpus/*/information, /opt/fake/version]
";

fn world() -> RecordedNode {
    RecordedNode::parse("files", WORLD).unwrap()
}

fn kind<T: std::fmt::Debug>(answer: Result<T, Denied>) -> FailureKind {
    match answer {
        Err(Denied::Failure(Failure { kind, .. })) => kind,
        other => panic!("{other:?}"),
    }
}

fn message<T: std::fmt::Debug>(answer: Result<T, Denied>) -> String {
    match answer {
        Err(Denied::Failure(failure)) => failure.message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn listed_files_are_read_whole_or_in_part() {
    let mut host = call_host_on(&world(), &policy_of(LISTED));
    assert_eq!(host.file_text("/proc/driver/fake/version"), Ok("570.86".into()));
    assert_eq!(host.file_text("/proc/driver/fake/gpus/0000:01:00.0/information"), Ok("Model: Fake".into()));
    assert_eq!(host.file_read("/proc/driver/fake/binary", 1, 1), Ok(vec![1]));
    assert_eq!(host.file_read("/proc/driver/fake/binary", 1, 1 << 20), Ok(vec![1, 255]));
    assert_eq!(host.file_read("/proc/driver/fake/binary", 9, 1), Ok(vec![]));
    assert_eq!(host.bytes_read(), 7 + 12 + 1 + 2);
    // Both ends of a link that the policy lists.
    assert_eq!(host.file_text("/opt/fake/version"), Ok("570.86".into()));
    assert_eq!(host.file_text("/proc/driver/fake/alias"), Ok("570.86".into()));
}

#[test]
fn what_is_not_listed_as_written_and_as_resolved_is_denied() {
    let mut host = call_host_on(&world(), &policy_of(LISTED));
    for path in [
        "/srv/fake/data",
        "/proc/driver/fake/gpus/0000:01:00.0/registry",
        // Listed, and leads to what is not.
        "/proc/driver/fake/escape",
        // Leads to what is listed, and is not.
        "/opt/fake/binary",
        // No policy grants these.
        "/proc/1/environ",
        "/proc/driver/fake/process",
        // Not plain.
        "/proc/driver/fake/../../1/environ",
        "/proc/driver/fake//version",
        "proc/driver/fake/version",
        "",
        // Not there, and not listed: not told apart.
        "/srv/fake/nothing",
    ] {
        assert_eq!(kind(host.file_text(path)), FailureKind::Denied, "{path}");
        assert_eq!(kind(host.file_read(path, 0, 10)), FailureKind::Denied, "{path}");
        assert_eq!(kind(host.file_entries(path)), FailureKind::Denied, "{path}");
    }
    // Where a link leads is for the admin, not for the component.
    let said = message(host.file_text("/proc/driver/fake/escape"));
    assert!(!said.contains("srv"), "{said}");
    assert_eq!(kind(host.file_text("/proc/driver/fake/root-only")), FailureKind::Denied);
}

#[test]
fn nothing_is_read_without_a_grant() {
    let mut host = call_host_on(&world(), &policy_of(""));
    assert_eq!(kind(host.file_text("/proc/driver/fake/version")), FailureKind::Denied);
    assert_eq!(kind(host.file_entries("/proc/driver/fake")), FailureKind::Denied);
}

#[test]
fn a_directory_tells_the_names_that_patterns_match() {
    let mut host = call_host_on(&world(), &policy_of(LISTED));
    assert_eq!(host.file_entries("/proc/driver/fake/gpus"), Ok(vec!["0000:01:00.0".into(), "0000:02:00.0".into()]));
    let narrow = policy_of("\n    files: [/proc/driver/fake/version, '/proc/driver/fake/gpus/*:01:*/information']\n");
    let mut host = call_host_on(&world(), &narrow);
    assert_eq!(host.file_entries("/proc/driver/fake/gpus"), Ok(vec!["0000:01:00.0".into()]));
    for path in ["/proc/driver/fake", "/proc/driver", "/proc/driver/fake/gpus/0000:01:00.0", "/opt/fake"] {
        assert_eq!(
            kind(host.file_entries(path)),
            FailureKind::Denied,
            "{path}: nothing there is written with a wildcard"
        );
    }
}

#[test]
fn each_way_to_fail_has_its_kind() {
    let node = world();
    let large = |bytes: usize| Change::SetFile { path: "/proc/driver/fake/large".into(), value: vec![b'x'; bytes] };
    let mut host = call_host_on(&node, &policy_of(LISTED));
    node.apply(large(64 << 10)).unwrap();
    assert_eq!(host.file_text("/proc/driver/fake/large").map(|text| text.len()), Ok(64 << 10));
    node.apply(large((64 << 10) + 1)).unwrap();
    assert_eq!(kind(host.file_text("/proc/driver/fake/large")), FailureKind::Limit);
    assert_eq!(kind(host.file_read("/proc/driver/fake/large", 0, (1 << 20) + 1)), FailureKind::Limit);
    assert_eq!(kind(host.file_text("/proc/driver/fake/nothing")), FailureKind::NotFound);
    assert_eq!(kind(host.file_text("/proc/driver/fake/gpus")), FailureKind::Invalid);
    assert_eq!(kind(host.file_text("/proc/driver/fake/loop")), FailureKind::Invalid);
    match host.file_text("/proc/driver/fake/binary") {
        Err(Denied::Failure(failure)) => {
            assert_eq!((failure.kind, failure.code.as_str()), (FailureKind::Other, "not-text"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_read_counts_against_the_limit() {
    let limited = policy_of(&format!("{LISTED}    limits: {{read: 4KiB}}\n"));
    let node = world();
    node.apply(Change::SetFile { path: "/proc/driver/fake/large".into(), value: vec![b'x'; 1 << 20] }).unwrap();
    let mut host = call_host_on(&node, &limited);
    assert_eq!(host.file_read("/proc/driver/fake/large", 0, 4096).map(|bytes| bytes.len()), Ok(4096));
    let ended = host.file_read("/proc/driver/fake/large", 0, 1 << 20);
    assert!(matches!(ended, Err(Denied::End(_))), "{ended:?}");
    assert_eq!(host.bytes_read(), 4097, "no more is read than shows that it is too much");
    assert!(matches!(call_host_on(&node, &limited).file_text("/proc/driver/fake/large"), Err(Denied::Failure(_))));
}

/// What the policy was asked about is what is read: a link that comes in after the check leads nowhere.
#[test]
fn a_link_that_replaces_a_file_is_checked_for_where_it_leads() {
    let node = world();
    let mut host = call_host_on(&node, &policy_of(LISTED));
    assert!(host.file_text("/proc/driver/fake/version").is_ok());
    node.apply(Change::RemoveFile("/proc/driver/fake/version".into())).unwrap();
    let link = "I: /proc/driver/fake/version=l /srv/fake/data\n";
    node.apply(Change::AddDevices(link.into())).unwrap();
    assert_eq!(kind(host.file_text("/proc/driver/fake/version")), FailureKind::Denied);
}
