//! The optional export `lifecycle`: both of its functions get the units that they are about, within all limits, and where it
//! is not what the contract says the component is not loaded.

use crate::fake::{Fake, about, enumerate, error, limit, loaded, patient, try_load, unit};
use crate::guest::{Guest, SPIN, encode, other_contract};
use devgate_types::component::CallKind;
use devgate_types::{ByteSize, CallError, FailureKind, Limit, Limits};
use insta::assert_snapshot;
use std::time::Duration;

const EXPORT: &str = "export devgate:plugin/lifecycle@0.1.0;";

/// What a guest returns where it has nothing to say: memory at 16 is zero.
const FINE: &str = "(i32.const 16)";

/// A guest with these bodies; parameters 2 and 3 are the list of units.
fn living(prepare: &str, release: &str) -> Guest {
    let guest = Guest { world: EXPORT.into(), ..Guest::default() };
    guest.with(&format!(
        r#"(func (export "devgate:plugin/lifecycle@0.1.0#prepare") (param i32 i32 i32 i32) (result i32) {prepare})
        (func (export "devgate:plugin/lifecycle@0.1.0#release") (param i32 i32 i32 i32) (result i32) {release})"#
    ))
}

fn prepare(guest: &Guest, limits: Limits) -> Result<(), CallError> {
    let plugin = loaded(&guest.component(), patient());
    let units = [unit("a", 1), unit("b", 2)];
    about(&plugin, CallKind::Prepare, Box::new(Fake::within(limits)), &units)?;
    Ok(())
}

fn release(guest: &Guest, limits: Limits) -> Result<(), CallError> {
    let plugin = loaded(&guest.component(), patient());
    let units = [unit("a", 1), unit("b", 2)];
    about(&plugin, CallKind::Release, Box::new(Fake::within(limits)), &units)?;
    Ok(())
}

/// Traps unless it is handed the units `a` and `b` of `v.com/x`.
const TWO_UNITS: &str = r#"
    (if (i32.ne (local.get 1) (i32.const 7)) (then (unreachable)))
    (if (i32.ne (local.get 3) (i32.const 2)) (then (unreachable)))
    (if (i32.ne (i32.load8_u (i32.load (local.get 2))) (i32.const 97)) (then (unreachable)))
    (if (i32.ne (i32.load8_u (i32.load (i32.add (local.get 2) (i32.const 32)))) (i32.const 98)) (then (unreachable)))
    (i32.const 16)"#;

#[test]
fn each_function_is_called_with_its_units() {
    let plugin = loaded(&living(FINE, FINE).component(), patient());
    assert!(plugin.profile().lifecycle && !plugin.profile().preference);
    // One traps, the other does not: neither is taken for the other.
    assert_eq!(prepare(&living(TWO_UNITS, "unreachable"), patient()), Ok(()));
    assert_eq!(release(&living("unreachable", TWO_UNITS), patient()), Ok(()));
    assert!(prepare(&living("unreachable", FINE), patient()).is_err());
    assert!(release(&living(FINE, "unreachable"), patient()).is_err());
    // The other exports are there as ever.
    assert!(enumerate(&plugin, Fake::boxed()).is_ok());
}

#[test]
fn a_component_without_it_is_never_asked() {
    let plugin = loaded(&Guest::default().component(), patient());
    assert!(!plugin.profile().lifecycle);
    let asked = [
        error(about(&plugin, CallKind::Prepare, Fake::boxed(), &[])),
        error(about(&plugin, CallKind::Release, Fake::boxed(), &[])),
    ];
    assert_eq!(asked[0], asked[1]);
    assert_snapshot!(asked[0], @"host fault: asked to prepare or release by a component that exports no lifecycle");
}

#[test]
fn every_limit_holds() {
    let short = Duration::from_millis(50);
    let cpu = Limits { cpu: short, ..patient() };
    assert_eq!(limit(prepare(&living(SPIN, FINE), cpu.clone())), Some(Limit::Cpu(short)));
    assert_eq!(limit(release(&living(FINE, SPIN), cpu.clone())), Some(Limit::Cpu(short)));
    assert_eq!(limit(release(&living(FINE, FINE), cpu)), None);
    let deadline = Limits { deadline: short, ..patient() };
    assert_eq!(limit(release(&living(FINE, SPIN), deadline)), Some(Limit::Deadline(short)));
    let memory = Limits { memory: ByteSize::kib(128), ..patient() };
    let grow = living("(drop (memory.grow (i32.const 6))) (i32.const 16)", FINE);
    assert_eq!(limit(prepare(&grow, memory.clone())), Some(Limit::Memory(ByteSize::kib(128))));
    assert_eq!(limit(release(&grow, memory)), None);
    // Two units of one device and one node each.
    let handles = |handles| Limits { handles, ..patient() };
    assert_eq!(limit(release(&living(FINE, FINE), handles(3))), Some(Limit::Handles(3)));
    assert_eq!(limit(release(&living(FINE, FINE), handles(4))), None);
}

#[test]
fn a_failure_and_a_trap_are_told_apart() {
    // result: error, kind busy, no code, no message
    let busy = "(i32.store8 (i32.const 16) (i32.const 1)) (i32.store8 (i32.const 20) (i32.const 6)) (i32.const 16)";
    match release(&living(FINE, busy), patient()) {
        Err(CallError::Failed(failure)) => assert_eq!(failure.kind, FailureKind::Busy),
        other => panic!("{other:?}"),
    }
    assert_snapshot!(error(release(&living(FINE, "(unreachable)"), patient())), @"trapped: wasm `unreachable` instruction executed at 5@0x340");
}

#[test]
fn one_of_another_type_is_no_absence() {
    let world = format!("package test:guest; world guest {{ include devgate:plugin/component@0.1.0; {EXPORT} }}");
    let guest = living(FINE, FINE);
    let bytes = encode(
        guest.module(),
        &other_contract(
            "release: func(%resource: string, units: list<unit>)",
            "release: func(%resource: string, units: list<string>)",
        ),
        &world,
    );
    let refused = try_load(&bytes, Limits::default()).expect_err("must be refused").to_string();
    assert_snapshot!(refused, @"plugin snoop: component does not fit this host: devgate:plugin/lifecycle has another type here: failed to convert function to given type: type mismatch with parameters: expected `record` found `string`");
}
