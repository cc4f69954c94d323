//! A device that goes away, also in the middle of a call.

use super::harness::{Call, Function, Given, Harness, broke, listed_units, named, unplug};
use super::scorecard::{Outcome, Scorecard};
use crate::fault_injector::Script;
use devgate_core::workbench::{Listed, ListedUnit};

/// The most moments of one call that are tried, spread over all of it.
const MAX_MOMENTS: usize = 40;

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    let units: Vec<_> = harness.units().map(|(_, unit)| unit).collect();
    let mut ends: Vec<_> = units.first().into_iter().chain(units.last()).copied().collect();
    ends.dedup();
    ends.retain(|unit| harness.without(unit).is_some());
    if ends.is_empty() {
        return Ok(None);
    }
    for id in ["unplug.enumerate", "unplug.health", "unplug.allocate"] {
        card.check(id, || {
            let (mut tries, mut failures) = (0, Vec::new());
            for (call, _, seen) in harness.calls.iter().filter(|(call, ..)| check_of(*call) == id) {
                for unit in &ends {
                    for n in moments(seen.asked.len()) {
                        tries += 1;
                        failures.extend(unplug_at(harness, *call, unit, n)?);
                    }
                }
            }
            Ok(match tries {
                0 => Outcome::skipped("the component asks the host nothing in it"),
                _ => Outcome::of(format!("{tries} moments, with {} devices", ends.len()), failures),
            })
        })?;
    }
    let (mut gone, mut back) = (Vec::new(), Vec::new());
    for unit in &ends {
        let node = harness.node.copy();
        // The same host all along: what the component keeps is kept.
        let bench = harness.bench_on(&node)?;
        let _before = bench.enumerate();
        unplug(&node, unit);
        let name = named(unit);
        match bench.enumerate() {
            Ok(listed) => gone.extend(changed(harness, &listed, unit)),
            Err(error) => gone.push(format!("enumerate {error}, without {name}")),
        }
        node.become_as(&harness.node);
        match bench.enumerate() {
            Ok(listed) if listed == harness.listed => {}
            Ok(_) => back.push(format!("enumerate gave something else after {name} had come back")),
            Err(error) => back.push(format!("enumerate {error}, after {name} had come back")),
        }
    }
    for (id, failures) in [("unplug.ids", gone), ("unplug.back", back)] {
        card.record(id, Outcome::of(format!("{} devices, one at a time", ends.len()), failures));
    }
    Ok(None)
}

fn check_of(call: Call) -> &'static str {
    match call.function {
        Function::Enumerate => "unplug.enumerate",
        Function::Health => "unplug.health",
        _ => "unplug.allocate",
    }
}

/// Evenly over all questions of a call, the first and the last included.
fn moments(asked: usize) -> Vec<usize> {
    if asked <= MAX_MOMENTS {
        return (0..asked).collect();
    }
    let all = (0..MAX_MOMENTS).map(|n| n * (asked - 1) / (MAX_MOMENTS - 1));
    all.collect()
}

/// What is wrong with a call before whose n-th question a unit is taken away.
fn unplug_at(harness: &Harness, call: Call, unit: &ListedUnit, n: usize) -> anyhow::Result<Option<String>> {
    let node = harness.node.copy();
    let bench = harness.bench_on(&node)?;
    let gone = unit.clone();
    let script = Script::at(n, move || {
        unplug(&node, &gone);
    });
    let (called, _) = harness.call(&bench, call, script);
    let when = format!("when {} went before question {}", named(unit), n + 1);
    if let Some(how) = broke(&called) {
        return Ok(Some(format!("{call} {how}, {when}")));
    }
    let Ok(Given::Listed(listed)) = called else {
        return Ok(None);
    };
    // Fewer are fine in the middle of it all; others are not.
    let is_known = |other: &ListedUnit| harness.units().any(|(_, unit)| unit.id == other.id);
    let other = listed_units(&listed).find(|other| !is_known(other));
    Ok(other.map(|other| format!("enumerate lists {}, which was never there, {when}", named(other))))
}

/// The units that are not what they were, without one that they have nothing to do with.
fn changed(harness: &Harness, listed: &Listed, gone: &ListedUnit) -> Vec<String> {
    let others = harness.units().filter(|(_, unit)| !harness.goes_with(unit, gone));
    let changed = others.filter_map(|(_, unit)| {
        let how = match listed_units(listed).find(|other| other.id == unit.id) {
            None => "is not listed",
            Some(other) if other.backing != unit.backing || other.nodes != unit.nodes => "is other hardware",
            Some(_) => return None,
        };
        Some(format!("{} {how} without {}", named(unit), named(gone)))
    });
    changed.collect()
}

#[cfg(test)]
mod tests;
