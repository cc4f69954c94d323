//! Units as a kubelet may ask about them: in any order, again, none, and those that no unit has.

use super::harness::{Harness, broke, named};
use super::scorecard::{Outcome, Scorecard};
use crate::fault_injector::Script;
use crate::query::{Fake, Kind, Query};
use devgate_core::workbench::{ListedUnit, NotGiven};
use devgate_types::FailureKind;
use devgate_types::component::CallKind;
use std::collections::BTreeSet;
use std::slice::from_ref;

/// The most units of a pool that are asked about alone.
const MAX_ALONE: usize = 64;

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    if harness.pools().next().is_none() {
        return Ok(None);
    }
    card.check("ids.order", || order(harness))?;
    let bench = harness.bench()?;
    let (mut alone, mut repeated, mut none, mut together) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut of_several = 0;
    for (pool, verdicts) in harness.pools() {
        for (unit, verdict) in pool.units.iter().zip(verdicts).take(MAX_ALONE) {
            let given = bench.health(&pool.asked, from_ref(unit));
            if given.as_deref() != Ok(from_ref(verdict)) {
                alone.push(format!("{} alone is {given:?}, in company {verdict:?}", named(unit)));
            }
        }
        let twice: Vec<_> = pool.units.iter().take(1).cycle().take(2).cloned().collect();
        let given = bench.health(&pool.asked, &twice);
        if !matches!(given.as_deref(), Ok([one, other]) if one == other) {
            repeated.push(format!("health of one unit twice is {given:?}"));
        }
        let given = broke(&bench.health(&pool.asked, &[]));
        none.extend(given.map(|how| format!("health of no units {how}")));
        for (units, what, failures) in [(&twice[..], "one unit twice", &mut repeated), (&[], "no units", &mut none)] {
            if let Err(NotGiven::Call(error)) = bench.allocate(pool, units, &[]) {
                failures.extend(broke::<()>(&Err(error)).map(|how| format!("allocate of {what} {how}")));
            }
        }
        // What the answers are is not checked: the policy's rules go by the order in which the host asks.
        let backwards: Vec<_> = pool.units.iter().rev().cloned().collect();
        let one = bench.call(pool.about(CallKind::Allocate), &pool.units);
        let other = bench.call(pool.about(CallKind::Allocate), &backwards);
        of_several += usize::from(pool.units.len() > 1);
        together.extend(broke(&other).map(|how| format!("allocate of all units {how}")));
        if one.is_ok() != other.is_ok() {
            let what = "works in one order and not in the other";
            together.push(format!("allocate of all units of {} {what}", pool.resource));
        }
    }
    let count = format!("{} units", harness.units().count());
    card.record("ids.alone", Outcome::of(count, alone));
    let what = "health and allocate of the first unit, named twice";
    card.record("ids.repeated", Outcome::of(what, repeated));
    card.record("ids.none", Outcome::of("health and allocate of an empty list", none));
    let tried = match of_several {
        0 => Outcome::skipped("no pool has two units"),
        _ => Outcome::of(format!("{of_several} pools, each in two orders"), together),
    };
    card.record("ids.together", tried);
    Ok(None)
}

/// As recorded, and with one unit that cannot be read, so that the verdicts are not all the same.
fn order(harness: &Harness) -> anyhow::Result<Outcome> {
    let (mut failures, mut are_different) = (Vec::new(), false);
    for (pool, _) in harness.pools().filter(|(pool, _)| pool.units.len() > 1) {
        for ill in [None, pool.units.first(), pool.units.last()] {
            let ask = |units: &[ListedUnit]| -> anyhow::Result<_> {
                let bench = harness.bench()?;
                let script = ill.map(|ill| unreadable(harness, ill)).unwrap_or_default();
                Ok(harness.injector.under(script, || bench.health(&pool.asked, units)).0)
            };
            let backwards: Vec<_> = pool.units.iter().rev().cloned().collect();
            let (Ok(forward), mut turned) = (ask(&pool.units)?, ask(&backwards)?) else {
                continue;
            };
            are_different |= forward.iter().any(|verdict| Some(verdict) != forward.first());
            turned.iter_mut().for_each(|verdicts| verdicts.reverse());
            if turned.as_ref() != Ok(&forward) {
                let resource = &pool.resource;
                failures.push(format!("{forward:?} forward, {turned:?} backwards, of {resource}"));
            }
        }
    }
    if failures.is_empty() && !are_different {
        let why = "the verdicts on all units are the same, so that their order cannot be seen";
        return Ok(Outcome::skipped(why));
    }
    Ok(Outcome::of("each pool forward and backwards", failures))
}

/// Nothing of what one unit has to do with can be read.
fn unreadable(harness: &Harness, unit: &ListedUnit) -> Script {
    let asked = harness.calls.iter().flat_map(|(_, _, seen)| &seen.asked);
    let its = asked.map(|asked| &asked.query).filter(|query| {
        let is_readable = matches!(query.kind, Kind::Attribute | Kind::File | Kind::Link | Kind::Entries);
        is_readable && harness.is_related(query, unit)
    });
    let its: BTreeSet<Query> = its.cloned().collect();
    let failure = Fake::failure(FailureKind::Io, "EIO", "Input/output error");
    Script { answer: Some(Box::new(move |query| its.contains(query).then(|| failure.clone()))), ..Script::default() }
}
