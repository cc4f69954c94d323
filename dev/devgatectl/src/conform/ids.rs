//! Units as a kubelet may ask about them: in any order, again, none, and those of nobody.

use super::meddler::Script;
use super::sheet::{Outcome, Rule, Sheet};
use super::subject::{Baseline, Subject, broke, named};
use super::thing::{Given as Instead, Kind};
use devgate_core::bench::{ListedPool, ListedUnit, NotGiven};
use devgate_types::{CallError, FailureKind, ResourceName, Verdict};
use std::collections::BTreeSet;

const ORDER: Rule = Rule {
    id: "ids.order",
    title: "Verdicts come in the order asked for",
    expected: "health of the units backwards gives the same verdicts backwards, also where one of them cannot be read",
    remedy: "answer `units` in its own order: `units.iter().map(…)`, not the order of a look at the node",
};
const ALONE: Rule = Rule {
    id: "ids.alone",
    title: "A unit's verdict does not hang on who else is asked about",
    expected: "health of each unit alone gives the verdict that it has in company",
    remedy: "judge each unit by its own backing and properties",
};
const REPEATED: Rule = Rule {
    id: "ids.repeated",
    title: "A unit is asked about twice",
    expected: "health gives two equal verdicts; allocate answers or fails, and does not break",
    remedy: "units are a list, not a set: nothing may be taken out of a map as it is answered",
};
const NONE: Rule = Rule {
    id: "ids.none",
    title: "No units",
    expected: "health gives no verdicts; allocate answers or fails, and does not break",
    remedy: "no index into `units` without looking",
};
const UNKNOWN: Rule = Rule {
    id: "ids.unknown-resource",
    title: "A resource that the component does not have",
    expected: "health and allocate answer or fail, and do not break",
    remedy: "an unknown resource is an error with kind invalid or not-found, not a panic",
};
const MANY: Rule = Rule {
    id: "ids.together",
    title: "All units at once, backwards",
    expected: "allocate of all units of a pool answers in any order of them, or fails in both",
    remedy: "take units in any order",
};
pub(super) const RULES: &[&Rule] = &[&ORDER, &ALONE, &REPEATED, &NONE, &UNKNOWN, &MANY];

pub(super) fn run(subject: &Subject, baseline: &Baseline, sheet: &mut Sheet<'_>) -> anyhow::Result<()> {
    let bench = subject.bench()?;
    let pools: Vec<_> = baseline
        .listed
        .pools
        .iter()
        .zip(&baseline.verdicts)
        .filter(|(pool, _)| !pool.units.is_empty())
        .collect();
    if pools.is_empty() {
        return Ok(());
    }
    if sheet.wants(&ORDER) {
        let outcome = order(subject, baseline, &pools)?;
        sheet.check(&ORDER, || outcome);
    }
    sheet.check(&ALONE, || {
        let mut failures = Vec::new();
        for (pool, verdicts) in &pools {
            for (unit, verdict) in pool.units.iter().zip(*verdicts).take(64) {
                let alone = bench.health(pool.asked(), std::slice::from_ref(unit));
                if alone.as_deref() != Ok(std::slice::from_ref(verdict)) {
                    failures.push(format!(
                        "{} alone is {}, in company {verdict:?}",
                        named(unit),
                        shown(&alone)
                    ));
                }
            }
        }
        Outcome::of(format!("{} units", baseline.units().count()), failures)
    });
    sheet.check(&REPEATED, || {
        let mut failures = Vec::new();
        for (pool, _) in &pools {
            let Some(first) = pool.units.first() else { continue };
            let twice = [first.clone(), first.clone()];
            let verdicts = bench.health(pool.asked(), &twice);
            if !matches!(verdicts.as_deref(), Ok([one, other]) if one == other) {
                failures.push(format!("health of {} twice is {}", named(first), shown(&verdicts)));
            }
            failures.extend(allocate_broke(&bench.allocate(pool, &twice), "of one unit twice"));
        }
        Outcome::of("health and allocate of the first unit, named twice", failures)
    });
    sheet.check(&NONE, || {
        let mut failures = Vec::new();
        for (pool, _) in &pools {
            let verdicts = bench.health(pool.asked(), &[]);
            failures.extend(broke(&verdicts).map(|how| format!("health of no units {how}")));
            failures.extend(allocate_broke(&bench.allocate(pool, &[]), "of no units"));
        }
        Outcome::of("health and allocate of an empty list", failures)
    });
    sheet.check(&UNKNOWN, || {
        let Ok(unknown) = ResourceName::try_new("conform.invalid/nobodys") else {
            return Outcome::skipped("there is no name that nobody has");
        };
        let mut failures = Vec::new();
        for (pool, _) in &pools {
            failures
                .extend(broke(&bench.health(&unknown, &pool.units)).map(|how| format!("health of {unknown} {how}")));
            let given = bench.allocate_as(&unknown, &pool.units);
            failures.extend(broke(&given).map(|how| format!("allocate of {unknown} {how}")));
        }
        Outcome::of(format!("health and allocate of {unknown}"), failures)
    });
    sheet.check(&MANY, || {
        let mut failures = Vec::new();
        let mut tries = 0;
        for (pool, _) in pools.iter().filter(|(pool, _)| pool.units.len() > 1) {
            tries += 1;
            let backwards: Vec<_> = pool.units.iter().rev().cloned().collect();
            // What it answers, unchecked: the policy's rules go by the order in which the host asks.
            let (one, other) = (
                bench.allocate_as(pool.asked(), &pool.units),
                bench.allocate_as(pool.asked(), &backwards),
            );
            failures.extend(broke(&other).map(|how| format!("allocate of all units {how}")));
            if one.is_ok() != other.is_ok() {
                failures.push(format!(
                    "allocate of all units of {} works in one order and not in the other",
                    pool.resource
                ));
            }
        }
        match tries {
            0 => Outcome::skipped("no pool has two units"),
            _ => Outcome::of(format!("{tries} pools, each in two orders"), failures),
        }
    });
    Ok(())
}

fn shown(verdicts: &Result<Vec<Verdict>, CallError>) -> String {
    match verdicts {
        Ok(verdicts) => format!("{verdicts:?}"),
        Err(error) => error.to_string(),
    }
}

fn allocate_broke<T>(given: &Result<T, NotGiven>, what: &str) -> Option<String> {
    match given {
        Err(NotGiven::Call(error)) if !matches!(error, CallError::Failed(_)) => {
            Some(format!("allocate {what} {error}"))
        }
        _ => None,
    }
}

/// As recorded, and with one unit that cannot be read, so that the verdicts are not all the same.
fn order(subject: &Subject, baseline: &Baseline, pools: &[(&ListedPool, &Vec<Verdict>)]) -> anyhow::Result<Outcome> {
    let (mut failures, mut told_apart) = (Vec::new(), false);
    for (pool, _) in pools.iter().filter(|(pool, _)| pool.units.len() > 1) {
        for ill in [None, pool.units.first(), pool.units.last()] {
            let ask = |units: &[ListedUnit]| -> anyhow::Result<_> {
                let bench = subject.bench()?;
                let (verdicts, _) = subject
                    .meddled()
                    .under(deaf(baseline, ill), || bench.health(pool.asked(), units));
                Ok(verdicts)
            };
            let backwards: Vec<_> = pool.units.iter().rev().cloned().collect();
            let (Ok(forward), turned) = (ask(&pool.units)?, ask(&backwards)?) else {
                continue;
            };
            told_apart |= forward.iter().any(|verdict| Some(verdict) != forward.first());
            let turned = turned.map(|turned| turned.into_iter().rev().collect::<Vec<_>>());
            if turned.as_ref() != Ok(&forward) {
                failures.push(format!(
                    "{forward:?} forward, {} backwards, of {}",
                    shown(&turned),
                    pool.resource
                ));
            }
        }
    }
    Ok(if failures.is_empty() && !told_apart {
        Outcome::skipped("the verdicts on all units are the same, so that their order cannot be seen")
    } else {
        Outcome::of("each pool forward and backwards", failures)
    })
}

/// Nothing of what one unit has to do with can be read.
fn deaf(baseline: &Baseline, ill: Option<&ListedUnit>) -> Script {
    let Some(ill) = ill else {
        return Script::default();
    };
    let asked = baseline.calls.iter().flat_map(|(_, _, seen)| &seen.asked);
    let its = asked.map(|asked| &asked.thing).filter(|thing| {
        let readable = matches!(thing.kind, Kind::Attribute | Kind::File | Kind::Link | Kind::Entries);
        readable && baseline.touches(thing, ill)
    });
    let its: BTreeSet<_> = its.cloned().collect();
    Script {
        answer: Some(Box::new(move |thing| {
            let failure = || Instead::failure(FailureKind::Io, "EIO", "Input/output error");
            its.contains(thing).then(failure)
        })),
        ..Script::default()
    }
}
