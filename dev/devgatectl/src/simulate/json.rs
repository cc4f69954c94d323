//! The results as one JSON object.

use super::outcome::Outcome;
use serde_json::{Value, json};
use std::time::Duration;

/// What is printed.
pub(super) fn results(outcomes: &[Outcome], took: Duration) -> Value {
    let passed = outcomes.iter().filter(|outcome| outcome.passed()).count();
    let scenarios: Vec<_> = outcomes.iter().map(scenario).collect();
    let (failed, seconds) = (outcomes.len() - passed, took.as_secs_f64());
    json!({"passed": passed, "failed": failed, "seconds": seconds, "scenarios": scenarios})
}

fn scenario(outcome: &Outcome) -> Value {
    let log = outcome.log.iter().filter(|_| !outcome.passed());
    json!({
        "file": outcome.file.display().to_string(),
        "about": outcome.about,
        "passed": outcome.passed(),
        "seconds": outcome.took.as_secs_f64(),
        "steps": outcome.steps,
        "steps_total": outcome.of,
        // What went wrong that belongs to no step.
        "error": outcome.broken,
        // Of a scenario that failed.
        "log": log.map(|line| line.raw.as_str()).collect::<Vec<_>>(),
    })
}
