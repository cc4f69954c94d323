mod order;
mod parts;

use super::*;
use crate::testing;
use crate::units::{MAX_PART_NODES, MAX_PARTS, Part, Role};
use devgate_types::NodeKind;
use proptest::prelude::*;
use std::collections::HashSet;
use std::pin::pin;
use std::task::{Context, Waker};

fn number(minor: u32) -> NodeNumber {
    NodeNumber { kind: NodeKind::Character, major: 10, minor }
}

fn id(id: &str) -> UnitId {
    UnitId::try_new(id).unwrap()
}

fn footprint(id: &str, minors: &[u32], shares: bool) -> Footprint {
    let exclusive = minors.iter().map(|minor| number(*minor)).collect();
    Footprint {
        id: self::id(id),
        exclusive,
        shared: vec![],
        backing: vec![],
        pieces: vec![],
        values: vec![],
        shares,
        part: None,
        is_counted: false,
        remembered: false,
    }
}

fn ledger() -> Ledger {
    Ledger::new(["first".to_owned(), "second".to_owned()])
}

/// Whether there is news.
fn is_told(news: &mut watch::Receiver<()>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    pin!(news.changed()).poll(&mut context).is_ready()
}

fn lost(ledger: &Ledger, index: usize) -> Vec<String> {
    let lost = ledger.lost(PluginIndex(index)).into_iter().map(|(id, why)| format!("{id}: {}", why.reason));
    lost.collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn what_a_pod_holds_may_share_more_later_but_nothing_of_somebody_elses() {
    let ledger = ledger();
    let mut unit = footprint("a", &[1], false);
    ledger.report(PluginIndex(0), vec![unit.clone()]);
    ledger.hold(PluginIndex(0), vec![unit.clone()]).unwrap();
    unit.shared = vec![number(9)];
    assert_eq!(ledger.hold(PluginIndex(0), vec![unit.clone()]), Err(NotHeld::Changed), "not reported yet");
    ledger.report(PluginIndex(0), vec![unit.clone()]);
    assert_eq!(ledger.hold(PluginIndex(0), vec![unit.clone()]), Ok(vec![]));
    ledger.report(PluginIndex(1), vec![footprint("b", &[9], false)]);
    assert_eq!(lost(&ledger, 1), ["b: node c 10:9 is shared with a of plugin first"]);
    // Without it again, and with another node of its own: the first is the same unit, the second is not.
    unit.shared = vec![];
    assert_eq!(ledger.hold(PluginIndex(0), vec![unit.clone()]), Ok(vec![]));
    unit.exclusive.push(number(2));
    ledger.report(PluginIndex(0), vec![unit.clone()]);
    assert_eq!(ledger.hold(PluginIndex(0), vec![unit]), Err(NotHeld::Changed));
    // What another one holds for himself is not shared.
    let ledger = Ledger::new(["first".to_owned(), "second".to_owned()]);
    let (mut a, b) = (footprint("a", &[1], false), footprint("b", &[9], false));
    ledger.report(PluginIndex(0), vec![a.clone()]);
    ledger.report(PluginIndex(1), vec![b.clone()]);
    ledger.hold(PluginIndex(0), vec![a.clone()]).unwrap();
    ledger.hold(PluginIndex(1), vec![b]).unwrap();
    a.shared = vec![number(9)];
    ledger.report(PluginIndex(0), vec![a.clone()]);
    assert_eq!(ledger.hold(PluginIndex(0), vec![a]), Err(NotHeld::Changed));
}

#[test]
fn what_a_pod_holds_is_not_taken_away() {
    let ledger = ledger();
    let (a, b) = (footprint("a", &[1], false), footprint("b", &[1], false));
    ledger.report(PluginIndex(1), vec![b.clone()]);
    assert_eq!(ledger.hold(PluginIndex(1), vec![b.clone()]), Ok(vec![id("b")]));
    ledger.report(PluginIndex(0), vec![a.clone()]);
    let reason = "node c 10:1 is already given to b of plugin second";
    assert_eq!(lost(&ledger, 0), [format!("a: {reason}")]);
    assert_eq!(ledger.hold(PluginIndex(0), vec![a.clone()]), Err(NotHeld::Lost(reason.into())));
    assert_eq!(ledger.hold(PluginIndex(1), vec![b.clone()]), Ok(vec![]), "given again to the same unit");
    // Whatever its plugin says of it meanwhile.
    ledger.report(PluginIndex(1), vec![footprint("b", &[7], false)]);
    assert_eq!(lost(&ledger, 0), [format!("a: {reason}")]);
    ledger.report(PluginIndex(1), vec![]);
    assert_eq!(lost(&ledger, 0), [format!("a: {reason}")]);
}

#[test]
fn an_allocation_that_failed_gives_the_hardware_back() {
    let ledger = ledger();
    let b = footprint("b", &[1], false);
    ledger.report(PluginIndex(1), vec![b.clone()]);
    let held = ledger.hold(PluginIndex(1), vec![b]).unwrap();
    ledger.report(PluginIndex(0), vec![footprint("a", &[1], false)]);
    ledger.let_go(PluginIndex(1), &held);
    assert_eq!(lost(&ledger, 0), [""; 0]);
    assert_eq!(lost(&ledger, 1), ["b: node c 10:1 is already given to a of plugin first"]);
}

#[test]
fn an_allocation_that_failed_wakes_only_whom_it_displaced() {
    let ledger = Ledger::new(["first".into(), "second".into(), "third".into()]);
    let unit = |id: &str, minor| vec![footprint(id, &[minor], false)];
    ledger.report(PluginIndex(1), unit("b", 1));
    ledger.report(PluginIndex(2), unit("c", 3));
    let mut news = [0, 1, 2].map(|index| ledger.subscribe(PluginIndex(index)));
    let mut woken = || news.each_mut().map(is_told);
    for _ in 0..2 {
        let held = ledger.hold(PluginIndex(1), unit("b", 1)).unwrap();
        ledger.let_go(PluginIndex(1), &held);
        assert_eq!(woken(), [false; 3], "no unit was displaced");
    }
    let held = ledger.hold(PluginIndex(1), unit("b", 1)).unwrap();
    ledger.report(PluginIndex(0), unit("a", 1));
    assert_eq!((woken(), woken()), ([false, true, true], [false; 3]));
    ledger.let_go(PluginIndex(1), &held);
    assert_eq!(woken(), [true, true, false]);
    // Let go and held again in between: what was settled once stays settled.
    let held = ledger.hold(PluginIndex(0), unit("a", 1)).unwrap();
    ledger.let_go(PluginIndex(0), &held);
    assert_eq!(woken(), [false; 3]);
    assert_eq!(lost(&ledger, 1), ["b: node c 10:1 is already given to a of plugin first"]);
}

#[test]
fn what_was_handed_out_before_the_host_started_and_is_freed_wakes_whom_it_displaced() {
    let ledger = ledger();
    let (a, mut b) = (footprint("a", &[1], false), footprint("b", &[1], false));
    b.remembered = true;
    ledger.report(PluginIndex(0), vec![a]);
    ledger.report(PluginIndex(1), vec![b.clone()]);
    // Handed out again since: that is not what displaced the other.
    ledger.hold(PluginIndex(1), vec![b]).unwrap();
    let mut news = [0, 1].map(|index| ledger.subscribe(PluginIndex(index)));
    let mut woken = || news.each_mut().map(is_told);
    ledger.free(PluginIndex(1), &[id("b")]);
    assert_eq!((woken(), lost(&ledger, 0)), ([true; 2], vec![]));
    ledger.free(PluginIndex(1), &[id("b")]);
    assert_eq!(woken(), [false, true], "no consumer had it");
}

#[test]
fn what_changed_since_the_allocation_began_is_not_held() {
    let ledger = ledger();
    ledger.report(PluginIndex(0), vec![footprint("a", &[2], false)]);
    assert_eq!(ledger.hold(PluginIndex(0), vec![footprint("a", &[1], false)]), Err(NotHeld::Changed));
    assert_eq!(ledger.hold(PluginIndex(0), vec![footprint("b", &[1], false)]), Err(NotHeld::Changed));
    assert!(ledger.held(PluginIndex(0)).is_empty());
}

proptest! {
    /// Whatever is reported, held and let go in whatever order: no node is with two units unless both share it.
    #[test]
    fn no_node_is_given_twice(
        steps in prop::collection::vec(
            (0usize..3, "[a-f]", prop::collection::vec(0u32..6, 0..4), prop::collection::vec(0u32..6, 0..2), any::<bool>(), 0u8..4),
            0..24,
        ),
    ) {
        let ledger = Ledger::new(["p0".into(), "p1".into(), "p2".into()]);
        let mut reported: [BTreeMap<String, Footprint>; 3] = Default::default();
        let mut held: [BTreeMap<UnitId, Footprint>; 3] = Default::default();
        for (plugin, name, exclusive, shared, shares, what) in &steps {
            let shared = shared.iter().filter(|minor| !exclusive.contains(minor)).map(|minor| number(*minor)).collect();
            let unit = Footprint { shared, ..footprint(&format!("{name}{plugin}"), exclusive, *shares) };
            match what {
                0 | 1 => {
                    reported[*plugin].insert(name.clone(), unit);
                    ledger.report(PluginIndex(*plugin), reported[*plugin].values().cloned().collect());
                }
                2 => if let Some(unit) = reported[*plugin].get(name) && ledger.hold(PluginIndex(*plugin), vec![unit.clone()]).is_ok() {
                    held[*plugin].insert(unit.id.clone(), unit.clone());
                },
                _ => {
                    held[*plugin].remove(&unit.id);
                    ledger.let_go(PluginIndex(*plugin), &[unit.id]);
                }
            }
        }
        let mut users: HashMap<NodeNumber, Vec<(bool, bool)>> = HashMap::new();
        for index in 0..3 {
            let lost = ledger.lost(PluginIndex(index));
            let given = reported[index].values().filter(|unit| !lost.contains_key(&unit.id) && !held[index].contains_key(&unit.id));
            for unit in given.chain(held[index].values()) {
                for node in unit.exclusive.iter().collect::<HashSet<_>>() {
                    users.entry(*node).or_default().push((true, unit.shares));
                }
                for node in unit.shared.iter().collect::<HashSet<_>>() {
                    users.entry(*node).or_default().push((false, unit.shares));
                }
            }
        }
        for (node, users) in users {
            let harmless = users.len() == 1 || users.iter().all(|(exclusive, _)| !exclusive) || users.iter().all(|(_, shares)| *shares);
            // A unit that shares its hardware may stand beside one that shares the node, and one that does not may not.
            let pairs = users.iter().enumerate().flat_map(|(n, a)| users.iter().skip(n + 1).map(move |b| (a, b)));
            let fine = |(a, b): (&(bool, bool), &(bool, bool))| (!a.0 && !b.0) || (a.1 && b.1);
            prop_assert!(harmless || pairs.into_iter().all(fine), "{}: {:?}", node, users);
        }
    }
}

/// Places in a small tree: a bus, two functions, and four nodes of each.
fn small_tree() -> Vec<DevicePath> {
    let mut text = String::new();
    let mut add = |place: &str| text.push_str(&format!("P: /devices/{place}\nE: SUBSYSTEM=pci\n\n"));
    add("bus");
    for function in 0..2 {
        add(&format!("bus/f{function}"));
        (0..4).for_each(|n| add(&format!("bus/f{function}/n{function}{n}")));
    }
    devgate_fake_node::RecordedNode::parse("tree", &text).unwrap().devices("pci").unwrap()
}

proptest! {
    /// Whatever is reported, held and let go in whatever order: no two units that do not share have a piece of hardware in
    /// common, or one what is beneath the other's.
    #[test]
    fn no_piece_of_hardware_is_given_twice(
        steps in prop::collection::vec(
            (0usize..3, "[a-f]", prop::collection::vec(0usize..11, 0..3), prop::collection::vec(0usize..11, 0..2), any::<bool>(), 0u8..4),
            0..24,
        ),
    ) {
        let tree = small_tree();
        let places = |of: &[usize]| of.iter().map(|n| tree[*n].clone()).collect::<Vec<_>>();
        let ledger = Ledger::new(["p0".into(), "p1".into(), "p2".into()]);
        let mut reported: [BTreeMap<String, Footprint>; 3] = Default::default();
        let mut held: [BTreeMap<UnitId, Footprint>; 3] = Default::default();
        for (plugin, name, backing, pieces, shares, what) in &steps {
            let unit = Footprint {
                backing: places(backing),
                pieces: places(pieces),
                ..footprint(&format!("{name}{plugin}"), &[], *shares)
            };
            match what {
                0 | 1 => {
                    reported[*plugin].insert(name.clone(), unit);
                    ledger.report(PluginIndex(*plugin), reported[*plugin].values().cloned().collect());
                }
                2 => if let Some(unit) = reported[*plugin].get(name) && ledger.hold(PluginIndex(*plugin), vec![unit.clone()]).is_ok() {
                    held[*plugin].insert(unit.id.clone(), unit.clone());
                },
                _ => {
                    held[*plugin].remove(&unit.id);
                    ledger.let_go(PluginIndex(*plugin), &[unit.id]);
                }
            }
        }
        let mut given = Vec::new();
        for index in 0..3 {
            let lost = ledger.lost(PluginIndex(index));
            let free = reported[index].values().filter(|unit| !lost.contains_key(&unit.id) && !held[index].contains_key(&unit.id));
            given.extend(free.chain(held[index].values()));
        }
        let touches = |a: &DevicePath, b: &DevicePath| a == b || a.is_beneath(b) || b.is_beneath(a);
        for (n, a) in given.iter().enumerate() {
            for b in given.iter().skip(n + 1).filter(|b| !(a.shares && b.shares)) {
                let both = a.pieces.iter().find(|one| b.pieces.iter().any(|other| touches(one, other)));
                prop_assert!(both.is_none(), "{} and {} have {:?}", a.id, b.id, both);
            }
        }
    }
}
