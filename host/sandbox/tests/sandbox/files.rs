//! Files outside the device tree, as a component asks for them.

use crate::fake::{Fake, enumerate, error, limit, loaded, patient};
use crate::guest::Guest;
use devgate_types::{ByteSize, CallError, FailureKind, Limit, Limits};

const FILES: &str = r#"
    (import "devgate:plugin/files@0.1.0" "text" (func $text (param i32 i32 i32)))
    (import "devgate:plugin/files@0.1.0" "read" (func $read (param i32 i32 i64 i32 i32)))
    (import "devgate:plugin/files@0.1.0" "entries" (func $entries (param i32 i32 i32)))"#;

/// A pool that is called what is at 516, or the error that is at 512.
const POOL: &str = "
    ;; An error is returned as it came: the same layout.
    (if (i32.load8_u (i32.const 512)) (then (return (i32.const 512))))
    (i32.store (i32.const 128) (i32.load (i32.const 516))) (i32.store (i32.const 132) (i32.load (i32.const 520)))
    (i32.store (i32.const 20) (i32.const 128)) (i32.store (i32.const 24) (i32.const 1))
    (i32.const 16)";

fn asking(call: &str, path: &str) -> Guest {
    let call = call.replace("PATH", &format!("(i32.const 1024) (i32.const {})", path.len()));
    Guest::enumerating(&format!("{call} {POOL}")).importing(FILES).with(&format!(r#"(data (i32.const 1024) "{path}")"#))
}

fn answered(call: &str, path: &str) -> Result<String, CallError> {
    let plugin = loaded(&asking(call, path).component(), patient());
    Ok(enumerate(&plugin, Fake::boxed())?.0.pools[0].resource.clone())
}

fn failed(path: &str) -> (FailureKind, String) {
    match answered("(call $text PATH (i32.const 512))", path) {
        Err(CallError::Failed(failure)) => (failure.kind, failure.code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_bytes_and_names_come_as_they_are() {
    let text = answered("(call $text PATH (i32.const 512))", "/proc/fake/version");
    assert_eq!(text, Ok("570.86".into()));
    let bytes = answered("(call $read PATH (i64.const 120) (i32.const 3) (i32.const 512))", "/proc/fake/binary");
    assert_eq!(bytes, Ok("xxx".into()));
    // The first of the names.
    let first = "(call $entries PATH (i32.const 512))
        (i32.store (i32.const 520) (i32.load offset=4 (i32.load (i32.const 516))))
        (i32.store (i32.const 516) (i32.load (i32.load (i32.const 516))))";
    assert_eq!(answered(first, "/proc/fake/gpus"), Ok("0000:01:00.0".into()));
}

#[test]
fn each_way_to_fail_has_its_kind() {
    assert_eq!(failed("/proc/fake/binary"), (FailureKind::Other, "not-text".into()));
    assert_eq!(failed("/proc/fake/large"), (FailureKind::Limit, String::new()));
    assert_eq!(failed("/etc/shadow"), (FailureKind::Denied, String::new()));
    // Longer than any path: not even asked.
    assert_eq!(failed(&"x".repeat(4_097)), (FailureKind::Limit, String::new()));
}

#[test]
fn what_is_read_counts() {
    let limits = |read| Limits { read, ..patient() };
    let call = "(call $read PATH (i64.const 120) (i32.const 5000) (i32.const 512))";
    let plugin = loaded(&asking(call, "/proc/fake/binary").component(), patient());
    let met = |read| limit(enumerate(&plugin, Box::new(Fake::within(limits(read)))));
    // A pool's name of that length breaks the contract, but not this limit.
    let long = error(enumerate(&plugin, Box::new(Fake::within(limits(ByteSize(5_000))))));
    assert!(long.contains("5000 bytes; at most 4096"), "{long}");
    assert_eq!(met(ByteSize(4_999)), Some(Limit::Read(ByteSize(4_999))));
}
