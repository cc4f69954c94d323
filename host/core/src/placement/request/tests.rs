//! What front ends see of a choice.

use super::*;
use crate::unit_table::Published;
use crate::units::{Cause, PoolRecord, Topology, UnitRecord};
use devgate_types::UnitId;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Units `a`, `b`, …, of which `unhealthy` cannot be given, two on each NUMA node.
fn snapshot(units: u8, unhealthy: &str) -> Arc<Snapshot> {
    let unit = |n: u8| UnitRecord {
        id: UnitId::try_new(&char::from(b'a' + n).to_string()).unwrap(),
        backing: vec![],
        pieces: vec![],
        values: vec![],
        nodes: vec![],
        properties: vec![],
        numa_nodes: BTreeSet::from([u32::from(n / 2)]),
    };
    let units: Vec<_> = (0..units).map(|n| Arc::new(unit(n))).collect();
    let published = |unit: &Arc<UnitRecord>| {
        let mut published = Published::default();
        let why = unhealthy.contains(unit.id.as_str()).then(|| Arc::from("too hot"));
        published.causes.set(Cause::Unhealthy, why);
        published
    };
    Arc::new(Snapshot {
        published: units.iter().map(published).collect(),
        topology: Arc::new(Topology::of(&units)),
        told: None,
        pool: PoolRecord { units, ..PoolRecord::default() },
    })
}

fn choose(snapshot: &Arc<Snapshot>, replicas: u32, available: &[&str], must: &[&str], size: usize) -> Vec<String> {
    let owned = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let placement = if replicas > 1 { Placement::Spread } else { Placement::Packed };
    let (available, must) = (owned(available), owned(must));
    let request = Request::new(Arc::clone(snapshot), replicas, placement, &available, &must, size);
    request.map_or_else(Vec::new, |request| request.choose())
}

#[test]
fn the_same_for_any_order_and_sorted() {
    let six = snapshot(6, "");
    assert_eq!(choose(&six, 1, &["a", "b", "c", "d"], &[], 2), ["a", "b"]);
    assert_eq!(choose(&six, 1, &["d", "b", "c", "a", "b"], &[], 2), ["a", "b"]);
    assert_eq!(choose(&six, 1, &["f", "e", "b", "c"], &["e"], 2), ["e", "f"], "on one NUMA node");
    assert_eq!(choose(&six, 1, &["a", "d", "c"], &[], 3), ["a", "c", "d"]);
}

#[test]
fn what_cannot_be_given_is_not_available() {
    let four = snapshot(4, "a");
    assert_eq!(choose(&four, 1, &["a", "b", "nowhere", "c"], &[], 2), ["b", "c"]);
    assert!(choose(&four, 1, &["a", "b", "c"], &[], 3).is_empty());
    assert!(choose(&four, 1, &["a", "b"], &["a"], 2).is_empty());
    assert!(choose(&four, 1, &["b", "c"], &["d"], 2).is_empty());
    assert!(choose(&four, 1, &["b", "c"], &["b", "c"], 1).is_empty());
    assert!(choose(&four, 1, &["b", "c"], &[], 0).is_empty());
    assert!(choose(&four, 1, &[], &[], 1).is_empty());
    assert!(choose(&four, 1, &["b::0"], &[], 1).is_empty());
}

#[test]
fn replicas_are_chosen_by_their_units_and_lowest_first() {
    let two = snapshot(2, "");
    assert_eq!(choose(&two, 12, &["a::10", "a::9", "b::3"], &[], 2), ["a::9", "b::3"]);
    assert_eq!(choose(&two, 12, &["a::10", "a::9", "b::3"], &["a::10"], 2), ["a::10", "b::3"]);
    assert_eq!(choose(&two, 12, &["a::10", "a::9", "b::3"], &[], 1), ["a::9"], "b is used more");
    assert_eq!(choose(&two, 12, &["a::10", "a::9"], &[], 2), ["a::9", "a::10"]);
    assert!(choose(&two, 12, &["a", "a::12", "a::01", "b::0::1"], &[], 1).is_empty());
}

fn ids() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-h](::[0-3])?", 0..24)
}

proptest! {
    #[test]
    fn available_complete_of_the_size_asked_for_and_the_same_for_any_order(
        mut available in ids(),
        must in prop::collection::vec(0usize..24, 0..3),
        size in 0usize..12,
        replicas in 1u32..5,
        packed in any::<bool>(),
    ) {
        let must: Vec<_> = must.iter().filter_map(|n| available.get(*n).cloned()).collect();
        let placement = if packed { Placement::Packed } else { Placement::Spread };
        let snapshot = snapshot(6, "c");
        let choose = |available: &[String], must: &[String]| {
            Request::new(Arc::clone(&snapshot), replicas, placement, available, must, size)
                .map_or_else(Vec::new, |request| request.choose())
        };
        let can_be_given = |id: &&String| {
            let known = |base: &str| "abdef".contains(base);
            split_replica(id, replicas).is_some_and(|(base, number)| known(base) && number < replicas)
        };
        let usable: BTreeSet<_> = available.iter().filter(can_be_given).cloned().collect();
        let needed: BTreeSet<_> = must.iter().cloned().collect();
        let possible = needed.is_subset(&usable) && (needed.len()..=usable.len()).contains(&size);
        let chosen = choose(&available, &must);
        let set: BTreeSet<_> = chosen.iter().cloned().collect();
        prop_assert_eq!(set.len(), chosen.len());
        prop_assert_eq!(chosen.len(), if possible { size } else { 0 });
        prop_assert!(set.is_subset(&usable) && (chosen.is_empty() || needed.is_subset(&set)));
        available.reverse();
        prop_assert_eq!(choose(&available, &must), chosen.clone());
        available.sort();
        prop_assert_eq!(choose(&available, &must), chosen);
    }
}
