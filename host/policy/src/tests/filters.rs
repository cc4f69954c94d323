//! Which units are offered, and under which name.

use super::{plugin, read, with};
use crate::{Placed, Placement, PluginPolicy, Prepare, UnitFacts};
use devgate_types::ResourceName;
use proptest::prelude::*;

fn resource(name: &str) -> ResourceName {
    ResourceName::try_new(name).unwrap()
}

/// Where a unit of `v.com/x` with one device and one property belongs: the name, `left` or `not granted`.
fn place(policy: &PluginPolicy, id: &str, of: &str, device: &str, mode: &str) -> String {
    let (of, properties) = (resource(of), [("mode".to_owned(), mode.to_owned())]);
    let placed =
        policy.place(&UnitFacts { id, resource: &of, devices: &[&format!("other/{device}")], properties: &properties });
    match placed {
        Placed::Offered(name) => name.to_string(),
        Placed::Left(origin) => format!("left {origin}"),
        Placed::NotGranted => "not granted".to_owned(),
    }
}

#[test]
fn without_filters_what_is_granted_is_offered() {
    let policy = plugin("");
    assert_eq!(place(&policy, "a", "v.com/x", "d", "m"), "v.com/x");
    assert_eq!(place(&policy, "a", "v.com/y", "d", "m"), "not granted");
    assert!(policy.knows_resource(&resource("v.com/x")) && !policy.knows_resource(&resource("v.com/y")));
}

/// A unit of several devices: taken away for one of them, let through only for all of them.
#[test]
fn a_device_filter_is_about_all_that_a_unit_is_made_of() {
    let resource = resource("v.com/x");
    let place = |text: &str, devices: &[&str]| {
        let policy = plugin(text);
        let facts = UnitFacts { id: "a", resource: &resource, devices, properties: &[] };
        matches!(policy.place(&facts), Placed::Offered(_))
    };
    let two = ["bus/d/card0", "bus/e"];
    assert!(!place("except: [{device: d}]", &two) && !place("only: [{device: d}]", &two));
    assert!(place("only: [{device: [d, e]}]", &two) && place("except: [{device: f}]", &two));
    let one = ["bus/d/card0"];
    assert!(place("only: [{device: d}]", &one) && place("only: [{device: \"card*\"}]", &one));
    assert!(!place("only: [{device: d}]", &[]) && place("except: [{device: d}]", &[]));
}

#[test]
fn all_that_a_filter_states_must_hold() {
    for (filter, matches) in [
        ("{id: a}", true),
        ("{id: [b, \"a*\"]}", true),
        ("{id: b}", false),
        ("{resource: \"v.com/*\"}", true),
        ("{resource: \"*/x\"}", true),
        ("{resource: v.com/y}", false),
        ("{device: \"0000:3b:*\"}", true),
        ("{device: other}", true),
        ("{device: \"0000:3c:*\"}", false),
        ("{property: {mode: fast}}", true),
        ("{property: {mode: [slow, \"f*\"]}}", true),
        ("{property: {mode: slow}}", false),
        ("{property: {speed: \"*\"}}", false),
        ("{id: a, device: \"0000:3b:00.0\", property: {mode: \"*\"}}", true),
        ("{id: a, device: none}", false),
    ] {
        let except = plugin(&format!("except: [{filter}]"));
        let only = plugin(&format!("only: [{filter}]"));
        let unit = |policy| place(policy, "a", "v.com/x", "0000:3b:00.0", "fast");
        let expected = |offered| if offered { "v.com/x" } else { "left policy.yaml:7" };
        assert_eq!(unit(&except), expected(!matches), "except {filter}");
        assert_eq!(unit(&only), expected(matches), "only {filter}");
    }
}

#[test]
fn except_wins_and_several_filters_add_up() {
    let policy = plugin("only: [{id: a}, {id: b}]\nexcept: [{id: x},\n  {id: b}]");
    assert_eq!(place(&policy, "a", "v.com/x", "d", "m"), "v.com/x");
    assert_eq!(place(&policy, "b", "v.com/x", "d", "m"), "left policy.yaml:9");
    assert_eq!(place(&policy, "c", "v.com/x", "d", "m"), "left policy.yaml:7");
}

#[test]
fn the_first_rename_that_matches_counts() {
    let lines = "rename:\n  - {resource: v.com/raw, id: \"a*\", to: v.com/x}\n  - {resource: v.com/raw, property: {mode: big}, to: w.com/big}\n  - {resource: v.com/raw, id: \"z*\", to: v.com/x}";
    let text = with(lines).replace("[v.com/x]", "[v.com/x, \"w.com/*\"]");
    let policy = read(&text).unwrap().plugins.shift_remove("p").unwrap();
    let at = |id, of, mode| place(&policy, id, of, "d", mode);
    assert_eq!(at("a1", "v.com/raw", "big"), "v.com/x");
    assert_eq!(at("b1", "v.com/raw", "big"), "w.com/big");
    assert_eq!(at("b1", "v.com/raw", "small"), "not granted");
    assert_eq!(at("a1", "v.com/x", "big"), "v.com/x");
    assert_eq!(at("a1", "v.com/other", "big"), "not granted");
    assert!(policy.knows_resource(&resource("v.com/raw")) && !policy.grants_resource(&resource("v.com/raw")));
}

#[test]
fn what_is_left_out_is_not_renamed() {
    let policy = plugin("except: [{resource: v.com/raw}]\nrename: [{resource: v.com/raw, to: v.com/x}]");
    assert_eq!(place(&policy, "a", "v.com/raw", "d", "m"), "left policy.yaml:7");
}

#[test]
fn units_are_made_ready_when_they_are_allocated_unless_the_policy_says_otherwise() {
    for (lines, prepare) in [
        ("replicas: 1", Prepare::Allocate),
        ("prepare: allocate", Prepare::Allocate),
        ("prepare: start", Prepare::Start),
    ] {
        assert_eq!(plugin(lines).prepare, prepare, "{lines}");
    }
}

#[test]
fn replicas_are_spread_unless_the_policy_says_otherwise() {
    for (lines, placement) in [
        ("", Placement::Packed),
        ("replicas: 1", Placement::Packed),
        ("replicas: 2", Placement::Spread),
        ("replicas: 2\nplacement: packed", Placement::Packed),
        ("placement: spread", Placement::Spread),
    ] {
        assert_eq!(plugin(lines).placement, placement, "{lines}");
    }
}

#[test]
fn a_list_has_at_most_256_filters() {
    let list = |key: &str, entry: &str, n: usize| format!("{key}: [{}]", vec![entry; n].join(", "));
    for (key, entry) in [("only", "{id: a}"), ("except", "{id: a}"), ("rename", "{resource: v.com/r, to: v.com/x}")] {
        assert!(read(&with(&list(key, entry, 256))).is_ok(), "{key}");
        assert!(read(&with(&list(key, entry, 257))).is_err(), "{key}");
    }
}

proptest! {
    /// A further filter of `except` never offers more, one of `only` never less; and what is offered is granted.
    #[test]
    fn filters_only_take_away(id in "[ab]{1,2}", mode in "[xy]", kept in "[ab*?]{1,2}", more in "[ab*?]{1,2}", out in "[ab*?]{1,2}") {
        let policy = |only: &str, except: &str| plugin(&format!("only: [{only}]\nexcept: [{except}]"));
        let (kept, more, out) = (format!("{{id: \"{kept}\"}}"), format!("{{id: \"{more}\"}}"), format!("{{id: \"{out}\"}}"));
        let offered = |policy: &PluginPolicy| place(policy, &id, "v.com/x", "d", &mode) == "v.com/x";
        let never = "{id: never}";
        if offered(&policy(&kept, &out)) {
            prop_assert!(offered(&policy(&kept, never)));
            let wider = format!("{kept}, {more}");
            prop_assert!(offered(&policy(&wider, &out)));
        }
        let of = format!("v.com/{mode}");
        prop_assert_eq!(place(&plugin(""), &id, &of, "d", &mode) == of, of == "v.com/x");
    }
}
