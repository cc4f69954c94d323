//! Components that do what none should.

use crate::fake::{Fake, about, enumerate, error, limit, loaded, patient, unit};
use crate::guest::{Guest, SPIN};
use devgate_types::component::CallKind;
use devgate_types::{Limit, Limits};
use insta::assert_snapshot;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(50);

fn impatient() -> Box<Fake> {
    Box::new(Fake::within(Limits { cpu: SHORT, ..patient() }))
}

fn said(guest: &Guest) -> String {
    error(enumerate(&loaded(&guest.component(), patient()), Fake::boxed()))
}

const TYPES: &str = r#"
    (import "devgate:plugin/hardware@0.1.0" "devices" (func $devices (param i32 i32 i32)))
    (import "devgate:plugin/types@0.1.0" "[method]device.name" (func $name (param i32 i32)))
    (import "devgate:plugin/types@0.1.0" "[method]node.path" (func $path (param i32 i32)))
    (import "devgate:plugin/types@0.1.0" "[resource-drop]device" (func $drop (param i32)))"#;

#[test]
fn spinning_in_the_start_function() {
    // Loading tries an instance, too, within the limits that it is given.
    let guest = Guest::default().with(&format!("(func $start {SPIN}) (start $start)"));
    let limits = Limits { cpu: SHORT, ..patient() };
    let plugin = loaded(&guest.component(), limits);
    assert_eq!(limit(enumerate(&plugin, impatient())), Some(Limit::Cpu(SHORT)));
}

#[test]
fn spinning_in_realloc() {
    let guest = Guest { realloc: SPIN.into(), ..Guest::default() };
    let plugin = loaded(&guest.component(), patient());
    assert_eq!(limit(about(&plugin, CallKind::Health, impatient(), &[unit("a", 1)])), Some(Limit::Cpu(SHORT)));
}

#[test]
fn spinning_in_post_return() {
    let guest = Guest::default()
        .with(&format!(r#"(func (export "cabi_post_devgate:plugin/plugin@0.1.0#enumerate") (param i32) {SPIN})"#));
    let plugin = loaded(&guest.component(), patient());
    let outcome = enumerate(&plugin, impatient());
    assert_eq!(limit(outcome), Some(Limit::Cpu(SHORT)));
}

#[test]
fn trapping_in_the_start_function() {
    assert_snapshot!(said(&Guest::default().with("(func $start unreachable) (start $start)")), @"trapped: wasm `unreachable` instruction executed at 4@0x2ee");
}

#[test]
fn a_realloc_that_points_outside_memory() {
    let guest = Guest { realloc: "(i32.const -8)".into(), ..Guest::default() };
    let plugin = loaded(&guest.component(), patient());
    assert_snapshot!(error(about(&plugin, CallKind::Health, Fake::boxed(), &[unit("a", 1)])), @"broke the contract: realloc return: beyond end of memory");
}

#[test]
fn a_result_outside_memory() {
    assert_snapshot!(said(&Guest::enumerating("(i32.const -16)")), @"broke the contract: pointer out of bounds of memory");
}

#[test]
fn a_list_of_a_million_entries() {
    let guest = Guest::enumerating(
        "(i32.store (i32.const 20) (i32.const 128)) (i32.store (i32.const 24) (i32.const 1000000)) (i32.const 16)",
    );
    assert_snapshot!(said(&guest), @"broke the contract: list pointer/length out of bounds of memory");
    let guest = Guest { memory: "600".into(), ..guest };
    let plugin = loaded(&guest.component(), Limits { memory: devgate_types::ByteSize::mib(64), ..patient() });
    let host = Fake::within(Limits { memory: devgate_types::ByteSize::mib(64), ..patient() });
    assert_snapshot!(error(enumerate(&plugin, Box::new(host))), @"exceeded its 1MiB passed to and from the host (limits.transfer)");
}

#[test]
fn a_string_that_is_no_text() {
    let guest = Guest::enumerating(
        "(i32.store (i32.const 20) (i32.const 128)) (i32.store (i32.const 24) (i32.const 1))
        (i32.store (i32.const 128) (i32.const 1024)) (i32.store (i32.const 132) (i32.const 1)) (i32.const 16)",
    );
    assert_snapshot!(said(&guest.with(r#"(data (i32.const 1024) "\ff")"#)), @"broke the contract: invalid utf-8 sequence of 1 bytes from index 0");
}

#[test]
fn a_variant_that_does_not_exist() {
    assert_snapshot!(said(&Guest::enumerating("(i32.store8 (i32.const 16) (i32.const 9)) (i32.const 16)")), @"broke the contract: invalid expected discriminant");
}

#[test]
fn a_handle_that_was_made_up() {
    let guest = Guest::enumerating("(call $name (i32.const 77) (i32.const 512)) (i32.const 16)").importing(TYPES);
    assert_snapshot!(said(&guest), @"broke the contract: unknown handle index 77");
}

#[test]
fn a_handle_that_was_dropped() {
    let guest = Guest::enumerating(
        "(call $devices (i32.const 1024) (i32.const 3) (i32.const 512))
        (call $drop (i32.load (i32.load (i32.const 516))))
        (call $name (i32.load (i32.load (i32.const 516))) (i32.const 512)) (i32.const 16)",
    )
    .importing(TYPES)
    .with(r#"(data (i32.const 1024) "pci")"#);
    assert_snapshot!(said(&guest), @"broke the contract: unknown handle index 1");
}

#[test]
fn a_handle_of_another_type() {
    let guest = Guest::enumerating(
        "(call $devices (i32.const 1024) (i32.const 3) (i32.const 512))
        (call $path (i32.load (i32.load (i32.const 516))) (i32.const 512)) (i32.const 16)",
    )
    .importing(TYPES)
    .with(r#"(data (i32.const 1024) "pci")"#);
    assert_snapshot!(said(&guest), @"broke the contract: handle index 1 used with the wrong type, expected guest-defined resource but found a different guest-defined resource");
}

#[test]
fn a_handle_returned_twice() {
    let guest = Guest::enumerating(
        "(call $devices (i32.const 1024) (i32.const 3) (i32.const 512))
        (i32.store (i32.const 1536) (i32.load (i32.load (i32.const 516))))
        (i32.store (i32.const 1540) (i32.load (i32.const 1536)))
        (i32.store (i32.const 20) (i32.const 128)) (i32.store (i32.const 24) (i32.const 1))
        (i32.store (i32.const 136) (i32.const 192)) (i32.store (i32.const 140) (i32.const 1))
        (i32.store (i32.const 200) (i32.const 1536)) (i32.store (i32.const 204) (i32.const 2))
        (i32.const 16)",
    )
    .importing(TYPES)
    .with(r#"(data (i32.const 1024) "pci")"#);
    assert_snapshot!(said(&guest), @"broke the contract: unknown handle index 1");
}

#[test]
fn an_argument_longer_than_the_contract_allows_is_refused_and_the_call_goes_on() {
    let guest = Guest::enumerating("(call $devices (i32.const 4096) (i32.const 5000) (i32.const 512)) (i32.const 512)")
        .importing(TYPES);
    assert_snapshot!(said(&guest), @"failed: an argument has 5000 bytes; at most 4096 are allowed");
}
