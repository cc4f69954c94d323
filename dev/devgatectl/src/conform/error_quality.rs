//! What the component said in all of the battery about what went wrong: errors and reasons are for people.

use super::fault_injector::{Script, WordKind};
use super::harness::{Call, Function, Harness};
use super::scorecard::{Outcome, Scorecard};
use devgate_types::{CallError, Failure, FailureKind, escape};

/// The most bytes that are left of a message and of a reason.
const MESSAGE: usize = 1_024;
const REASON: usize = 256;

/// Checks what was said so far, so this comes last; and what is said of a unit that is gone for good.
pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    let of_gone = of_gone(harness)?;
    let words = harness.injector.words();
    let error = (
        "errors.text",
        WordKind::Error,
        MESSAGE,
        "no call failed in the component's own words",
    );
    let reason = (
        "errors.reasons",
        WordKind::Reason,
        REASON,
        "no verdict was unhealthy or unknown",
    );
    for (id, kind, most, none) in [error, reason] {
        let said: Vec<_> = words.iter().filter(|word| word.kind == kind).collect();
        let problems = said.iter().filter_map(|word| {
            let why = problem(&word.text, word.of_garbage, most)?;
            Some(format!(
                "{} said \"{}\", which {why}",
                word.call,
                escape(&word.text, 120)
            ))
        });
        let outcome = match said.len() {
            0 => Outcome::skipped(none),
            n => Outcome::of(format!("{n} texts"), problems),
        };
        card.record(id, outcome);
    }
    let busy = of_gone.iter().filter(|failure| failure.kind == FailureKind::Busy);
    let busy = busy.map(|failure| format!("busy, of a unit that is gone: {failure}"));
    let outcome = match of_gone.len() {
        0 => Outcome::skipped("no call about a unit that is gone failed"),
        n => Outcome::of(format!("{n} errors about units that are gone"), busy),
    };
    card.record("errors.kind", outcome);
    Ok(None)
}

/// What the component says of units that have been taken away.
fn of_gone(harness: &Harness) -> anyhow::Result<Vec<Failure>> {
    let mut failures = Vec::new();
    for (n, pool) in harness.listed.pools.iter().enumerate() {
        let Some(node) = pool.units.first().and_then(|unit| harness.without(unit)) else {
            continue;
        };
        let bench = harness.bench_on(&node)?;
        let functions = [
            Function::Health,
            Function::Allocate,
            Function::Prepare,
            Function::Release,
        ];
        let exported = if harness.profile().lifecycle { 4 } else { 2 };
        for function in functions.into_iter().take(exported) {
            let (called, _) = harness.call(&bench, Call::of(function, n, 0), Script::default());
            if let Err(CallError::Failed(failure)) = called {
                failures.push(failure);
            }
        }
    }
    Ok(failures)
}

/// What is wrong with a text for people.
fn problem(text: &str, of_garbage: bool, most: usize) -> Option<&'static str> {
    if text.trim().is_empty() {
        return Some("is empty");
    }
    if !text.chars().any(char::is_alphabetic) {
        return Some("has no word in it");
    }
    // What a device says may be repeated: the host escapes and cuts it.
    if of_garbage {
        return None;
    }
    if text.len() >= most {
        return Some("is so long that it was cut off");
    }
    let has_control = text.chars().any(char::is_control);
    has_control.then_some("has control characters")
}

#[cfg(test)]
mod tests;
