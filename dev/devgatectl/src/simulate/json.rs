//! The results as one JSON object.

use super::outcome::{Failure, Outcome, Played};
use serde::Serialize;
use std::time::Duration;

/// All of them.
#[derive(Serialize)]
struct Results<'a> {
    passed: usize,
    failed: usize,
    seconds: f64,
    scenarios: Vec<One<'a>>,
}

#[derive(Serialize)]
struct One<'a> {
    file: String,
    about: &'a str,
    passed: bool,
    seconds: f64,
    /// Those that were taken.
    steps: Vec<Step<'a>>,
    steps_total: usize,
    /// What went wrong that belongs to no step.
    error: Option<&'a str>,
    /// The host's log, of a scenario that failed.
    log: Vec<&'a str>,
}

#[derive(Serialize)]
struct Step<'a> {
    number: usize,
    line: u32,
    step: &'a str,
    note: Option<&'a str>,
    passed: bool,
    seconds: f64,
    failure: Option<Failed<'a>>,
}

#[derive(Serialize)]
struct Failed<'a> {
    message: Option<String>,
    wrong: Vec<Wrong<'a>>,
}

#[derive(Serialize)]
struct Wrong<'a> {
    what: &'a str,
    expected: &'a str,
    found: &'a str,
}

/// What is printed.
pub(super) fn results(outcomes: &[Outcome], took: Duration) -> impl Serialize {
    let failed = outcomes.iter().filter(|outcome| !outcome.passed()).count();
    Results {
        passed: outcomes.len() - failed,
        failed,
        seconds: took.as_secs_f64(),
        scenarios: outcomes.iter().map(one).collect(),
    }
}

fn one(outcome: &Outcome) -> One<'_> {
    let log = outcome.log.iter().map(|line| line.raw.as_str());
    One {
        file: outcome.file.display().to_string(),
        about: &outcome.about,
        passed: outcome.passed(),
        seconds: outcome.took.as_secs_f64(),
        steps: outcome.steps.iter().map(step).collect(),
        steps_total: outcome.of,
        error: outcome.broken.as_deref(),
        log: if outcome.passed() { Vec::new() } else { log.collect() },
    }
}

fn step(played: &Played) -> Step<'_> {
    Step {
        number: played.number,
        line: played.line,
        step: &played.summary,
        note: played.note.as_deref(),
        passed: played.failure.is_none(),
        seconds: played.took.as_secs_f64(),
        failure: played.failure.as_ref().map(failure),
    }
}

fn failure(failure: &Failure) -> Failed<'_> {
    let wrong = failure.wrong().iter().map(|wrong| Wrong {
        what: &wrong.what,
        expected: &wrong.expected,
        found: &wrong.found,
    });
    Failed {
        message: failure.head(),
        wrong: wrong.collect(),
    }
}
