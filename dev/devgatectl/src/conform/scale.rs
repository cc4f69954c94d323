//! A thousand devices: those of the recording, and copies of one of them.

use super::clone::Template;
use super::meddler::{Script, Seen};
use super::sheet::{Outcome, Rule, Sheet};
use super::subject::{Baseline, Call, Given, Subject, broke, named};
use devgate_core::bench::{Listed, ListedPool};
use devgate_fake_node::{Change, RecordedNode};
use devgate_node::Node;
use devgate_types::{Limits, Verdict};
use std::time::Duration;

/// How many copies are made, and how many to compare with.
const MANY: usize = 1_000;
const SOME: usize = 100;
/// How much more than ten times as much ten times as many may take.
const SLACK: u64 = 2;
/// Less than this is as good as nothing.
const LEAST: Duration = Duration::from_millis(5);
/// A debug build of this program, a busy machine: what is measured is the component.
const PATIENCE: Duration = Duration::from_secs(120);

const LISTS: Rule = Rule {
    id: "scale.lists",
    title: "Lists a thousand units",
    expected: "all copies of a device are listed and pass the gate, within the limits of the policy",
    remedy: "ask less for each device; free what is not needed any more (devgate-sdk without default features) or raise limits.memory",
};
const HEALTH: Rule = Rule {
    id: "scale.health",
    title: "Judges a thousand units",
    expected: "health gives a verdict on each, within the limits of the policy",
    remedy: "ask less for each unit: look at the node once for all units, not once for each",
};
const ALLOCATE: Rule = Rule {
    id: "scale.allocate",
    title: "Allocates one of a thousand",
    expected: "allocate takes no more questions than on the recorded node",
    remedy: "look at the units that are asked for, not at the whole node",
};
const LINEAR: Rule = Rule {
    id: "scale.linear",
    title: "Ten times the devices take ten times as much",
    expected: "enumerate and health ask at most twenty times as many questions for 1,000 devices as for 100, and read as many bytes",
    remedy: "a loop over all devices for each device: make a map of them first",
};
const TIME: Rule = Rule {
    id: "scale.time",
    title: "The component's own time grows with the devices, not with their square",
    expected: "enumerate and health of 1,000 devices take at most thirty times the component's own processor time of 100",
    remedy: "a sorted vector or map instead of a search for each",
};
pub(super) const RULES: &[&Rule] = &[&LISTS, &HEALTH, &ALLOCATE, &LINEAR, &TIME];

/// A node with copies, and what the component did there.
struct Crowd {
    listed: Result<Listed, String>,
    enumerate: Seen,
    health: Result<Vec<Verdict>, String>,
    judged: Seen,
}

pub(super) fn run(subject: &Subject, baseline: &Baseline, sheet: &mut Sheet<'_>) -> anyhow::Result<Option<String>> {
    let Some((template, of, pool)) = template(subject, baseline)? else {
        return Ok(Some(
            "no unit has nodes or hardware of the device tree that could be copied".to_owned(),
        ));
    };
    let Some((node, many)) = crowd(subject, &template, pool, MANY)? else {
        return Ok(Some(format!(
            "{of} cannot be copied: its parts have names of their own"
        )));
    };
    let Some((_, some)) = crowd(subject, &template, pool, SOME)? else {
        return Ok(None);
    };
    let found = many
        .listed
        .as_ref()
        .map_or(0, |listed| count(listed).saturating_sub(baseline.units().count()));
    let tried = format!("{found} more units with {MANY} copies of {of}");
    if let Ok(listed) = &many.listed
        && found < MANY
        && listed.rejected.is_empty()
    {
        return Ok(Some(format!(
            "{tried}: the component finds more in a device than its part of the device tree"
        )));
    }
    sheet.check(&LISTS, || {
        let failures = match &many.listed {
            Err(why) => vec![format!("enumerate {why}")],
            Ok(listed) => listed.rejected.iter().map(ToString::to_string).collect(),
        };
        Outcome::of(tried.clone(), failures)
    });
    let Ok(listed) = &many.listed else {
        return Ok(Some("it does not list them".to_owned()));
    };
    sheet.check(&HEALTH, || {
        let units = many.health.as_ref().map_or(0, Vec::len);
        Outcome::of(
            format!("{units} verdicts"),
            many.health
                .as_ref()
                .err()
                .map(|why| format!("health {why}"))
                .into_iter()
                .collect(),
        )
    });
    if sheet.wants(&ALLOCATE) {
        let outcome = allocate(subject, baseline, &node, listed, pool)?;
        sheet.check(&ALLOCATE, || outcome);
    }
    sheet.check(&LINEAR, || linear(&many, &some));
    sheet.check(&TIME, || time(&many, &some));
    Ok(None)
}

fn count(listed: &Listed) -> usize {
    listed.pools.iter().map(|pool| pool.units.len()).sum()
}

/// A healthy unit that is made of one device, its name, and the number of its pool.
fn template(subject: &Subject, baseline: &Baseline) -> anyhow::Result<Option<(Template, String, usize)>> {
    let recording = subject.node.text()?;
    let healthy = baseline
        .judged()
        .filter(|(_, unit, verdict)| **verdict == Verdict::Healthy && unit.backing().len() == 1);
    for (pool, unit, _) in healthy {
        let free = unit.nodes().iter().any(|node| node.owner.is_none());
        let (Some(device), false) = (unit.backing().first(), free) else {
            continue;
        };
        let place = baseline
            .listed
            .pools
            .iter()
            .position(|other| other.resource == pool.resource);
        if let (Some(template), Some(place)) = (Template::of(&recording, device.location()), place) {
            return Ok(Some((template, named(unit), place)));
        }
    }
    Ok(None)
}

/// Nothing where the copies cannot be.
fn crowd(
    subject: &Subject,
    template: &Template,
    pool: usize,
    copies: usize,
) -> anyhow::Result<Option<(RecordedNode, Crowd)>> {
    let node = subject.copy();
    if node.apply(Change::AddDevices(template.copies(copies))).is_err() {
        return Ok(None);
    }
    let bench = subject.bench_on(&node)?;
    let limits = bench.limits().clone();
    let patient = || {
        Script::limited(Limits {
            cpu: PATIENCE,
            deadline: PATIENCE,
            ..limits.clone()
        })
    };
    let (listed, enumerate) = subject.call(&bench, &[], &Call::Enumerate, patient());
    let listed = match listed {
        Ok(Given::Listed(listed)) => Ok(listed),
        Ok(_) => Err("gave no list".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let pools: &[ListedPool] = listed.as_ref().map_or(&[], |listed| &listed.pools);
    let (health, judged) = match pools.get(pool) {
        Some(_) => subject.call(&bench, pools, &Call::Health(pool), patient()),
        None => (Ok(Given::Verdicts(Vec::new())), Seen::default()),
    };
    let health = match health {
        Ok(Given::Verdicts(verdicts)) => Ok(verdicts),
        Ok(_) => Ok(Vec::new()),
        Err(error) => Err(error.to_string()),
    };
    let crowd = Crowd {
        listed,
        enumerate,
        health,
        judged,
    };
    Ok(Some((node, crowd)))
}

fn allocate(
    subject: &Subject,
    baseline: &Baseline,
    node: &Node,
    listed: &Listed,
    pool: usize,
) -> anyhow::Result<Outcome> {
    let bench = subject.bench_on(node)?;
    let call = Call::Allocate(pool, 0);
    let (result, seen) = subject.call(&bench, &listed.pools, &call, Script::default());
    let before = baseline
        .calls
        .iter()
        .filter(|(call, ..)| matches!(call, Call::Allocate(n, _) if *n == pool));
    let before = before.map(|(_, _, seen)| seen.asked.len()).max();
    let Some(before) = before else {
        return Ok(Outcome::skipped("no unit of it can be allocated on the recorded node"));
    };
    let mut failures: Vec<_> = broke(&result)
        .map(|how| format!("allocate {how}"))
        .into_iter()
        .collect();
    let asked = seen.asked.len();
    if asked > before.max(1) * 4 {
        failures.push(format!("{asked} questions, {before} on the recorded node"));
    }
    Ok(Outcome::of(
        format!("{asked} questions, {before} on the recorded node"),
        failures,
    ))
}

fn linear(many: &Crowd, some: &Crowd) -> Outcome {
    let mut failures = Vec::new();
    let mut tried = Vec::new();
    let factor = u64::try_from(MANY / SOME).unwrap_or(u64::MAX) * SLACK;
    let questions = |seen: &Seen| u64::try_from(seen.asked.len()).unwrap_or(u64::MAX);
    for (call, many, some) in [
        ("enumerate", &many.enumerate, &some.enumerate),
        ("health", &many.judged, &some.judged),
    ] {
        for (what, many, some) in [
            ("questions", questions(many), questions(some)),
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

fn time(many: &Crowd, some: &Crowd) -> Outcome {
    let mut failures = Vec::new();
    let mut tried = Vec::new();
    for (call, many, some) in [
        ("enumerate", &many.enumerate, &some.enumerate),
        ("health", &many.judged, &some.judged),
    ] {
        let (many, some) = (many.own(), some.own());
        tried.push(format!("{call}: {some:?} and {many:?}"));
        if many > some.max(LEAST) * 30 {
            failures.push(format!(
                "{call} takes {some:?} of its own for {SOME} more devices and {many:?} for {MANY}"
            ));
        }
    }
    Outcome::of(tried.join(", "), failures)
}
