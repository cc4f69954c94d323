//! What the component said in all of the battery about what went wrong: errors and reasons are for people.

use super::harness::Harness;
use super::scorecard::{Outcome, Scorecard};
use devgate_types::{CallError, FailureKind, escape};

/// The most bytes that are left of a message and of a reason.
const MESSAGE: usize = 1_024;
const REASON: usize = 256;

/// Checks what was said so far, so this comes last; and what is said of units that are gone for good.
pub(super) fn run(harness: &Harness, card: &mut Scorecard) -> anyhow::Result<Option<String>> {
    let of_gone = super::empty::calls_of_gone(harness)?;
    let words = harness.injector.words();
    for (id, is_reason, most, none) in [
        ("errors.text", false, MESSAGE, "no call failed in the component's own words"),
        ("errors.reasons", true, REASON, "no verdict was unhealthy or unknown"),
    ] {
        let said: Vec<_> = words.iter().filter(|word| word.is_reason == is_reason).collect();
        let problems = said.iter().filter_map(|word| {
            let (why, text) = (problem(&word.text, word.of_garbage, most)?, escape(&word.text, 120));
            Some(format!("{} said \"{text}\", which {why}", word.call))
        });
        let outcome = match said.len() {
            0 => Outcome::skipped(none),
            n => Outcome::of(format!("{n} texts"), problems),
        };
        card.record(id, outcome);
    }
    let failures = of_gone.iter().filter_map(|(_, called)| match called {
        Err(CallError::Failed(failure)) => Some(failure),
        _ => None,
    });
    let busy = failures.clone().filter(|failure| failure.kind == FailureKind::Busy);
    let busy = busy.map(|failure| format!("busy, of a unit that is gone: {failure}"));
    let outcome = match failures.clone().count() {
        0 => Outcome::skipped("no call about a unit that is gone failed"),
        n => Outcome::of(format!("{n} errors about units that are gone"), busy),
    };
    card.record("errors.kind", outcome);
    Ok(None)
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
