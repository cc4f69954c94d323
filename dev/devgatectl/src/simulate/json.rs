//! The results as one JSON object.

use super::outcome::{Outcome, Played};
use serde::Serialize;
use std::time::Duration;

/// All of them.
#[derive(Serialize)]
struct Results<'a> {
    passed: usize,
    failed: usize,
    seconds: f64,
    scenarios: Vec<Scenario<'a>>,
}

#[derive(Serialize)]
struct Scenario<'a> {
    file: String,
    about: &'a str,
    passed: bool,
    seconds: f64,
    steps: &'a [Played],
    steps_total: usize,
    /// What went wrong that belongs to no step.
    error: Option<&'a str>,
    /// The host's log, of a scenario that failed.
    log: Vec<&'a str>,
}

/// What is printed.
pub(super) fn results(outcomes: &[Outcome], took: Duration) -> impl Serialize {
    let passed = outcomes.iter().filter(|outcome| outcome.passed()).count();
    Results {
        passed,
        failed: outcomes.len() - passed,
        seconds: took.as_secs_f64(),
        scenarios: outcomes.iter().map(Scenario::from).collect(),
    }
}

impl<'a> From<&'a Outcome> for Scenario<'a> {
    fn from(outcome: &'a Outcome) -> Self {
        let log = outcome.log.iter().filter(|_| !outcome.passed());
        Self {
            file: outcome.file.display().to_string(),
            about: &outcome.about,
            passed: outcome.passed(),
            seconds: outcome.took.as_secs_f64(),
            steps: &outcome.steps,
            steps_total: outcome.of,
            error: outcome.broken.as_deref(),
            log: log.map(|line| line.raw.as_str()).collect(),
        }
    }
}
