//! Imports of a later contract, as a component asks for them.

use crate::fake::{Fake, enumerate, error, limit, loaded, patient};
use crate::guest::{Guest, contract, encode_of, later};
use devgate_sandbox::{LoadRequest, load};
use devgate_types::{Grant, Limit, Limits};
use insta::assert_snapshot;

/// A component that imports this interface besides those that all have.
fn importing(interface: &str, imports: &str, enumerate: &str) -> Vec<u8> {
    let world = format!(
        "package test:guest;
        world guest {{ include devgate:plugin/component@0.1.0; import devgate:plugin/hardware@0.1.0;
        import devgate:plugin/{interface}@0.1.1; }}"
    );
    let guest = Guest::enumerating(enumerate).importing(imports);
    encode_of(guest.module(), &[&contract(), &later()], &world)
}

const NOW: &str = r#"(import "devgate:plugin/clock@0.1.1" "now" (func $now (result i64)))"#;

/// Traps unless it is 2^40 + 7.
const AT: &str = "(if (i64.ne (call $now) (i64.const 1099511627783)) (then (unreachable))) (i32.const 16)";

#[test]
fn every_component_has_the_time_and_needs_no_grant() {
    let bytes = importing("clock", NOW, AT);
    let grants = |interface: &str| match interface {
        "clock" => panic!("nothing grants it"),
        _ => Grant::NotGranted { key: "key" },
    };
    let request = LoadRequest { plugin: "timely", bytes: &bytes, sha256: None, limits: patient(), grants: &grants };
    let plugin = load(request).unwrap_or_else(|error| panic!("{error}"));
    assert!(!plugin.profile().wasi);
    let (_, cost) = enumerate(&plugin, Fake::boxed()).unwrap();
    assert_eq!(cost.host_calls, 1);
}

#[test]
fn to_look_at_the_clock_counts() {
    let spin = "(loop $again (drop (call $now)) (br $again)) (unreachable)";
    let plugin = loaded(&importing("clock", NOW, spin), patient());
    let most = Limits { host_calls: 100, ..patient() };
    assert_eq!(limit(enumerate(&plugin, Box::new(Fake::within(most)))), Some(Limit::HostCalls(100)));
}

const RECENT: &str = r#"
    (import "devgate:plugin/hardware@0.1.0" "devices" (func $devices (param i32 i32 i32)))
    (import "devgate:plugin/uevents@0.1.1" "recent" (func $recent (param i32 i32)))"#;

/// The events of the first device of `pci`, whose name is written first: traps unless they are those of the fake, and then fails with the
/// value of the last event's first word.
const LAST: &str = r#"(local $events i32)
    (i32.store (i32.const 1032) (i32.const 0x696370))
    (call $devices (i32.const 1032) (i32.const 3) (i32.const 640))
    (call $recent (i32.load (i32.load (i32.const 644))) (i32.const 512))
    (if (i32.load8_u (i32.const 512)) (then (unreachable)))
    (if (i32.ne (i32.load (i32.const 520)) (i32.const 2)) (then (unreachable)))
    (local.set $events (i32.load (i32.const 516)))
    (if (i64.ne (i64.load offset=16 (local.get $events)) (i64.const 1099511627777)) (then (unreachable)))
    (if (i32.ne (i32.load offset=28 (local.get $events)) (i32.const 2)) (then (unreachable)))
    (local.set $events (i32.load offset=24 (local.get $events)))
    (i32.store8 (i32.const 16) (i32.const 1))
    (i32.store8 (i32.const 20) (i32.const 8))
    (i32.store (i32.const 32) (i32.load offset=8 (local.get $events)))
    (i32.store (i32.const 36) (i32.load offset=12 (local.get $events)))
    (i32.const 16)"#;

#[test]
fn what_was_announced_of_a_device_comes_with_its_words() {
    let bytes = importing("uevents", RECENT, LAST);
    assert_snapshot!(error(enumerate(&loaded(&bytes, patient()), Fake::boxed())), @"failed: rebind");
    let grants = |_: &str| Grant::NotGranted { key: "hardware" };
    let request = LoadRequest { plugin: "nosy", bytes: &bytes, sha256: None, limits: patient(), grants: &grants };
    assert_snapshot!(load(request).unwrap_err(), @r#"
    plugin nosy: component asks for what it does not get:
      devgate:plugin/hardware@0.1.0  needs "hardware:" in the policy
      devgate:plugin/uevents@0.1.1   needs "hardware:" in the policy
    "#);
}
