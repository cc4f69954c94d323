//! A thousand devices: those of the recording, and copies of one of them.

use super::harness::{Call, Called, Function, Given, Harness, broke, named};
use super::scorecard::{Outcome, Scorecard};
use super::synthetic_devices::Template;
use crate::fault_injector::{Script, Seen};
use devgate_core::workbench::ListedPool;
use devgate_fake_node::{Change, RecordedNode};
use devgate_types::Verdict;
use std::time::Duration;

/// How many copies are made, and how many to compare with.
const MANY: usize = 1_000;
const SOME: usize = 100;
/// How much more than ten times as much ten times as many may take.
const SLACK: usize = 2;
/// A debug build of this program, a busy machine: what is measured is the component.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A node with copies, and what the component did there.
struct Crowd {
    node: RecordedNode,
    pools: Vec<ListedPool>,
    enumerate: (Called, Seen),
    health: (Called, Seen),
}

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    let Some((template, of, pool)) = template(harness)? else {
        let why = "no unit has nodes or hardware of the device tree that could be copied";
        return Ok(Some(why.to_owned()));
    };
    let crowds = (crowd(harness, &template, pool, MANY)?, crowd(harness, &template, pool, SOME)?);
    let (Some(many), Some(some)) = crowds else {
        return Ok(Some(format!("{of} cannot be copied: its parts have names of their own")));
    };
    let units: usize = many.pools.iter().map(|pool| pool.units.len()).sum();
    let found = units.saturating_sub(harness.units().count());
    let tried = format!("{found} more units with {MANY} copies of {of}");
    let failures = match &many.enumerate.0 {
        Err(why) => vec![format!("enumerate {why}")],
        Ok(Given::Listed(listed)) => listed.rejected.iter().map(ToString::to_string).collect(),
        Ok(_) => Vec::new(),
    };
    if found < MANY && failures.is_empty() {
        let why = format!("{tried}: the component finds more in a device than its part of the device tree");
        return Ok(Some(why));
    }
    card.record("scale.lists", Outcome::of(tried, failures));
    if many.pools.is_empty() {
        return Ok(Some("it does not list them".to_owned()));
    }
    let why = many.health.0.as_ref().err().map(|why| format!("health {why}"));
    card.record("scale.health", Outcome::of(format!("{units} units"), why));
    card.check("scale.allocate", || allocate(harness, &many, pool))?;
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
    let mut limits = bench.limits().clone();
    (limits.cpu, limits.deadline) = (TIMEOUT, TIMEOUT);
    let call = |pools: &[ListedPool], call| harness.call_about(&bench, pools, call, Script::limited(limits.clone()));
    let enumerate = call(&[], Call::of(Function::Enumerate, 0, 0));
    let pools = match &enumerate.0 {
        Ok(Given::Listed(listed)) => listed.pools.clone(),
        _ => Vec::new(),
    };
    let health = call(&pools, Call::of(Function::Health, pool, 0));
    Ok(Some(Crowd { node, pools, enumerate, health }))
}

fn allocate(harness: &Harness, many: &Crowd, pool: usize) -> anyhow::Result<Outcome> {
    let bench = harness.bench_on(&many.node)?;
    let call = Call::of(Function::Allocate, pool, 0);
    let (called, seen) = harness.call_about(&bench, &many.pools, call, Script::default());
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
    let counts = |crowd: &Crowd| {
        [&crowd.enumerate.1, &crowd.health.1]
            .map(|seen| (seen.asked.len(), usize::try_from(seen.read).unwrap_or(usize::MAX)))
    };
    let ([enumerate, health], [enumerate_some, health_some]) = (counts(many), counts(some));
    let rows = [
        ("questions of enumerate", enumerate_some.0, enumerate.0),
        ("bytes of enumerate", enumerate_some.1, enumerate.1),
        ("questions of health", health_some.0, health.0),
        ("bytes of health", health_some.1, health.1),
    ];
    let shown = |(what, some, many): &(&str, usize, usize)| {
        format!("{what}: {some} for {SOME} more devices and {many} for {MANY}")
    };
    // Few of anything prove nothing.
    let worse = rows.iter().filter(|(_, some, many)| *many > (*some).max(20) * MANY / SOME * SLACK);
    Outcome::of(rows.each_ref().map(shown).join(", "), worse.map(shown))
}
