//! Everything that the component reads, one query at a time, as it should not be.

use super::harness::{Call, Called, Dependency, Function, Given, Harness, broke, named};
use super::scorecard::{Outcome, Scorecard};
use super::values::{FAILURES, TEXTS, fakes};
use crate::fault_injector::Script;
use crate::query::Kind;
use std::collections::BTreeSet;

/// The most queries of one kind that are tried; more than any component makes of different shapes.
const MAX_QUERIES: usize = 64;

/// What is looked for by a name, and not on a device.
const PLACES: [Kind; 5] = [Kind::Devices, Kind::Device, Kind::HostPath, Kind::Log, Kind::State];
const PARTS: [Kind; 5] = [Kind::Driver, Kind::Numa, Kind::Parent, Kind::Children, Kind::Nodes];

pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    for text in TEXTS {
        let id = format!("garbage.{text}");
        let kinds = [Kind::Attribute, Kind::File];
        card.check(&id, || each(harness, &kinds, &[text], "attribute or file"))?;
    }
    let strange = ["empty", "multibyte", "control", "cut", "separators"];
    let entries = [Kind::Entries, Kind::FileEntries];
    for (id, kinds, more, what) in [
        ("garbage.links", &[Kind::Link][..], &strange[..], "link"),
        ("garbage.entries", &entries, &["names"], "directory"),
        ("garbage.parts", &PARTS, &["nothing"], "part of a device"),
        ("garbage.places", &PLACES, &["nothing"], "place"),
    ] {
        let ways = [&FAILURES[..], more].concat();
        card.check(id, || each(harness, kinds, &ways, what))?;
    }
    Ok(None)
}

/// Fakes each answer of some kinds in some ways, in every call that asks.
fn each(harness: &Harness, kinds: &[Kind], ways: &[&str], what: &str) -> anyhow::Result<Outcome> {
    let dependencies = harness.dependencies(kinds);
    if dependencies.is_empty() {
        return Ok(Outcome::skipped(format!("the component asks for no {what}")));
    }
    let (mut tries, mut failures) = (0, Vec::new());
    let mut bench = harness.bench()?;
    for dependency in dependencies.iter().take(MAX_QUERIES) {
        let query = &dependency.query;
        for fake in ways.iter().flat_map(|way| fakes(way, dependency.text.as_deref())) {
            for call in calls(harness, dependency) {
                tries += 1;
                if harness.policy.state {
                    // What it was made to believe lasts no longer than it.
                    bench = harness.bench()?;
                }
                let (called, _) = harness.call(&bench, call, Script::fake(query.clone(), fake.clone()));
                let wrong = wrong(harness, dependency, call, &called);
                failures.extend(wrong.map(|wrong| format!("{wrong}, when {query} was {fake}")));
            }
        }
    }
    let tried = dependencies.iter().take(MAX_QUERIES);
    let names: BTreeSet<_> = tried.map(|dependency| dependency.query.to_string()).collect();
    let more = match dependencies.len().saturating_sub(MAX_QUERIES) {
        0 => String::new(),
        more => format!(" (and {more} more, not tried)"),
    };
    let (changed, shown) = (names.len(), names.into_iter().take(3).collect::<Vec<_>>().join(", "));
    let tried = format!("{tries} calls, with {changed} of them changed{more}: {shown}, …");
    Ok(Outcome::of(tried, failures))
}

/// The calls that make a query, about a unit that it has to do with.
fn calls(harness: &Harness, dependency: &Dependency) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for call in &dependency.calls {
        let units = harness.listed.pools.get(call.pool).map(|pool| &pool.units);
        let related = units.and_then(|units| units.iter().position(|unit| harness.is_related(&dependency.query, unit)));
        let call = Call::of(call.function, call.pool, related.unwrap_or(call.unit));
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
    calls
}

/// What is wrong with what a call gave while the answer to one query was a fake.
fn wrong(harness: &Harness, dependency: &Dependency, call: Call, called: &Called) -> Option<String> {
    if let Some(how) = broke(called) {
        return Some(format!("{call} {how}"));
    }
    let query = &dependency.query;
    let others = harness.unrelated(query);
    if PLACES.contains(&query.kind) || others.is_empty() {
        return None;
    }
    match called {
        Err(error) if matches!(call.function, Function::Enumerate | Function::Health) => {
            let others = others.len();
            Some(format!("{call} {error}, and so takes {others} other units away"))
        }
        Ok(Given::Listed(listed)) => {
            let lost = harness.lost(query, listed)?;
            let mut rejected = listed.rejected.iter();
            let why = rejected.find(|other| other.what.contains(lost.id.as_str()));
            let why = why.map(|why| format!(" ({})", why.why)).unwrap_or_default();
            Some(format!("enumerate does not list {} any more{why}", named(lost)))
        }
        Ok(Given::Verdicts(verdicts)) => {
            let other = harness.misjudged(query, call.pool, verdicts)?;
            Some(format!("health of {other}"))
        }
        _ => None,
    }
}
