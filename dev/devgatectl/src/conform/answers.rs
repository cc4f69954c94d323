//! What the component answers on the node as recorded.

use super::meddler::Script;
use super::sheet::{Outcome, Rule, Sheet};
use super::subject::{Baseline, Call, Given, Subject, named};
use devgate_core::bench::ListedUnit;
use devgate_types::{Verdict, escape};
use std::collections::BTreeSet;

/// The most units that are allocated one by one.
const MOST_ALLOCATED: usize = 64;

const UNITS: Rule = Rule {
    id: "answers.units",
    title: "Lists units on the recorded node",
    expected: "enumerate lists at least one unit",
    remedy: "record a node that has the hardware, or look at what the policy grants there (`devgate check --run`, `devgate explain`)",
};
const GATE: Rule = Rule {
    id: "answers.gate",
    title: "Every unit passes the gate",
    expected: "no pool and no unit is rejected: ids of 1 to 63 bytes, each once, resources, backing and nodes that the policy grants",
    remedy: "the message says which rule it breaks; docs/policy.md has the keys, wit/types.wit the lengths",
};
const HEALTH: Rule = Rule {
    id: "answers.health",
    title: "Gives a verdict on every unit",
    expected: "at least one unit is healthy on the recorded node",
    remedy: "record a node that is well; the first verdict that is not is shown",
};
const ALLOCATE: Rule = Rule {
    id: "answers.allocate",
    title: "Every healthy unit can be allocated",
    expected: "allocate succeeds for each healthy unit alone and for all of a pool together, with values that the policy's containers: rules expect",
    remedy: "make the component's environment, annotations and CDI names and the policy's containers: say the same",
};
const SOMETHING: Rule = Rule {
    id: "answers.something",
    title: "An allocation gives something",
    expected: "each healthy unit gives a node, a mount, a CDI name or a variable: a unit that gives nothing is of no use",
    remedy: "offer nodes in the policy (hardware: nodes, host-nodes) and put their handles into the unit",
};
const AGAIN: Rule = Rule {
    id: "answers.again",
    title: "Says the same twice",
    expected: "enumerate, health and allocate give the same for the same, order included",
    remedy: "no counters, clocks or random numbers in what is answered; sort what comes out of hash maps",
};
const ALONE: Rule = Rule {
    id: "answers.alone",
    title: "Needs no call before another",
    expected: "health and allocate give the same in a host that has never called enumerate",
    remedy: "each call is a fresh instance: put what it needs into the unit's properties, or read it again",
};
const PROPERTIES: Rule = Rule {
    id: "answers.properties",
    title: "Properties are for people",
    expected: "no property's name or value is empty, has control characters, or takes a name of the host's (devgate.…)",
    remedy: "trim and check what is read before it becomes a property; leave out what is not known",
};
const ASKS: Rule = Rule {
    id: "answers.asks",
    title: "Asks for nothing that it is not granted",
    expected: "no file, mount or host path is refused on the recorded node: each refusal is a warning in the admin's log",
    remedy: "grant it in the policy, or ask only where the configuration says so",
};
pub(super) const RULES: &[&Rule] = &[
    &UNITS,
    &GATE,
    &HEALTH,
    &ALLOCATE,
    &SOMETHING,
    &AGAIN,
    &ALONE,
    &PROPERTIES,
    &ASKS,
];

/// Where the component does not even answer on the node as recorded.
pub(super) fn failed(sheet: &mut Sheet<'_>, why: &str) {
    sheet.check(&UNITS, || {
        Outcome::of("enumerate, health and allocate", vec![why.to_owned()])
    });
}

pub(super) fn run(subject: &Subject, baseline: &Baseline, sheet: &mut Sheet<'_>) -> anyhow::Result<()> {
    let count = baseline.units().count();
    let pools: Vec<_> = baseline
        .listed
        .pools
        .iter()
        .map(|pool| pool.resource.to_string())
        .collect();
    sheet.check(&UNITS, || {
        let failures = if count == 0 {
            vec!["enumerate lists no unit".to_owned()]
        } else {
            Vec::new()
        };
        Outcome::of(format!("{count} units of {}", pools.join(", ")), failures)
    });
    sheet.check(&GATE, || {
        let rejected = baseline.listed.rejected.iter().map(ToString::to_string);
        Outcome::of(format!("{count} units passed"), rejected.collect())
    });
    if count > 0 {
        sheet.check(&HEALTH, || health(baseline));
        if sheet.wants(&ALLOCATE) || sheet.wants(&SOMETHING) {
            let (allocate, something) = allocate(subject, baseline)?;
            sheet.check(&ALLOCATE, || allocate);
            sheet.check(&SOMETHING, || something);
        }
        sheet.check(&PROPERTIES, || properties(baseline));
    }
    if sheet.wants(&AGAIN) {
        let bench = subject.bench()?;
        let calls: Vec<_> = baseline.calls.iter().map(|(call, ..)| call.clone()).collect();
        let mut failures = differences(subject, baseline, &bench, &calls);
        // In the same host, which may have kept something.
        failures.extend(differences(subject, baseline, &bench, &calls));
        sheet.check(&AGAIN, || {
            Outcome::of(format!("{} calls made twice more", calls.len()), failures)
        });
    }
    if sheet.wants(&ALONE) {
        let calls: Vec<_> = baseline.calls.iter().map(|(call, ..)| call.clone()).collect();
        let calls: Vec<_> = calls
            .into_iter()
            .filter(|call| *call != Call::Enumerate)
            .rev()
            .collect();
        let mut failures = Vec::new();
        for call in &calls {
            let bench = subject.bench()?;
            failures.extend(differences(subject, baseline, &bench, std::slice::from_ref(call)));
        }
        let tried = format!("{} calls, each in a host that had called nothing", calls.len());
        let outcome = if calls.is_empty() {
            Outcome::skipped("there is no unit to ask about")
        } else {
            Outcome::of(tried, failures)
        };
        sheet.check(&ALONE, || outcome);
    }
    if sheet.wants(&ASKS) {
        let bench = subject.bench()?;
        for (call, ..) in &baseline.calls {
            let _ = subject.call(&bench, &baseline.listed.pools, call, Script::default());
        }
        let refused = bench
            .lines()
            .into_iter()
            .filter(|line| line.refusal)
            .map(|line| line.text);
        let failures = refused.collect();
        sheet.check(&ASKS, || {
            Outcome::of(format!("{} calls", baseline.calls.len()), failures)
        });
    }
    Ok(())
}

fn health(baseline: &Baseline) -> Outcome {
    let healthy = baseline
        .judged()
        .filter(|(_, _, verdict)| **verdict == Verdict::Healthy)
        .count();
    let mut failures = Vec::new();
    if healthy == 0 {
        let why = baseline.judged().find_map(|(_, unit, verdict)| match verdict {
            Verdict::Unhealthy(why) | Verdict::Unknown(why) => {
                Some(format!("no unit is healthy; {}: {}", named(unit), escape(why, 256)))
            }
            Verdict::Healthy => None,
        });
        failures.extend(why);
    }
    Outcome::of(
        format!("{healthy} of {} units are healthy", baseline.units().count()),
        failures,
    )
}

fn allocate(subject: &Subject, baseline: &Baseline) -> anyhow::Result<(Outcome, Outcome)> {
    let bench = subject.bench()?;
    let (mut failures, mut nothing, mut tries) = (Vec::new(), Vec::new(), 0);
    for (pool, verdicts) in baseline.listed.pools.iter().zip(&baseline.verdicts) {
        let units = pool.units.iter().zip(verdicts);
        let healthy: Vec<ListedUnit> = units
            .filter(|(unit, verdict)| {
                **verdict == Verdict::Healthy && !baseline.listed.contested.contains_key(unit.id())
            })
            .map(|(unit, _)| unit.clone())
            .collect();
        for unit in healthy.iter().take(MOST_ALLOCATED) {
            tries += 1;
            match bench.allocate(pool, std::slice::from_ref(unit)) {
                Ok(reply) => {
                    let gives = !reply.nodes.is_empty()
                        || !reply.mounts.is_empty()
                        || !reply.cdi.is_empty()
                        || !reply.env.is_empty();
                    if !gives {
                        nothing.push(format!("{} gives nothing", named(unit)));
                    }
                }
                Err(why) => failures.push(format!("{}: {why}", named(unit))),
            }
        }
        if healthy.len() > 1 && !subject.policy.shares_hardware {
            tries += 1;
            if let Err(why) = bench.allocate(pool, &healthy) {
                failures.push(format!("all {} of {}: {why}", healthy.len(), pool.resource));
            }
        }
    }
    if tries == 0 {
        let why = "no unit is healthy";
        return Ok((Outcome::skipped(why), Outcome::skipped(why)));
    }
    let tried = format!("{tries} allocations");
    Ok((Outcome::of(tried.clone(), failures), Outcome::of(tried, nothing)))
}

fn properties(baseline: &Baseline) -> Outcome {
    let mut names = BTreeSet::new();
    let mut failures = Vec::new();
    for (_, unit) in baseline.units() {
        for (name, value) in unit.properties() {
            names.insert(escape(name, 40));
            let problem = if name.starts_with("devgate.") {
                "takes a name of the host's"
            } else if value.trim().is_empty() {
                "is empty"
            } else if name.chars().chain(value.chars()).any(char::is_control) {
                "has control characters"
            } else {
                continue;
            };
            failures.push(format!("property {} of {} {problem}", escape(name, 80), named(unit)));
        }
    }
    let names: Vec<_> = names.into_iter().collect();
    Outcome::of(
        format!(
            "properties: {}",
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        ),
        failures,
    )
}

/// Which of these calls give something else than they did.
fn differences(
    subject: &Subject,
    baseline: &Baseline,
    bench: &devgate_core::bench::Bench,
    calls: &[Call],
) -> Vec<String> {
    let mut failures = Vec::new();
    for call in calls {
        let before = baseline
            .calls
            .iter()
            .find(|(made, ..)| made == call)
            .map(|(_, given, _)| given);
        let (now, _) = subject.call(bench, &baseline.listed.pools, call, Script::default());
        match (&now, before) {
            (Ok(now), Some(before)) if now == before => {}
            (Ok(now), Some(before)) => {
                failures.push(format!("{call} gave something else: {}", difference(before, now)))
            }
            (Err(error), _) => failures.push(format!("{call} {error}")),
            (Ok(_), None) => {}
        }
    }
    failures
}

fn difference(before: &Given, now: &Given) -> String {
    let of = |given: &Given| match given {
        Given::Listed(listed) => {
            let units = listed.pools.iter().flat_map(|pool| &pool.units);
            units
                .map(|unit| format!("{} {:?}", named(unit), unit.properties()))
                .collect::<Vec<_>>()
        }
        Given::Verdicts(verdicts) => verdicts.iter().map(|verdict| format!("{verdict:?}")).collect(),
        Given::Allocated(reply) => vec![format!("{reply:?}")],
        Given::Done => Vec::new(),
    };
    let (before, now) = (of(before), of(now));
    if before.len() != now.len() {
        return format!("{} and then {}", before.len(), now.len());
    }
    let other = before.iter().zip(&now).find(|(before, now)| before != now);
    other.map_or_else(
        || "in another order, or of other hardware".to_owned(),
        |(before, now)| format!("{} and then {}", escape(before, 200), escape(now, 200)),
    )
}
