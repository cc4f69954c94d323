//! The optional export `preference`: what it says comes as it is, within all limits, and where it is not what the contract
//! says the component is not loaded.

use crate::fake::{Fake, about, enumerate, error, limit, loaded, patient, try_load, unit};
use crate::guest::{Guest, SPIN, encode, other_contract};
use devgate_types::component::{Call, CallKind};
use devgate_types::{ByteSize, CallError, FailureKind, Limit, Limits};
use insta::assert_snapshot;
use std::time::Duration;

const EXPORT: &str = "export devgate:plugin/preference@0.1.0;";

/// A guest whose `choose` is `body`: parameters 2 and 3 are the list of units, 4 and 5 the ids that must be included, 6 the
/// size.
fn choosing(body: &str) -> Guest {
    let guest = Guest { world: EXPORT.into(), ..Guest::default() };
    guest.with(&format!(
        r#"(func (export "devgate:plugin/preference@0.1.0#choose") (param i32 i32 i32 i32 i32 i32 i32) (result i32) {body})"#
    ))
}

/// The ids of the first `size` units.
const FIRST: &str = "(local $n i32)
    (loop $again
        (i64.store
            (i32.add (i32.const 4096) (i32.mul (local.get $n) (i32.const 8)))
            (i64.load (i32.add (local.get 2) (i32.mul (local.get $n) (i32.const 32)))))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (local.get 6))))
    (i32.store (i32.const 20) (i32.const 4096)) (i32.store (i32.const 24) (local.get 6))
    (i32.const 16)";
/// The ids that must be included.
const MUST: &str = "(i32.store (i32.const 20) (local.get 4)) (i32.store (i32.const 24) (local.get 5)) (i32.const 16)";

fn strings(ids: &[&str]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

fn choose(guest: &Guest, limits: Limits, must: &[&str], size: u32) -> Result<Vec<String>, CallError> {
    let plugin = loaded(&guest.component(), patient());
    assert!(plugin.profile().preference);
    let units = [unit("a", 1), unit("b", 2), unit("c", 3)];
    let host = Box::new(Fake::within(limits));
    let call = Call { must_include: &strings(must), size, ..Call::about(CallKind::Choose, "v.com/x", &units) };
    Ok(plugin.call(&call, host)?.0.choice)
}

#[test]
fn a_choice_is_what_the_component_says() {
    assert_eq!(choose(&choosing(FIRST), patient(), &[], 2), Ok(strings(&["a", "b"])));
    assert_eq!(choose(&choosing(MUST), patient(), &["c"], 2), Ok(strings(&["c"])));
    // Not held against what there is: that is for the caller.
    assert_eq!(choose(&choosing(MUST), patient(), &["unknown"], 1), Ok(strings(&["unknown"])));
    // The other exports are there as ever.
    let plugin = loaded(&choosing(FIRST).component(), patient());
    assert!(enumerate(&plugin, Fake::boxed()).is_ok());
}

#[test]
fn a_component_without_it_is_never_asked() {
    let plugin = loaded(&Guest::default().component(), patient());
    assert!(!plugin.profile().preference);
    assert_snapshot!(
        error(about(&plugin, CallKind::Choose, Fake::boxed(), &[])),
        @"host fault: asked for a choice of a component that exports no preference"
    );
}

#[test]
fn every_limit_holds() {
    let short = Duration::from_millis(50);
    let met = |guest: &Guest, limits| limit(choose(guest, limits, &[], 1));
    let cpu = Limits { cpu: short, ..patient() };
    assert_eq!(met(&choosing(SPIN), cpu.clone()), Some(Limit::Cpu(short)));
    assert_eq!(met(&choosing(FIRST), cpu), None);
    let deadline = Limits { deadline: short, ..patient() };
    assert_eq!(met(&choosing(SPIN), deadline), Some(Limit::Deadline(short)));
    let memory = Limits { memory: ByteSize::kib(128), ..patient() };
    let grow = choosing("(drop (memory.grow (i32.const 6))) (i32.const 16)");
    assert_eq!(met(&grow, memory.clone()), Some(Limit::Memory(ByteSize::kib(128))));
    assert_eq!(met(&choosing(FIRST), memory), None);
    // Three units of one device and one node each.
    let handles = |handles| Limits { handles, ..patient() };
    assert_eq!(met(&choosing(FIRST), handles(5)), Some(Limit::Handles(5)));
    assert_eq!(met(&choosing(FIRST), handles(6)), None);
}

#[test]
fn a_failure_a_trap_and_a_breach_are_told_apart() {
    // result: error, kind busy, no code, no message
    let busy =
        choosing("(i32.store8 (i32.const 16) (i32.const 1)) (i32.store8 (i32.const 20) (i32.const 6)) (i32.const 16)");
    match choose(&busy, patient(), &[], 1) {
        Err(CallError::Failed(failure)) => assert_eq!(failure.kind, FailureKind::Busy),
        other => panic!("{other:?}"),
    }
    assert_snapshot!(error(choose(&choosing("(unreachable)"), patient(), &[], 1)), @"trapped: wasm `unreachable` instruction executed at 4@0x31c");
    let long = choosing(
        "(i32.store (i32.const 20) (i32.const 128)) (i32.store (i32.const 24) (i32.const 1))
        (i32.store (i32.const 128) (i32.const 1024)) (i32.store (i32.const 132) (i32.const 5000))
        (i32.const 16)",
    );
    assert_snapshot!(error(choose(&long, patient(), &[], 1)), @"broke the contract: a chosen id has 5000 bytes; at most 4096 are allowed");
}

#[test]
fn one_of_another_type_is_no_absence() {
    let world = format!("package test:guest; world guest {{ include devgate:plugin/component@0.1.0; {EXPORT} }}");
    let refused = |from: &str, to: &str, export: &str| {
        let guest = Guest::default().with(export);
        let bytes = encode(guest.module(), &other_contract(from, to), &world);
        try_load(&bytes, Limits::default()).expect_err("must be refused").to_string()
    };
    let choose = |parameters: &str| {
        format!(
            r#"(func (export "devgate:plugin/preference@0.1.0#choose") (param {parameters}) (result i32) (i32.const 16))"#
        )
    };
    assert_snapshot!(refused(
        "size: u32) -> result<list<string>, error>",
        "size: u64) -> result<list<string>, error>",
        &choose("i32 i32 i32 i32 i32 i32 i64"),
    ), @"plugin snoop: component does not fit this host: devgate:plugin/preference has another type here: failed to convert function to given type: type mismatch with parameters: expected `u32` found `u64`");
    assert_snapshot!(refused(
        "choose: func(%resource: string",
        "pick: func(%resource: string",
        &choose("i32 i32 i32 i32 i32 i32 i32").replace("#choose", "#pick"),
    ), @"plugin snoop: component does not fit this host: devgate:plugin/preference has another type here: instance export `devgate:plugin/preference@0.1.0` does not have export `choose`");
}
