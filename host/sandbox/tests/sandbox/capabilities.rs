//! The kernel's log, writing attributes and the blob, as a component asks for them.

use crate::fake::{Fake, Log, enumerate, error, limit, loaded, patient};
use crate::guest::Guest;
use devgate_types::{ByteSize, CallError, FailureKind, Limit, Limits};

const IMPORTS: &str = r#"
    (import "devgate:plugin/hardware@0.1.0" "devices" (func $devices (param i32 i32 i32)))
    (import "devgate:plugin/kernel-log@0.1.0" "since" (func $since (param i32 i32 i32 i32)))
    (import "devgate:plugin/control@0.1.0" "write" (func $write (param i32 i32 i32 i32 i32 i32)))
    (import "devgate:plugin/state@0.1.0" "load" (func $load (param i32)))
    (import "devgate:plugin/state@0.1.0" "store" (func $store (param i32 i32 i32)))"#;

/// The first device of `pci`, in the local `$device`.
const DEVICE: &str = "(local $device i32)
    (call $devices (i32.const 1032) (i32.const 3) (i32.const 640))
    (local.set $device (i32.load (i32.load (i32.const 644))))";

/// A pool that is called what is at 516, or the error that is at 512.
const POOL: &str = "
    (if (i32.load8_u (i32.const 512)) (then (return (i32.const 512))))
    (i32.store (i32.const 128) (i32.load (i32.const 516))) (i32.store (i32.const 132) (i32.load (i32.const 520)))
    (i32.store (i32.const 20) (i32.const 128)) (i32.store (i32.const 24) (i32.const 1))
    (i32.const 16)";

fn asking(body: &str) -> Guest {
    Guest::enumerating(&format!("{body} {POOL}"))
        .importing(IMPORTS)
        .with(r#"(data (i32.const 1024) "reset") (data (i32.const 1032) "pci") (data (i32.const 1040) "1")"#)
}

fn ask(guest: &Guest, limits: Limits) -> (Result<String, CallError>, Log) {
    let plugin = loaded(&guest.component(), patient());
    let fake = Fake::within(limits);
    let log = Log::clone(&fake.log);
    let answer = enumerate(&plugin, Box::new(fake));
    (answer.map(|(output, _)| output.pools[0].resource.clone()), log)
}

fn said(guest: &Guest) -> String {
    ask(guest, patient()).0.unwrap()
}

fn failed(guest: &Guest) -> FailureKind {
    match ask(guest, patient()).0 {
        Err(CallError::Failed(failure)) => failure.kind,
        other => panic!("{other:?}"),
    }
}

/// `since` from the start, for three events; then what is made of the batch at 516.
fn since(then: &str) -> Guest {
    asking(&format!("(call $since (i32.const 0) (i32.const 0) (i32.const 3) (i32.const 512)) {then}"))
}

#[test]
fn a_batch_comes_as_it_is() {
    let cursor =
        "(i32.store (i32.const 516) (i32.load (i32.const 524))) (i32.store (i32.const 520) (i32.load (i32.const 528)))";
    assert_eq!(said(&since(cursor)), "next");
    // The second capture of the last event.
    let capture = "(i32.store (i32.const 520) (i32.load offset=12 (i32.load offset=52 (i32.load (i32.const 516)))))
        (i32.store (i32.const 516) (i32.load offset=8 (i32.load offset=52 (i32.load (i32.const 516)))))";
    assert_eq!(said(&since(capture)), "79");
    // Number, index, time and gap: traps where one is another.
    let rest = "
        (if (i32.ne (i32.load (i32.const 520)) (i32.const 3)) (then (unreachable)))
        (if (i32.ne (i32.load offset=48 (i32.load (i32.const 516))) (i32.const 2)) (then (unreachable)))
        (if (i64.ne (i64.load offset=64 (i32.load (i32.const 516))) (i64.const 1099511627776)) (then (unreachable)))
        (if (i32.ne (i32.load8_u (i32.const 532)) (i32.const 1)) (then (unreachable)))";
    assert_eq!(said(&since(&format!("{rest} {cursor}"))), "next");
}

#[test]
fn an_attribute_is_written_through_a_handle() {
    let write = |path: u32| {
        asking(&format!(
            "{DEVICE} (call $write (local.get $device) (i32.const 1024) (i32.const {path}) (i32.const 1040) (i32.const 1) (i32.const 512))"
        ))
    };
    let (_, log) = ask(&write(5), patient());
    assert_eq!(log.lock().unwrap()[0].1, "1 to reset of 7");
    assert_eq!(failed(&write(3)), FailureKind::Busy);
    assert_eq!(failed(&write(5_000)), FailureKind::Limit, "longer than any argument");
    let forged = asking(
        "(call $write (i32.const 9) (i32.const 1024) (i32.const 5) (i32.const 1040) (i32.const 1) (i32.const 512))",
    );
    let message = ask(&forged, patient()).0.unwrap_err().to_string();
    assert!(message.contains("unknown handle index 9"), "{message}");
}

#[test]
fn a_blob_goes_in_and_out_within_its_limit() {
    assert_eq!(said(&asking("(call $load (i32.const 512))")), "kept");
    let store = |length: u32| asking(&format!("(call $store (i32.const 0) (i32.const {length}) (i32.const 512))"));
    let (_, log) = ask(&store(65_536), patient());
    assert_eq!(log.lock().unwrap()[0].1, "65536 bytes");
    let (answer, log) = ask(&store(65_537), patient());
    assert!(matches!(answer, Err(CallError::Failed(failure)) if failure.kind == FailureKind::Limit));
    assert!(log.lock().unwrap().is_empty(), "it is not even asked");
}

#[test]
fn every_limit_holds() {
    let transfer = Limits { transfer: ByteSize::kib(16), ..patient() };
    let store = |length: u32| asking(&format!("(call $store (i32.const 0) (i32.const {length}) (i32.const 512))"));
    assert!(limit(ask(&store(60_000), transfer.clone()).0).is_some());
    assert_eq!(limit(ask(&store(1_000), transfer.clone()).0), None);
    let read = |read| Limits { read, ..patient() };
    let load = asking("(call $load (i32.const 512))");
    assert_eq!(limit(ask(&load, read(ByteSize(3))).0), Some(Limit::Read(ByteSize(3))));
    assert_eq!(limit(ask(&load, read(ByteSize(4))).0), None);
    let calls = Limits { host_calls: 1, ..patient() };
    let twice = asking("(call $load (i32.const 512)) (call $load (i32.const 512))");
    assert_eq!(limit(ask(&twice, calls.clone()).0), Some(Limit::HostCalls(1)));
    assert_eq!(limit(ask(&load, calls).0), None);
}

/// Whatever is passed, and with which function: one by one it is within the limit, and together it is not.
#[test]
fn bytes_passed_to_capabilities_count_together() {
    let most = ByteSize::kib(16);
    let transfer = Limits { transfer: most, ..patient() };
    let write = |path: u32, value: u32| {
        format!(
            "{DEVICE} (call $write (local.get $device) (i32.const 1024) (i32.const {path}) (i32.const 2048) (i32.const {value}) (i32.const 512))"
        )
    };
    for (what, once) in [
        ("a blob", "(call $store (i32.const 0) (i32.const 4000) (i32.const 512))".to_owned()),
        ("a value", write(5, 4_000)),
        ("a path", write(4_000, 1)),
        ("a cursor", "(call $since (i32.const 1024) (i32.const 4000) (i32.const 1) (i32.const 512))".to_owned()),
    ] {
        let again = |times: usize| {
            let (local, call) = once
                .split_once("(call $write")
                .map_or(("", once.clone()), |(local, call)| (local, format!("(call $write{call}")));
            // Whatever comes of it: the last answer is thrown away.
            asking(&format!(
                "{local} {} (i32.store8 (i32.const 512) (i32.const 0)) (call $load (i32.const 512))",
                call.repeat(times)
            ))
        };
        assert_eq!(limit(ask(&again(4), transfer.clone()).0), None, "{what}");
        assert_eq!(limit(ask(&again(5), transfer.clone()).0), Some(Limit::Transfer(most)), "{what}");
    }
}

#[test]
fn a_cursor_that_is_none_is_the_components_affair() {
    let bad = asking("(call $since (i32.const 1024) (i32.const 5) (i32.const 1) (i32.const 512))");
    assert_eq!(failed(&bad), FailureKind::Invalid);
    let plugin = loaded(&bad.component(), patient());
    assert!(error(enumerate(&plugin, Fake::boxed())).contains("no cursor"));
}
