//! The optional export `conditions` of a later contract.

use crate::fake::{Fake, about, error, limit, loaded, patient, try_load, unit};
use crate::guest::{Guest, SPIN, contract, encode_of, later};
use devgate_types::component::CallKind;
use devgate_types::{Condition, Effect, Limit, Limits};
use insta::assert_snapshot;
use std::time::Duration;

const WORLD: &str = "package test:guest;
    world guest { include devgate:plugin/component@0.1.0; export devgate:plugin/conditions@0.1.1; }";

/// Two lists: of the first unit one condition, of the second none. Memory at 16 is zero.
const TWO: &str = r#"
    (i32.store offset=100 (i32.const 0) (i32.const 120))  ;; the lists
    (i32.store offset=104 (i32.const 0) (i32.const 2))
    (i32.store offset=120 (i32.const 0) (i32.const 140))  ;; of the first
    (i32.store offset=124 (i32.const 0) (i32.const 1))
    (i32.store offset=140 (i32.const 0) (i32.const 180))  ;; its key
    (i32.store offset=144 (i32.const 0) (i32.const 2))
    (i32.store8 offset=148 (i32.const 0) (i32.const 1))   ;; no-new
    (i32.store offset=152 (i32.const 0) (i32.const 181))  ;; its message
    (i32.store offset=156 (i32.const 0) (i32.const 1))
    (i32.store16 offset=180 (i32.const 0) (i32.const 0x6968))  ;; hi
    (i32.store offset=96 (i32.const 0) (i32.const 0))     ;; it succeeds
    (i32.const 96)"#;

fn component(examine: &str) -> Vec<u8> {
    let guest = Guest::default().with(&format!(
        r#"(func (export "devgate:plugin/conditions@0.1.1#examine") (param i32 i32 i32 i32) (result i32) {examine})"#
    ));
    encode_of(guest.module(), &[&contract(), &later()], WORLD)
}

#[test]
fn there_is_a_list_for_each_unit() {
    let plugin = loaded(&component(TWO), patient());
    assert!(plugin.profile().conditions);
    let (output, _) = about(&plugin, CallKind::Examine, Fake::boxed(), &[unit("a", 1), unit("b", 1)]).unwrap();
    let hi = Condition { key: "hi".into(), effect: Effect::NoNew, message: "i".into() };
    assert_eq!(output.conditions, [vec![hi], vec![]]);
    let one = about(&plugin, CallKind::Examine, Fake::boxed(), &[unit("a", 1)]).map(drop);
    assert_snapshot!(error(one), @"broke the contract: 2 lists of conditions for 1 units; give one for each, in their order");
}

#[test]
fn a_component_without_it_is_never_asked() {
    let plugin = loaded(&Guest::default().component(), patient());
    assert!(!plugin.profile().conditions);
    let asked = about(&plugin, CallKind::Examine, Fake::boxed(), &[unit("a", 1)]).map(drop);
    assert_snapshot!(error(asked), @"host fault: asked for conditions of a component that exports none");
}

#[test]
fn every_limit_holds() {
    let short = Duration::from_millis(50);
    let plugin = loaded(&component(SPIN), patient());
    let spun =
        about(&plugin, CallKind::Examine, Box::new(Fake::within(Limits { cpu: short, ..patient() })), &[unit("a", 1)]);
    assert_eq!(limit(spun.map(drop)), Some(Limit::Cpu(short)));
}

#[test]
fn one_of_another_type_is_no_absence() {
    let mut other = later();
    for (_, text) in &mut other {
        *text = text.replace("result<list<list<condition>>, error>", "result<list<condition>, error>");
    }
    let guest = Guest::default().with(
        r#"(func (export "devgate:plugin/conditions@0.1.1#examine") (param i32 i32 i32 i32) (result i32) unreachable)"#,
    );
    let bytes = encode_of(guest.module(), &[&contract(), &other], WORLD);
    let refused = try_load(&bytes, Limits::default()).expect_err("must be refused").to_string();
    assert!(refused.contains("devgate:plugin/conditions has another type here"), "{refused}");
}
