//! What the component answers on the node as recorded.

use super::harness::{Call, Given, Harness, named};
use super::scorecard::{Outcome, Scorecard};
use crate::fault_injector::Script;
use devgate_core::workbench::Workbench;
use devgate_types::{Verdict, escape};

/// The most units that are allocated one by one.
const MAX_ALLOCATED: usize = 64;

/// Where the component does not even answer on the node as recorded.
pub(super) fn failed(card: &mut Scorecard, why: &str) {
    let outcome = Outcome::of("enumerate, health and allocate", [why.to_owned()]);
    card.record("answers.units", outcome);
}

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    let count = harness.units().count();
    let pools = harness.listed.pools.iter().map(|pool| pool.resource.to_string());
    let tried = format!("{count} units of {}", pools.collect::<Vec<_>>().join(", "));
    let none = (count == 0).then(|| "enumerate lists no unit".to_owned());
    card.record("answers.units", Outcome::of(tried, none));
    let rejected = harness.listed.rejected.iter().map(ToString::to_string);
    card.record("answers.gate", Outcome::of(format!("{count} units passed"), rejected));
    if count > 0 {
        card.record("answers.health", health(harness));
        allocate(harness, card)?;
        card.record("answers.properties", properties(harness));
    }
    let all = harness.calls.len();
    card.check("answers.again", || {
        // The second time in a host that may have kept something.
        let bench = harness.bench()?;
        let twice = harness.calls.iter().chain(&harness.calls);
        let failures = twice.filter_map(|(call, before, _)| difference(harness, &bench, *call, before));
        Ok(Outcome::of(format!("{all} calls made twice more"), failures))
    })?;
    if all > 1 {
        card.check("answers.alone", || {
            let mut failures = Vec::new();
            for (call, before, _) in harness.calls.iter().skip(1).rev() {
                failures.extend(difference(harness, &harness.bench()?, *call, before));
            }
            let tried = format!("{} calls, each in a host that had called nothing", all - 1);
            Ok(Outcome::of(tried, failures))
        })?;
    }
    card.check("answers.asks", || {
        let bench = harness.bench()?;
        for (call, ..) in &harness.calls {
            let _ = harness.call(&bench, *call, Script::default());
        }
        let refused = bench.lines().into_iter().filter(|line| line.refusal);
        Ok(Outcome::of(format!("{all} calls"), refused.map(|line| line.text)))
    })?;
    Ok(None)
}

fn health(harness: &Harness) -> Outcome {
    let is_healthy = |verdict: &Verdict| *verdict == Verdict::Healthy;
    let healthy = harness.judged().filter(|(.., verdict)| is_healthy(verdict)).count();
    let why = harness.judged().find_map(|(_, unit, verdict)| match verdict {
        Verdict::Unhealthy(why) | Verdict::Unknown(why) if healthy == 0 => {
            Some(format!("no unit is healthy; {}: {}", named(unit), escape(why, 256)))
        }
        _ => None,
    });
    Outcome::of(format!("{healthy} of {} units are healthy", harness.units().count()), why)
}

/// Allocates each healthy unit, and all of a pool.
fn allocate(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<()> {
    let bench = harness.bench()?;
    let (mut failures, mut nothing, mut tries) = (Vec::new(), Vec::new(), 0);
    for (pool, verdicts) in harness.pools() {
        let units = pool.units.iter().zip(verdicts);
        let healthy = units.filter(|(unit, verdict)| {
            **verdict == Verdict::Healthy && !harness.listed.contested.contains_key(&unit.id)
        });
        let healthy: Vec<_> = healthy.map(|(unit, _)| unit.clone()).collect();
        for unit in healthy.iter().take(MAX_ALLOCATED) {
            tries += 1;
            match bench.allocate(pool, std::slice::from_ref(unit), &[]) {
                Ok(reply) if !reply.nodes.is_empty() || !reply.mounts.is_empty() => {}
                Ok(reply) if !reply.cdi.is_empty() || !reply.env.is_empty() => {}
                Ok(_) => nothing.push(format!("{} gives nothing", named(unit))),
                Err(why) => failures.push(format!("{}: {why}", named(unit))),
            }
        }
        if healthy.len() > 1 && !harness.policy.shares_hardware {
            tries += 1;
            let why = bench.allocate(pool, &healthy, &[]).err();
            failures.extend(why.map(|why| format!("all {} of {}: {why}", healthy.len(), pool.resource)));
        }
    }
    for (id, failures) in [("answers.allocate", failures), ("answers.something", nothing)] {
        let outcome = match tries {
            0 => Outcome::skipped("no unit is healthy"),
            _ => Outcome::of(format!("{tries} allocations"), failures),
        };
        card.record(id, outcome);
    }
    Ok(())
}

fn properties(harness: &Harness) -> Outcome {
    let mut all = Vec::new();
    for (_, unit) in harness.units() {
        all.extend(unit.properties.iter().map(|(name, value)| (unit, name, value)));
    }
    let failures = all.iter().filter_map(|(unit, name, value)| {
        let problem = match () {
            () if name.starts_with("devgate.") => "takes a name of the host's",
            () if value.trim().is_empty() => "is empty",
            () if name.chars().chain(value.chars()).any(char::is_control) => "has control characters",
            () => return None,
        };
        Some(format!("property {} of {} {problem}", escape(name, 80), named(unit)))
    });
    Outcome::of(format!("{} properties", all.len()), failures)
}

/// How a call gives something else than it did.
fn difference(harness: &Harness, bench: &Workbench, call: Call, before: &Given) -> Option<String> {
    let now = match harness.call(bench, call, Script::default()).0 {
        Ok(now) if now == *before => return None,
        Ok(now) => format!("{now:?}"),
        Err(error) => return Some(format!("{call} {error}")),
    };
    let before = format!("{before:?}");
    let same = before.chars().zip(now.chars()).take_while(|(before, now)| before == now);
    let from = same.count().saturating_sub(40);
    let part = |text: &str| escape(&text.chars().skip(from).collect::<String>(), 200);
    Some(format!("{call} gave something else: … {} and then … {}", part(&before), part(&now)))
}
