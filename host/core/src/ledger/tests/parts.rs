//! Units that are parts of one device, and nodes that units share.

use super::*;

/// A part of a device with these nodes: those below 3 are common, 5 is so too, and all others tell parts from each
/// other.
fn part(id: &str, minors: &[u32]) -> Footprint {
    let role = |minor: &u32| Role { own: *minor > 2, common: *minor < 3 || *minor == 5 };
    Footprint {
        part: Part::new(minors.iter().map(|minor| (number(*minor), role(minor)))),
        backing: testing::node().devices("pci").unwrap().into_iter().take(1).collect(),
        ..footprint(id, minors, false)
    }
}

#[test]
fn parts_have_their_device_and_its_node_in_common_and_never_beside_the_whole() {
    let ledger = ledger();
    let whole = part("whole", &[0]);
    ledger.report(
        PluginIndex(0),
        vec![part("a", &[0, 3, 4]), part("b", &[0, 5, 6]), part("c", &[0, 5, 7]), whole.clone()],
    );
    let already = "whole: node c 10:0 is already given to a of plugin first";
    assert_eq!(lost(&ledger, 0), [already]);
    // The other way round, the whole is there first; it stays where it was as long as a pod has it.
    ledger.report(PluginIndex(0), vec![whole.clone()]);
    ledger.hold(PluginIndex(0), vec![whole.clone()]).unwrap();
    ledger.report(PluginIndex(0), vec![part("a", &[0, 3, 4]), part("b", &[0, 5, 6])]);
    let given = "node c 10:0 is already given to whole of plugin first";
    assert_eq!(lost(&ledger, 0), [format!("a: {given}"), format!("b: {given}")]);
    ledger.free(PluginIndex(0), &[id("whole")]);
    assert_eq!(lost(&ledger, 0), [""; 0]);
}

#[test]
fn a_part_is_given_once_and_its_device_to_no_other_plugin() {
    let ledger = ledger();
    ledger.report(PluginIndex(0), vec![part("a", &[0, 3, 4]), part("same", &[0, 3, 4]), part("less", &[4])]);
    ledger.report(
        PluginIndex(1),
        vec![part("other", &[0, 8]), Footprint { exclusive: vec![number(9)], ..part("alone", &[]) }],
    );
    assert_eq!(
        lost(&ledger, 0),
        [
            "less: node c 10:4 is already given to a of plugin first",
            "same: node c 10:0 is already given to a of plugin first"
        ]
    );
    assert_eq!(
        lost(&ledger, 1),
        [
            "alone: device 0000:00:01.0 already backs a of plugin first, or a part of it does",
            "other: node c 10:0 is already given to a of plugin first"
        ]
    );
}

#[test]
fn what_is_shared_is_no_parts_own_and_parts_are_not_without_end() {
    let ledger = ledger();
    let sharing = Footprint { shared: vec![number(9)], ..part("a", &[0, 3]) };
    ledger.report(PluginIndex(0), vec![sharing, part("b", &[0, 4, 9])]);
    assert_eq!(lost(&ledger, 0), ["b: node c 10:9 is shared with a of plugin first"]);
    let most = u32::try_from(MAX_PARTS).unwrap();
    let many = (10..=most + 10).map(|n| part(&n.to_string(), &[0, n]));
    ledger.report(PluginIndex(0), many.collect());
    let last = format!("{}: node c 10:0 is already given to 10 of plugin first", most + 10);
    assert_eq!(lost(&ledger, 0), [last]);
}

#[test]
fn a_whole_with_more_nodes_than_the_device_is_no_part() {
    // Neither a node that is common makes it one nor one that the policy says nothing of.
    let common = Role { own: false, common: true };
    let unsaid =
        Footprint { part: Part::new([(number(0), common), (number(9), Role::default())]), ..part("whole", &[0, 9]) };
    for whole in [part("whole", &[0, 1]), unsaid] {
        for whole_first in [true, false] {
            let ledger = ledger();
            let mut footprints = vec![part("part", &[0, 3])];
            footprints.insert(usize::from(!whole_first), whole.clone());
            ledger.report(PluginIndex(0), footprints);
            let lost = lost(&ledger, 0);
            assert_eq!(lost.len(), 1, "{lost:?}");
        }
    }
}

#[test]
fn parts_have_nothing_in_common_that_is_not_common() {
    let ledger = ledger();
    ledger.report(PluginIndex(0), vec![part("a", &[0, 3, 4]), part("b", &[4, 6])]);
    assert_eq!(lost(&ledger, 0), ["b: node c 10:4 is already given to a of plugin first"]);
}

#[test]
fn what_a_part_has_for_itself_no_other_part_shares() {
    let exclusive = part("exclusive", &[0, 3]);
    let sharing = Footprint { shared: vec![number(0)], ..part("sharing", &[4]) };
    for (held, other, why) in [
        (&exclusive, &sharing, "sharing: node c 10:0 is already given to exclusive of plugin first"),
        (&sharing, &exclusive, "exclusive: node c 10:0 is shared with sharing of plugin first"),
    ] {
        let ledger = ledger();
        ledger.report(PluginIndex(0), vec![held.clone()]);
        ledger.hold(PluginIndex(0), vec![held.clone()]).unwrap();
        ledger.report(PluginIndex(0), vec![other.clone()]);
        assert_eq!(lost(&ledger, 0), [why]);
    }
}

#[test]
fn of_many_parts_with_many_nodes_as_many_are_given_as_may_be() {
    let ledger = ledger();
    let most = u32::try_from(MAX_PARTS).unwrap();
    let nodes = u32::try_from(MAX_PART_NODES).unwrap();
    let part = |n: u32| {
        let common = (0..nodes - 1).map(|minor| (number(minor), false));
        let all: Vec<_> = common.chain([(number(1000 + n), true)]).collect();
        Footprint {
            part: Part::new(all.iter().map(|(node, own)| (*node, Role { own: *own, common: !own }))),
            exclusive: all.iter().map(|(node, _)| *node).collect(),
            ..footprint(&n.to_string(), &[], false)
        }
    };
    ledger.report(PluginIndex(0), (0..20 * most).map(part).collect());
    assert_eq!(lost(&ledger, 0).len(), 19 * MAX_PARTS);
}

#[test]
fn sharing_takes_two() {
    for (first, second, loses) in [(true, true, false), (true, false, true), (false, true, true)] {
        let ledger = ledger();
        ledger.report(PluginIndex(0), vec![footprint("a", &[1], first)]);
        ledger.report(PluginIndex(1), vec![footprint("b", &[1], second)]);
        assert_eq!(!lost(&ledger, 1).is_empty(), loses, "{first} {second}");
    }
}

#[test]
fn a_node_is_shared_by_all_or_by_nobody() {
    let shared = |id: &str| Footprint { shared: vec![number(1)], ..footprint(id, &[], false) };
    let ledger = ledger();
    ledger.report(PluginIndex(0), vec![shared("a"), shared("b")]);
    ledger.report(PluginIndex(1), vec![footprint("c", &[1], false), shared("d")]);
    assert_eq!(lost(&ledger, 0), [""; 0]);
    assert_eq!(lost(&ledger, 1), ["c: node c 10:1 is shared with a of plugin first"]);
    ledger.report(PluginIndex(0), vec![footprint("c0", &[1], false)]);
    assert_eq!(
        lost(&ledger, 1),
        [
            "c: node c 10:1 is already given to c0 of plugin first",
            "d: node c 10:1 is already given to c0 of plugin first",
        ]
    );
}

#[test]
fn a_device_and_a_part_of_it_are_not_two() {
    let node = testing::node();
    let gpu = node.device("pci", "0000:00:01.0").unwrap();
    let card = node.device("drm", "card0").unwrap();
    let render = node.device("drm", "renderD128").unwrap();
    let other = node.device("pci", "0000:00:02.0").unwrap();
    let of = |id: &str, device: &DevicePath| Footprint { backing: vec![device.clone()], ..footprint(id, &[], false) };
    let outcome = |footprints: Vec<Footprint>| {
        let ledger = ledger();
        ledger.report(PluginIndex(0), footprints);
        lost(&ledger, 0)
    };
    assert_eq!(
        outcome(vec![of("whole", &gpu), of("part", &render)]),
        ["part: device renderD128 already backs whole of plugin first, or a part of it does"]
    );
    assert_eq!(
        outcome(vec![of("part", &render), of("whole", &gpu)]),
        ["whole: device 0000:00:01.0 already backs part of plugin first, or a part of it does"]
    );
    assert_eq!(outcome(vec![of("card", &card), of("render", &render), of("other", &other)]), [""; 0]);
}

/// A whole and its parts, of which a scheduler knows.
fn counted() -> Vec<Footprint> {
    let all = [part("whole", &[0]), part("a", &[0, 3, 4]), part("b", &[0, 5, 6])];
    all.map(|footprint| Footprint { is_counted: true, ..footprint }).into()
}

#[test]
fn what_a_scheduler_counts_is_offered_as_a_whole_and_in_parts_until_one_is_given() {
    let (ledger, all) = (ledger(), counted());
    ledger.report(PluginIndex(0), all.clone());
    assert_eq!(lost(&ledger, 0), [""; 0]);
    // No other plugin gets any of it.
    ledger.report(PluginIndex(1), vec![part("other", &[0, 8])]);
    assert_eq!(lost(&ledger, 1), ["other: node c 10:0 is already given to whole of plugin first"]);
    let [whole, a, b] = <[Footprint; 3]>::try_from(all.clone()).unwrap();
    let hold = |units: &[&Footprint]| {
        let units = units.iter().map(|unit| (*unit).clone()).collect();
        ledger.hold(PluginIndex(0), units).map_err(|why| match why {
            NotHeld::Lost(why) => why.to_string(),
            NotHeld::Changed => "changed".to_owned(),
        })
    };
    let given = |to: &str| Err(format!("node c 10:0 is already given to {to} of plugin first"));
    assert_eq!(hold(&[&whole, &a]), given("whole"));
    assert_eq!(hold(&[&a, &b]).unwrap(), [id("a"), id("b")]);
    // At once, and once all has been gone through.
    assert_eq!(hold(&[&whole]), given("a"));
    assert_eq!(hold(&[&a]).unwrap(), []);
    ledger.report(PluginIndex(0), vec![a.clone(), whole.clone(), b.clone()]);
    assert_eq!(lost(&ledger, 0), ["whole: node c 10:0 is already given to a of plugin first"]);
    ledger.free(PluginIndex(0), &[id("a")]);
    assert_eq!(hold(&[&whole]), given("b"));
    ledger.let_go(PluginIndex(0), &[id("b")]);
    assert_eq!((lost(&ledger, 0), hold(&[&whole]).unwrap()), (Vec::new(), vec![id("whole")]));
    assert_eq!(hold(&[&b]), given("whole"));
    let wholes = ledger.wholes(PluginIndex(0));
    assert_eq!(
        ["whole", "a", "b"].map(|unit| wholes.wholes(&id(unit))),
        ["whole"; 3].map(|whole| vec![whole.to_owned()])
    );
    assert_eq!(wholes.choices(&id("whole")).collect::<Vec<_>>(), [&id("a"), &id("b")]);
}

#[test]
fn what_may_be_given_from_before_is_no_choice() {
    let (ledger, mut all) = (ledger(), counted());
    all[1].remembered = true;
    ledger.report(PluginIndex(0), all.clone());
    assert_eq!(lost(&ledger, 0), ["whole: node c 10:0 is already given to a of plugin first"]);
    assert_eq!(ledger.hold(PluginIndex(0), vec![all[2].clone()]), Ok(vec![id("b")]));
    ledger.free(PluginIndex(0), &[id("a"), id("b")]);
    assert_eq!(lost(&ledger, 0), [""; 0]);
    ledger.hold(PluginIndex(0), vec![all[0].clone()]).unwrap();
}

#[test]
fn parts_lie_beneath_the_whole_that_they_are_of() {
    let node = testing::node();
    let at =
        |id: &str, minor: u32, backing: Vec<DevicePath>| Footprint { is_counted: true, backing, ..part(id, &[minor]) };
    let (all, pci) = (node.devices("drm").unwrap(), node.devices("pci").unwrap());
    let mut pairs = all.iter().flat_map(|beneath| pci.iter().map(move |above| (above, beneath)));
    let (above, beneath) = pairs.find(|(above, beneath)| beneath.is_beneath(above)).unwrap();
    let elsewhere = pci.iter().find(|other| !beneath.is_beneath(other)).unwrap();
    for [whole_at, part_at] in [[above, beneath], [beneath, above]] {
        let all = [
            at("whole", 0, vec![whole_at.clone()]),
            at("part", 3, vec![part_at.clone()]),
            at("b", 4, vec![elsewhere.clone()]),
        ];
        let wholes = Wholes::of(&all);
        assert_eq!(["whole", "part", "b"].map(|unit| wholes.wholes(&id(unit)).len()), [1, 1, 0]);
    }
}
