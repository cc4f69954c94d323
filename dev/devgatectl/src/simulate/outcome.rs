//! How a scenario went.

use super::check::Mismatch;
use super::scenario::Scenario;
use crate::stage::Line;
use devgate_fake_kubelet::Moment;
use serde::{Serialize, Serializer};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// One scenario that was played.
pub(super) struct Outcome {
    pub(super) file: PathBuf,
    pub(super) about: String,
    pub(super) begun: Instant,
    pub(super) took: Duration,
    /// Those that were taken.
    pub(super) steps: Vec<Played>,
    /// How many there are.
    pub(super) of: usize,
    /// What went wrong that belongs to no step.
    pub(super) broken: Option<String>,
    /// The host's log.
    pub(super) log: Vec<Line>,
    /// What the kubelet saw.
    pub(super) events: Vec<Moment>,
}

/// A step that was taken.
#[derive(Serialize)]
pub(super) struct Played {
    pub(super) number: usize,
    pub(super) line: u32,
    #[serde(rename = "step")]
    pub(super) summary: String,
    pub(super) note: Option<String>,
    pub(super) passed: bool,
    #[serde(skip)]
    pub(super) begun: Instant,
    #[serde(rename = "seconds", serialize_with = "as_seconds")]
    pub(super) took: Duration,
    pub(super) failure: Option<Failure>,
}

/// Why a step failed.
#[derive(Serialize)]
pub(super) struct Failure {
    /// What happened; `None` if the mismatches say it.
    pub(super) message: Option<String>,
    /// What is not as expected.
    pub(super) wrong: Vec<Mismatch>,
}

impl Failure {
    /// What is not as expected, and what was waited for.
    pub(super) fn of(message: String, wrong: Vec<Mismatch>) -> Self {
        Self { message: Some(message), wrong }
    }

    /// All of it in one line.
    pub(super) fn line(&self) -> String {
        let head = self.message.iter().filter_map(|head| head.lines().next());
        let wrong = self.wrong.iter().map(ToString::to_string);
        head.map(str::to_owned).chain(wrong).collect::<Vec<_>>().join("; ")
    }
}

/// What a step should do could not be done.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::of(format!("{error:#}"), Vec::new())
    }
}

/// What is not as expected at one moment.
impl From<Mismatch> for Failure {
    fn from(mismatch: Mismatch) -> Self {
        Self { message: None, wrong: vec![mismatch] }
    }
}

impl Outcome {
    /// Of a scenario that begins now.
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self {
            file: scenario.file.clone(),
            about: scenario.about.clone(),
            begun: Instant::now(),
            took: Duration::ZERO,
            steps: Vec::new(),
            of: scenario.steps.len(),
            broken: None,
            log: Vec::new(),
            events: Vec::new(),
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

/// A time as it is shown.
pub(super) fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

fn as_seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}
