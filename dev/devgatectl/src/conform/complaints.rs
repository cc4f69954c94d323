//! What the component said in all of the battery about what went wrong: errors and reasons are for people.

use super::meddler::{Script, Word, WordKind};
use super::sheet::{Outcome, Rule, Sheet};
use super::subject::{Baseline, Call, Subject, unplug};
use devgate_types::{CallError, Failure, FailureKind, escape};

const TEXT: Rule = Rule {
    id: "errors.text",
    title: "Every error says what is wrong",
    expected: "an error has a message with a word in it; where nothing was garbage, of less than 1,024 bytes and without control characters",
    remedy: "say what was done and to which device: `context(|| format!(…))`; take out what a device's own text has in it",
};
const REASONS: Rule = Rule {
    id: "errors.reasons",
    title: "Every verdict has a reason",
    expected: "unhealthy and unknown come with a reason with a word in it; where nothing was garbage, of less than 256 bytes and without control characters",
    remedy: "say what was found and where, in a few words: the pod's owner reads it in an event",
};
const KIND: Rule = Rule {
    id: "errors.kind",
    title: "An error's kind fits",
    expected: "what is gone for good is not `busy`: whoever is told so tries again for ever",
    remedy: "pass the host's errors on with `?`, or map not-found and gone to gone",
};
pub(super) const RULES: &[&Rule] = &[&TEXT, &REASONS, &KIND];

/// The most bytes that are left of a message and of a reason.
const MESSAGE: usize = 1_024;
const REASON: usize = 256;

/// Checks what was said so far, so this comes last; and what is said of a unit that is gone for good.
pub(super) fn run(subject: &Subject, baseline: &Baseline, sheet: &mut Sheet<'_>) -> anyhow::Result<()> {
    let of_gone = of_gone(subject, baseline)?;
    let words = subject.meddled().words();
    for (rule, kind, most, none) in [
        (
            &TEXT,
            WordKind::Error,
            MESSAGE,
            "no call failed in the component's own words",
        ),
        (
            &REASONS,
            WordKind::Reason,
            REASON,
            "no verdict was unhealthy or unknown",
        ),
    ] {
        let said: Vec<_> = words.iter().filter(|word| word.kind == kind).collect();
        sheet.check(rule, || {
            let problem = |word: &&Word| {
                let why = problem(&word.text, word.of_garbage, most)?;
                Some(format!(
                    "{} said \"{}\", which {why}",
                    word.call,
                    escape(&word.text, 120)
                ))
            };
            match said.len() {
                0 => Outcome::skipped(none),
                n => Outcome::of(format!("{n} texts"), said.iter().filter_map(problem).collect()),
            }
        });
    }
    sheet.check(&KIND, || {
        let busy = of_gone.iter().filter(|failure| failure.kind == FailureKind::Busy);
        let failures = busy.map(|failure| format!("busy, of a unit that is gone: {failure}"));
        match of_gone.len() {
            0 => Outcome::skipped("no call about a unit that is gone failed"),
            n => Outcome::of(format!("{n} errors about units that are gone"), failures.collect()),
        }
    });
    Ok(())
}

/// What the component says of units that have been taken away.
fn of_gone(subject: &Subject, baseline: &Baseline) -> anyhow::Result<Vec<Failure>> {
    let mut failures = Vec::new();
    for (n, pool) in baseline.listed.pools.iter().enumerate() {
        let Some(unit) = pool.units.first() else { continue };
        let node = subject.copy();
        if !unplug(&node, unit) {
            continue;
        }
        let bench = subject.bench_on(&node)?;
        let mut calls = vec![Call::Health(n), Call::Allocate(n, 0)];
        if subject.profile().lifecycle {
            calls.extend([Call::Prepare(n, 0), Call::Release(n, 0)]);
        }
        for call in calls {
            let (result, _) = subject.call(&bench, &baseline.listed.pools, &call, Script::default());
            if let Err(CallError::Failed(failure)) = result {
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
mod tests {
    use super::*;

    #[test]
    fn a_text_for_people_has_words_and_nothing_that_acts() {
        assert_eq!(problem("the device does not answer", false, 64), None);
        for bad in ["", " \n", "42"] {
            assert!(
                problem(bad, false, 64).is_some() && problem(bad, true, 64).is_some(),
                "{bad:?}"
            );
        }
        for bad in ["a\tb", "a\u{1b}[2J", &"x".repeat(64)] {
            assert!(
                problem(bad, false, 64).is_some() && problem(bad, true, 64).is_none(),
                "{bad:?}"
            );
        }
    }
}
