//! A thousand devices: those of the recording, and copies of one of them.

use super::fault_injector::{Script, Seen};
use super::harness::{Call, Function, Given, Harness, broke, listed_units, named};
use super::scorecard::{Outcome, Scorecard};
use super::synthetic_devices::Template;
use devgate_core::bench::{Listed, ListedPool};
use devgate_fake_node::{Change, RecordedNode};
use devgate_types::{Limits, Verdict};
use std::time::Duration;

/// How many copies are made, and how many to compare with.
const MANY: usize = 1_000;
const SOME: usize = 100;
/// How much more than ten times as much ten times as many may take.
const SLACK: u64 = 2;
/// A debug build of this program, a busy machine: what is measured is the component.
const PATIENCE: Duration = Duration::from_secs(120);

/// A node with copies, and what the component did there.
struct Crowd {
    node: RecordedNode,
    listed: Result<Listed, String>,
    enumerate: Seen,
    health: Result<Vec<Verdict>, String>,
    judged: Seen,
}

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    let Some((template, of, pool)) = template(harness)? else {
        let why = "no unit has nodes or hardware of the device tree that could be copied";
        return Ok(Some(why.to_owned()));
    };
    let (many, some) = (
        crowd(harness, &template, pool, MANY)?,
        crowd(harness, &template, pool, SOME)?,
    );
    let (Some(many), Some(some)) = (many, some) else {
        return Ok(Some(format!(
            "{of} cannot be copied: its parts have names of their own"
        )));
    };
    let found = many.listed.iter().flat_map(listed_units).count();
    let found = found.saturating_sub(harness.units().count());
    let tried = format!("{found} more units with {MANY} copies of {of}");
    let failures = match &many.listed {
        Err(why) => vec![format!("enumerate {why}")],
        Ok(listed) => listed.rejected.iter().map(ToString::to_string).collect(),
    };
    if found < MANY && failures.is_empty() {
        let why = format!("{tried}: the component finds more in a device than its part of the device tree");
        return Ok(Some(why));
    }
    card.record("scale.lists", Outcome::of(tried, failures));
    let Ok(listed) = &many.listed else {
        return Ok(Some("it does not list them".to_owned()));
    };
    let units = many.health.as_ref().map_or(0, Vec::len);
    let why = many.health.as_ref().err().map(|why| format!("health {why}"));
    card.record("scale.health", Outcome::of(format!("{units} verdicts"), why));
    card.check("scale.allocate", || allocate(harness, &many.node, listed, pool))?;
    card.record("scale.linear", linear(&many, &some));
    Ok(None)
}

/// A healthy unit that is made of one device, its name, and the number of its pool.
fn template(harness: &Harness) -> anyhow::Result<Option<(Template, String, usize)>> {
    let recording = harness.node.text()?;
    for (pool, unit, verdict) in harness.judged() {
        let is_free = unit.nodes.iter().any(|node| node.owner.is_none());
        let ([device], false, Verdict::Healthy) = (unit.backing.as_slice(), is_free, verdict) else {
            continue;
        };
        let mut pools = harness.listed.pools.iter();
        let place = pools.position(|other| other.resource == pool.resource);
        if let (Some(template), Some(place)) = (Template::of(&recording, device.location()), place) {
            return Ok(Some((template, named(unit), place)));
        }
    }
    Ok(None)
}

/// `None` if the copies cannot be.
fn crowd(harness: &Harness, template: &Template, pool: usize, copies: usize) -> anyhow::Result<Option<Crowd>> {
    let node = harness.node.copy();
    if node.apply(Change::AddDevices(template.copies(copies))).is_err() {
        return Ok(None);
    }
    let bench = harness.bench_on(&node)?;
    let call = |pools: &[ListedPool], call| {
        let mut limits: Limits = bench.limits().clone();
        (limits.cpu, limits.deadline) = (PATIENCE, PATIENCE);
        let (called, seen) = harness.call_about(&bench, pools, call, Script::limited(limits));
        (called.map_err(|error| error.to_string()), seen)
    };
    let (listed, enumerate) = call(&[], Call::of(Function::Enumerate, 0, 0));
    let listed = listed.and_then(|given| match given {
        Given::Listed(listed) => Ok(listed),
        _ => Err("gave no list".to_owned()),
    });
    let pools: &[ListedPool] = listed.as_ref().map_or(&[], |listed| &listed.pools);
    let (health, judged) = call(pools, Call::of(Function::Health, pool, 0));
    let health = health.map(|given| match given {
        Given::Verdicts(verdicts) => verdicts,
        _ => Vec::new(),
    });
    Ok(Some(Crowd {
        node,
        listed,
        enumerate,
        health,
        judged,
    }))
}

fn allocate(harness: &Harness, node: &RecordedNode, listed: &Listed, pool: usize) -> anyhow::Result<Outcome> {
    let bench = harness.bench_on(node)?;
    let call = Call::of(Function::Allocate, pool, 0);
    let (called, seen) = harness.call_about(&bench, &listed.pools, call, Script::default());
    let calls = harness.calls.iter();
    let before = calls.filter(|(call, ..)| call.function == Function::Allocate && call.pool == pool);
    let Some(before) = before.map(|(_, _, seen)| seen.asked.len()).max() else {
        return Ok(Outcome::skipped("no unit of it can be allocated on the recorded node"));
    };
    let asked = seen.asked.len();
    let tried = format!("{asked} questions, {before} on the recorded node");
    let more = (asked > before.max(1) * 4).then(|| tried.clone());
    let broke = broke(&called).map(|how| format!("allocate {how}"));
    Ok(Outcome::of(tried, broke.into_iter().chain(more)))
}

fn linear(many: &Crowd, some: &Crowd) -> Outcome {
    let (mut tried, mut failures) = (Vec::new(), Vec::new());
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let factor = number(MANY / SOME) * SLACK;
    for (call, many, some) in [
        ("enumerate", &many.enumerate, &some.enumerate),
        ("health", &many.judged, &some.judged),
    ] {
        for (what, many, some) in [
            ("questions", number(many.asked.len()), number(some.asked.len())),
            ("bytes", many.read, some.read),
        ] {
            tried.push(format!("{call}: {some} and {many} {what}"));
            // Few of anything prove nothing.
            if many > some.max(20) * factor {
                failures.push(format!(
                    "{call} takes {some} {what} for {SOME} more devices and {many} for {MANY}"
                ));
            }
        }
    }
    Outcome::of(tried.join(", "), failures)
}
