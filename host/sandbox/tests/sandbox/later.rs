//! Imports of a later contract, as a component asks for them.

use crate::fake::{Fake, enumerate, limit, loaded, patient};
use crate::guest::{Guest, contract, encode_of, later};
use devgate_sandbox::{LoadRequest, load};
use devgate_types::{Grant, Limit, Limits};

/// A component that imports this interface besides those that all have.
fn importing(interface: &str, imports: &str, enumerate: &str) -> Vec<u8> {
    let world = format!(
        "package test:guest;
        world guest {{ include devgate:plugin/component@0.1.0; import devgate:plugin/{interface}@0.1.1; }}"
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
