//! Units as a kubelet may ask about them: in any order, again, none, and those of nobody.

use super::fault_injector::Script;
use super::harness::{Harness, broke, named};
use super::query::{Fake, Kind, Query};
use super::scorecard::{Outcome, Scorecard};
use devgate_core::bench::{Bench, ListedPool, ListedUnit, NotGiven};
use devgate_types::{CallError, FailureKind, Verdict};
use std::collections::BTreeSet;

/// The most units of a pool that are asked about alone.
const MOST_ALONE: usize = 64;

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    let bench = harness.bench()?;
    let pools: Vec<_> = harness.pools().collect();
    if pools.is_empty() {
        return Ok(None);
    }
    card.check("ids.order", || order(harness))?;
    card.check("ids.alone", || {
        let mut failures = Vec::new();
        for (pool, verdicts) in &pools {
            for (unit, verdict) in pool.units.iter().zip(*verdicts).take(MOST_ALONE) {
                let alone = bench.health(&pool.asked, std::slice::from_ref(unit));
                if alone.as_deref() != Ok(std::slice::from_ref(verdict)) {
                    let (name, alone) = (named(unit), shown(&alone));
                    failures.push(format!("{name} alone is {alone}, in company {verdict:?}"));
                }
            }
        }
        Ok(Outcome::of(format!("{} units", harness.units().count()), failures))
    })?;
    card.check("ids.repeated", || {
        let mut failures = Vec::new();
        for (pool, _) in &pools {
            let Some(first) = pool.units.first() else { continue };
            let twice = [first.clone(), first.clone()];
            let verdicts = bench.health(&pool.asked, &twice);
            if !matches!(verdicts.as_deref(), Ok([one, other]) if one == other) {
                failures.push(format!("health of {} twice is {}", named(first), shown(&verdicts)));
            }
            let how = broken(&bench, pool, &twice);
            failures.extend(how.map(|how| format!("allocate of one unit twice {how}")));
        }
        Ok(Outcome::of(
            "health and allocate of the first unit, named twice",
            failures,
        ))
    })?;
    card.check("ids.none", || {
        let mut failures = Vec::new();
        for (pool, _) in &pools {
            let health = broke(&bench.health(&pool.asked, &[]));
            failures.extend(health.map(|how| format!("health of no units {how}")));
            failures.extend(broken(&bench, pool, &[]).map(|how| format!("allocate of no units {how}")));
        }
        Ok(Outcome::of("health and allocate of an empty list", failures))
    })?;
    card.check("ids.together", || Ok(together(&bench, &pools)))?;
    Ok(None)
}

/// How an allocation breaks.
fn broken(bench: &Bench, pool: &ListedPool, units: &[ListedUnit]) -> Option<String> {
    match bench.allocate(pool, units) {
        Err(NotGiven::Call(error)) => broke::<()>(&Err(error)),
        Ok(_) | Err(NotGiven::Refused(_)) => None,
    }
}

/// What allocate answers is not checked: the policy's rules go by the order in which the host asks.
fn together(bench: &Bench, pools: &[(&ListedPool, &Vec<Verdict>)]) -> Outcome {
    let (mut tries, mut failures) = (0, Vec::new());
    for (pool, _) in pools.iter().filter(|(pool, _)| pool.units.len() > 1) {
        tries += 1;
        let backwards: Vec<_> = pool.units.iter().rev().cloned().collect();
        let one = bench.allocate_as(&pool.asked, &pool.units);
        let other = bench.allocate_as(&pool.asked, &backwards);
        failures.extend(broke(&other).map(|how| format!("allocate of all units {how}")));
        if one.is_ok() != other.is_ok() {
            let resource = &pool.resource;
            failures.push(format!(
                "allocate of all units of {resource} works in one order and not in the other"
            ));
        }
    }
    match tries {
        0 => Outcome::skipped("no pool has two units"),
        _ => Outcome::of(format!("{tries} pools, each in two orders"), failures),
    }
}

fn shown(verdicts: &Result<Vec<Verdict>, CallError>) -> String {
    match verdicts {
        Ok(verdicts) => format!("{verdicts:?}"),
        Err(error) => error.to_string(),
    }
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
            let (Ok(forward), turned) = (ask(&pool.units)?, ask(&backwards)?) else {
                continue;
            };
            are_different |= forward.iter().any(|verdict| Some(verdict) != forward.first());
            let turned = turned.map(|turned| turned.into_iter().rev().collect::<Vec<_>>());
            if turned.as_ref() != Ok(&forward) {
                let (turned, resource) = (shown(&turned), &pool.resource);
                failures.push(format!("{forward:?} forward, {turned} backwards, of {resource}"));
            }
        }
    }
    if failures.is_empty() && !are_different {
        return Ok(Outcome::skipped(
            "the verdicts on all units are the same, so that their order cannot be seen",
        ));
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
    Script {
        answer: Some(Box::new(move |query| its.contains(query).then(|| failure.clone()))),
        ..Script::default()
    }
}
