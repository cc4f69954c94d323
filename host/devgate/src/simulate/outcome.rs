//! How a scenario went.

use super::check::Mismatch;
use super::scenario::Scenario;
use crate::stage::Line;
use std::path::PathBuf;
use std::time::Duration;

/// One scenario that was played.
pub(super) struct Outcome {
    pub(super) file: PathBuf,
    pub(super) about: String,
    pub(super) took: Duration,
    /// Those that were taken.
    pub(super) steps: Vec<Played>,
    /// How many there are.
    pub(super) of: usize,
    /// What went wrong that belongs to no step.
    pub(super) broken: Option<String>,
    /// The host's log, of a scenario that failed.
    pub(super) log: Vec<Line>,
}

/// A step that was taken.
pub(super) struct Played {
    pub(super) number: usize,
    pub(super) line: u32,
    pub(super) summary: String,
    pub(super) note: Option<String>,
    pub(super) took: Duration,
    pub(super) failure: Option<Failure>,
}

/// Why a step failed.
pub(super) enum Failure {
    /// What it should do could not be done.
    Broken(String),
    /// What was expected did not come in time.
    Unexpected { within: Duration, wrong: Vec<Mismatch> },
}

impl Failure {
    /// What is not as expected at one moment.
    pub(super) fn now(mismatch: Mismatch) -> Self {
        Self::Unexpected {
            within: Duration::ZERO,
            wrong: vec![mismatch],
        }
    }
}

impl Outcome {
    /// Of a scenario that has not begun.
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self {
            file: scenario.file.clone(),
            about: scenario.about.clone(),
            took: Duration::ZERO,
            steps: Vec::new(),
            of: scenario.steps.len(),
            broken: None,
            log: Vec::new(),
        }
    }

    /// The step that failed.
    pub(super) fn failure(&self) -> Option<&Played> {
        self.steps.iter().find(|step| step.failure.is_some())
    }

    pub(super) fn passed(&self) -> bool {
        self.broken.is_none() && self.failure().is_none()
    }
}
