//! Causes come and go one by one; what is shown is made of all of them.

use super::*;
use crate::testing;
use std::collections::BTreeMap;

fn id(name: &str) -> UnitId {
    UnitId::try_new(name).unwrap()
}

fn inventory(ids: &[&str]) -> Inventory {
    let unit = |name: &&str| {
        Arc::new(UnitRecord {
            id: id(name),
            backing: vec![],
            nodes: vec![],
            pieces: vec![],
            properties: vec![],
            values: vec![],
            numa_nodes: BTreeSet::new(),
        })
    };
    let pool = PoolRecord { units: ids.iter().map(unit).collect(), ..PoolRecord::default() };
    Inventory {
        pools: BTreeMap::from([(ResourceName::try_new("vendor.com/x").unwrap(), pool)]),
        ..Inventory::default()
    }
}

fn table(ids: &[&str]) -> UnitTable {
    let mut table = UnitTable::default();
    table.replace(inventory(ids));
    table
}

fn apply_verdicts(table: &mut UnitTable, name: &str, verdict: Verdict) {
    let units: Vec<_> = table.inventory().units().filter(|unit| unit.id == id(name)).cloned().collect();
    let found = Finding { verdict, conditions: Vec::new() };
    table.apply(&units, &[found], &testing::plugin_policy(testing::POLICY), &HealthStore::open(None, None));
}

fn words(causes: &Causes) -> Vec<&'static str> {
    causes.iter().map(|(cause, _)| cause.as_str()).collect()
}

#[test]
fn a_unit_keeps_all_its_causes_and_shows_the_first() {
    let mut table = table(&["a", "b"]);
    let none = OutsideCauses::default();
    assert_eq!(words(&table.causes(&id("a"), &none)), ["unhealthy"], "no verdict yet");
    apply_verdicts(&mut table, "a", Verdict::Unhealthy("too hot".into()));
    assert!(table.set(Cause::HardwareGone, &HashMap::from([(id("a"), "gone".into())])));
    assert!(!table.set(Cause::HardwareGone, &HashMap::from([(id("a"), "gone".into())])), "the same again");
    let lost = Lost { reason: "b has it".into(), id_taken: false };
    let others = OutsideCauses {
        lost: HashMap::from([(id("a"), lost)]),
        unreleased: HashMap::from([(id("a"), "release failed".into())]),
        failing: Some("enumerate failed".into()),
        ..OutsideCauses::default()
    };
    let causes = table.causes(&id("a"), &others);
    let all = ["conflict", "hardware-gone", "unreleased", "plugin-failing", "unhealthy"];
    assert_eq!(words(&causes), all);
    assert_eq!(causes.reason().map(AsRef::as_ref), Some("b has it"));
    // What was behind it comes to light when the first is over, without another look.
    let causes = table.causes(&id("a"), &none);
    assert_eq!(causes.reason().map(AsRef::as_ref), Some("gone"));
    assert!(table.set(Cause::HardwareGone, &HashMap::new()));
    assert_eq!(words(&table.causes(&id("a"), &none)), ["unhealthy"]);
    apply_verdicts(&mut table, "a", Verdict::Healthy);
    assert!(table.causes(&id("a"), &none).is_empty());
    assert_eq!(words(&table.causes(&id("b"), &none)), ["unhealthy"], "of its own");
}

#[test]
fn what_nobody_has_is_closed_and_what_pods_have_is_not() {
    let mut table = table(&["a", "b"]);
    apply_verdicts(&mut table, "a", Verdict::Healthy);
    apply_verdicts(&mut table, "b", Verdict::Healthy);
    let others =
        OutsideCauses { closed: Some("not known".into()), kept: BTreeSet::from([id("a")]), ..OutsideCauses::default() };
    assert!(table.causes(&id("a"), &others).is_empty());
    assert_eq!(words(&table.causes(&id("b"), &others)), ["state-unknown"]);
}

#[test]
fn a_change_is_told_once_and_another_reason_is_no_change() {
    let mut table = table(&["a"]);
    let none = OutsideCauses::default();
    let (changes, news) = table.judge(&none);
    assert_eq!((changes.len(), news), (1, true), "not found healthy yet");
    apply_verdicts(&mut table, "a", Verdict::Unhealthy("too hot".into()));
    let (changes, news) = table.judge(&none);
    assert_eq!((changes.len(), news), (0, true), "another reason");
    let (changes, news) = table.judge(&none);
    assert_eq!((changes.len(), news), (0, false));
    apply_verdicts(&mut table, "a", Verdict::Healthy);
    let (changes, _) = table.judge(&none);
    assert_eq!(changes, [(id("a"), None)]);
    let pool = table.inventory().pools.values().next().unwrap().clone();
    let snapshot = table.snapshot(&pool, Arc::default(), None);
    let (_, published) = snapshot.units().next().unwrap();
    assert!(published.causes.is_empty() && published.since.is_some());
}

#[test]
fn what_was_found_out_stays_with_what_is_still_there() {
    let mut table = table(&["a", "b"]);
    apply_verdicts(&mut table, "a", Verdict::Healthy);
    apply_verdicts(&mut table, "b", Verdict::Healthy);
    table.replace(inventory(&["b", "c"]));
    assert!(table.has_verdict(&id("b")) && !table.has_verdict(&id("c")) && !table.contains(&id("a")));
    table.replace(inventory(&["a", "b"]));
    assert!(!table.has_verdict(&id("a")), "it was away");
}

#[test]
fn an_id_that_another_has_hides_and_a_conflict_does_not() {
    let mut table = table(&["a", "b"]);
    apply_verdicts(&mut table, "a", Verdict::Healthy);
    apply_verdicts(&mut table, "b", Verdict::Healthy);
    let lost = |id_taken| Lost { reason: "another has it".into(), id_taken };
    let others = OutsideCauses {
        lost: HashMap::from([(id("a"), lost(true)), (id("b"), lost(false))]),
        ..OutsideCauses::default()
    };
    table.judge(&others);
    let pool = table.inventory().pools.values().next().unwrap().clone();
    let snapshot = table.snapshot(&pool, Arc::default(), None);
    let hidden = |name| snapshot.find(name).unwrap().2.has(Cause::IdTaken);
    assert!(hidden("a") && !hidden("b"));
    assert_eq!(snapshot.listed(), 2);
}
