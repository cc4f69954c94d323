//! The optional export `parameters` of a later contract: called in place of `allocate` where there is something to say, and where it is
//! not what the contract says the component is not loaded.

use crate::fake::{Fake, about, error, limit, loaded, patient, try_load, unit};
use crate::guest::{Guest, SPIN, contract, encode_of, later};
use devgate_types::component::{Call, CallKind};
use devgate_types::{CallError, Limit, Limits, Origin, Setting};
use insta::assert_snapshot;
use std::time::Duration;

const WORLD: &str = "package test:guest;
    world guest { include devgate:plugin/component@0.1.0; export devgate:plugin/parameters@0.1.1; }";

/// Traps unless it is told `{}` by a class and then `[1]` by a claim. Memory at 16 is zero: no edits.
const TOLD: &str = r#"
    (if (i32.ne (local.get 5) (i32.const 2)) (then (unreachable)))
    (if (i32.load8_u (local.get 4)) (then (unreachable)))
    (if (i32.ne (i32.load offset=8 (local.get 4)) (i32.const 2)) (then (unreachable)))
    (if (i32.ne (i32.load16_u (i32.load offset=4 (local.get 4))) (i32.const 0x7d7b)) (then (unreachable)))
    (if (i32.ne (i32.load8_u offset=12 (local.get 4)) (i32.const 1)) (then (unreachable)))
    (if (i32.ne (i32.load offset=20 (local.get 4)) (i32.const 3)) (then (unreachable)))
    (i32.const 16)"#;

/// A guest whose `allocate` and `allocate-with` are these: parameters 4 and 5 of the latter are what it is told.
fn taking(allocate: &str, allocate_with: &str) -> Guest {
    let guest = Guest { allocate: allocate.into(), ..Guest::default() };
    guest.with(&format!(
        r#"(func (export "devgate:plugin/parameters@0.1.1#allocate-with") (param i32 i32 i32 i32 i32 i32) (result i32) {allocate_with})"#
    ))
}

fn component(guest: &Guest) -> Vec<u8> {
    encode_of(guest.module(), &[&contract(), &later()], WORLD)
}

fn told(guest: &[u8], limits: Limits) -> Result<(), CallError> {
    let plugin = loaded(guest, patient());
    let setting = |origin, json: &str| Setting { origin, json: json.to_owned() };
    let settings = [setting(Origin::Class, "{}"), setting(Origin::Claim, "[1]")];
    let units = [unit("a", 1)];
    let call = Call { settings: &settings, ..Call::about(CallKind::Allocate, "v.com/x", &units) };
    plugin.call(&call, Box::new(Fake::within(limits))).map(drop)
}

#[test]
fn it_is_called_where_there_is_something_to_say_and_allocate_is_not() {
    let guest = component(&taking("unreachable", TOLD));
    assert!(loaded(&guest, patient()).profile().parameters);
    assert_eq!(told(&guest, patient()), Ok(()));
    let guest = component(&taking("(i32.const 16)", "unreachable"));
    assert!(about(&loaded(&guest, patient()), CallKind::Allocate, Fake::boxed(), &[unit("a", 1)]).is_ok());
    assert!(told(&guest, patient()).is_err());
}

#[test]
fn a_component_without_it_is_never_told() {
    let guest = Guest::default().component();
    assert!(!loaded(&guest, patient()).profile().parameters);
    assert_snapshot!(error(told(&guest, patient())), @"host fault: gave settings to a component that exports no parameters");
}

#[test]
fn every_limit_holds() {
    let short = Duration::from_millis(50);
    let guest = component(&taking("unreachable", SPIN));
    assert_eq!(limit(told(&guest, Limits { cpu: short, ..patient() })), Some(Limit::Cpu(short)));
    let guest = component(&taking("unreachable", TOLD));
    assert_eq!(limit(told(&guest, Limits { handles: 1, ..patient() })), Some(Limit::Handles(1)));
}

#[test]
fn one_of_another_type_is_no_absence() {
    let mut other = later();
    for (_, text) in &mut other {
        *text = text.replace("settings: list<setting>)", "settings: list<string>)");
    }
    let bytes = encode_of(taking("unreachable", TOLD).module(), &[&contract(), &other], WORLD);
    let refused = try_load(&bytes, Limits::default()).expect_err("must be refused").to_string();
    assert_snapshot!(refused, @"plugin snoop: component does not fit this host: devgate:plugin/parameters has another type here: failed to convert function to given type: type mismatch with parameters: expected `record` found `string`");
}
