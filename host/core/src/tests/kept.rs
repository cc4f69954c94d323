//! The kernel's log and the state, as a call is served them.

use crate::allocations::Allocations;
use crate::grants::Grants;
use crate::plugin_services::PluginServices;
use crate::testing::*;
use devgate_node::KernelLine;
use devgate_types::component::{Answered, CallKind, Capabilities, Denied};
use devgate_types::{CallError, Failure, FailureKind, GuestFault, Limit};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const POLICY: &str =
    "    state: true\n    kernel-log: ['^ACME: Fault \\((.*)\\): ([0-9]+)']\n    limits: {read: 4KiB}\n";

fn world(allocations: &Allocations) -> (Arc<Grants>, Arc<PluginServices>) {
    let policy = plugin_policy(&policy_of(POLICY));
    let grants = Arc::new(Grants::new(node().into(), policy));
    let ledger = crate::ledger::Ledger::new(["p".to_owned()]);
    let services = PluginServices::new(&grants.policy, &grants.node, allocations, ledger, Arc::default());
    (grants, Arc::new(services))
}

fn failure<T: std::fmt::Debug>(answer: Answered<T>) -> Failure {
    match answer {
        Err(Denied::Failure(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_blob_is_stored_in_calls_of_which_there_is_one_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (grants, services) = world(&allocations);
    let during = |kind| {
        let mut host = host_with(Arc::clone(&grants), Arc::clone(&services));
        host.kind = kind;
        host
    };
    for kind in [CallKind::Enumerate, CallKind::Health, CallKind::Release] {
        let mut host = during(kind);
        let mut blob = host.state_load().unwrap();
        blob.push(b'x');
        assert_eq!(host.state_store(&blob), Ok(()));
    }
    let mut start = during(CallKind::Prepare);
    start.is_start = true;
    for mut host in [CallKind::Allocate, CallKind::Choose, CallKind::Prepare].map(during).into_iter().chain([start]) {
        let refused = failure(host.state_store(b"no"));
        assert_eq!(refused.kind, FailureKind::Unsupported, "{}", refused.message);
        assert_eq!(host.state_load().unwrap(), b"xxx");
    }
    let mut large = during(CallKind::Health);
    assert_eq!(failure(large.state_store(&[0; 65_537])).kind, FailureKind::Limit);
    // After a restart of the host it is there, and what was not stored is not.
    let (grants, services) = world(&Allocations::of_new_node(dir.path()).unwrap());
    assert_eq!(host_with(grants, services).state_load().unwrap(), b"xxx");
}

#[test]
fn a_call_that_took_too_long_stores_nothing() {
    let (grants, services) = world(&Allocations::forgetful());
    let given_up = CancellationToken::new();
    let mut late = host_with(grants, services).until(given_up.clone());
    late.kind = CallKind::Health;
    assert_eq!(late.state_store(b"in time"), Ok(()));
    given_up.cancel();
    assert_eq!(failure(late.state_store(b"late")).kind, FailureKind::Busy);
    assert_eq!(late.state_load().unwrap(), b"in time");
}

#[test]
fn a_disk_that_fails_is_the_admins_business() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (grants, services) = world(&allocations);
    // A directory where the file would be.
    std::fs::create_dir_all(dir.path().join("state/p/x")).unwrap();
    let mut host = host_with(grants, services);
    host.kind = CallKind::Health;
    let (loaded, stored) = (failure(host.state_load()), failure(host.state_store(b"x")));
    assert_eq!((loaded.kind, stored.kind), (FailureKind::Io, FailureKind::Io));
    assert_eq!(
        (loaded.message.as_str(), stored.message.as_str()),
        ("state: could not be loaded", "state: could not be stored")
    );
}

/// Numbers of patterns mean those of the policy that a call is made under.
#[test]
fn a_trial_is_told_nothing_by_the_numbers_of_the_patterns_of_another_policy() {
    let (grants, services) = world(&Allocations::forgetful());
    services.matched_lines.is_read();
    services.matched_lines.record(&KernelLine { sequence: 1, micros: 1, text: "ACME: Fault (x): 79, x".to_owned() });
    let trial = |policy: &str| {
        let policy = plugin_policy(&policy_of(policy));
        let grants = Arc::new(Grants::new(node().into(), policy));
        let mut host = host_with(grants, Arc::clone(&services));
        host.on_trial();
        host.kernel_log_since("", 10).unwrap().events.len()
    };
    assert_eq!(trial("    kernel-log: ['^(widget)', '^ACME: Fault \\((.*)\\): ([0-9]+)']\n"), 0);
    assert_eq!(trial(POLICY), 1, "those are the same");
    assert_eq!(host_with(grants, services).kernel_log_since("", 10).unwrap().events.len(), 1);
}

#[test]
fn captures_count_as_what_was_read() {
    let (grants, services) = world(&Allocations::forgetful());
    let line =
        |n: u64, address: &str| KernelLine { sequence: n, micros: n, text: format!("ACME: Fault ({address}): 79, x") };
    let mut host = host_with(Arc::clone(&grants), Arc::clone(&services));
    assert_eq!(failure(host.kernel_log_since("", 10)).kind, FailureKind::Unsupported);
    services.matched_lines.is_read();
    services.matched_lines.record(&line(1, "PCI:0000:05:00"));
    let batch = host.kernel_log_since("", 10).unwrap();
    assert_eq!(batch.events[0].captures, ["PCI:0000:05:00", "79"]);
    assert_eq!(host.bytes_read(), 16);
    (2..10).for_each(|n| _ = services.matched_lines.record(&line(n, &"x".repeat(1_000))));
    match host.kernel_log_since(&batch.cursor, 10) {
        Err(Denied::End(CallError::Guest(GuestFault::Limit(Limit::Read(_))))) => {}
        other => panic!("{other:?}"),
    }
}
