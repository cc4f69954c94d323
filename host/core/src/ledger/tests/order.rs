//! Which plugin has what two claim.

use super::*;

#[test]
fn what_was_handed_out_before_comes_before_the_order_if_it_is_the_same() {
    let ledger = ledger();
    let mut second = footprint("b", &[1], false);
    second.remembered = true;
    ledger.report(PluginIndex(0), vec![footprint("a", &[1], false)]);
    ledger.report(PluginIndex(1), vec![second.clone()]);
    assert_eq!(lost(&ledger, 0), ["a: node c 10:1 is already given to b of plugin second"]);
    second.remembered = false;
    ledger.report(PluginIndex(1), vec![second]);
    assert_eq!(lost(&ledger, 1), ["b: node c 10:1 is already given to a of plugin first"]);
}

#[test]
fn the_later_plugin_loses_that_one_unit_whoever_spoke_first() {
    for order in [[0, 1], [1, 0]] {
        let ledger = ledger();
        for index in order {
            let footprints = match index {
                0 => vec![footprint("a", &[1], false)],
                _ => vec![footprint("b", &[1, 2], false), footprint("c", &[3], false)],
            };
            ledger.report(PluginIndex(index), footprints);
        }
        assert_eq!(lost(&ledger, 0), [""; 0]);
        assert_eq!(lost(&ledger, 1), ["b: node c 10:1 is already given to a of plugin first"]);
    }
}

#[test]
fn within_a_plugin_the_later_unit_loses() {
    let ledger = ledger();
    ledger.report(PluginIndex(0), vec![footprint("a", &[1], false), footprint("b", &[1], false)]);
    assert_eq!(lost(&ledger, 0), ["b: node c 10:1 is already given to a of plugin first"]);
}

#[test]
fn an_id_belongs_to_one_plugin_even_if_it_cannot_be_given() {
    let ledger = Ledger::new(["zero".into(), "first".into(), "second".into()]);
    ledger.report(PluginIndex(0), vec![footprint("z", &[1], false)]);
    ledger.report(PluginIndex(1), vec![footprint("a", &[1], false)]);
    ledger.report(PluginIndex(2), vec![footprint("a", &[2], false)]);
    assert_eq!(lost(&ledger, 1), ["a: node c 10:1 is already given to z of plugin zero"]);
    assert_eq!(lost(&ledger, 2), ["a: id a is already one of plugin first; ids are unique on a node"]);
    assert!(ledger.lost(PluginIndex(2))[&id("a")].id_taken && !ledger.lost(PluginIndex(1))[&id("a")].id_taken);
}

#[test]
fn a_later_plugin_waits_until_the_earlier_ones_have_spoken() {
    let ledger = ledger();
    let settled = |index| ledger.silent_before(PluginIndex(index)).is_empty();
    assert!(settled(0) && !settled(1));
    ledger.report(PluginIndex(0), vec![]);
    assert!(settled(1));
}

#[test]
fn another_order_gives_to_others_and_what_left_keeps_only_what_it_holds() {
    let ledger = ledger();
    let (a, b, c) = (footprint("a", &[1], false), footprint("b", &[1], false), footprint("c", &[2], false));
    ledger.report(PluginIndex(0), vec![a.clone(), c.clone()]);
    ledger.report(PluginIndex(1), vec![b]);
    let named = |index: usize, name: &str| (PluginIndex(index), name.to_owned());
    ledger.arrange(&[named(1, "second"), named(0, "first")]);
    assert_eq!(lost(&ledger, 0), ["a: node c 10:1 is already given to b of plugin second"]);
    ledger.arrange(&[named(0, "first"), named(1, "second")]);
    ledger.hold(PluginIndex(0), vec![c]).unwrap();
    ledger.arrange(&[named(1, "second"), named(3, "third")]);
    ledger.report(PluginIndex(3), vec![footprint("d", &[2], false), footprint("e", &[5], false)]);
    assert_eq!(lost(&ledger, 1), [""; 0], "what was not held is free");
    assert_eq!(lost(&ledger, 3), ["d: node c 10:2 is already given to c of plugin first"]);
    ledger.report(PluginIndex(0), vec![a]);
    assert_eq!(lost(&ledger, 1), [""; 0], "who left footprints nothing");
}
