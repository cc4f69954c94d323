//! How a scenario went.

use super::check::Mismatch;
use super::scenario::Scenario;
use crate::stage::Line;
use devgate_fake_kubelet::Moment;
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
pub(super) struct Played {
    pub(super) number: usize,
    pub(super) line: u32,
    pub(super) summary: String,
    pub(super) note: Option<String>,
    pub(super) begun: Instant,
    pub(super) took: Duration,
    pub(super) failure: Option<Failure>,
}

/// Why a step failed.
pub(super) enum Failure {
    /// What it should do could not be done.
    Broken(String),
    /// What was expected was not so, and did not come within a time.
    Unexpected { within: Duration, wrong: Vec<Mismatch> },
    /// What was expected came, and did not last.
    Brief {
        lasted: Duration,
        of: Duration,
        wrong: Vec<Mismatch>,
    },
    /// What must not be was so.
    Happened { after: Duration },
    /// It was done, and took too long.
    Slow { took: Duration, most: Duration },
}

impl Failure {
    /// What is not as expected at one moment.
    pub(super) fn now(mismatch: Mismatch) -> Self {
        Self::Unexpected {
            within: Duration::ZERO,
            wrong: vec![mismatch],
        }
    }

    /// What happened, in one line; nothing where the mismatches say it.
    pub(super) fn head(&self) -> Option<String> {
        match self {
            Self::Broken(why) => Some(why.clone()),
            Self::Unexpected { within, .. } if within.is_zero() => None,
            Self::Unexpected { within, .. } => Some(format!("did not come within {}", seconds(*within))),
            Self::Brief { lasted, of, .. } => Some(format!("lasted {} of {}", seconds(*lasted), seconds(*of))),
            Self::Happened { after } => Some(format!("must not be so, and was after {}", seconds(*after))),
            Self::Slow { took, most } => Some(format!("took {}, more than {}", seconds(*took), seconds(*most))),
        }
    }

    /// What is not as expected.
    pub(super) fn wrong(&self) -> &[Mismatch] {
        match self {
            Self::Unexpected { wrong, .. } | Self::Brief { wrong, .. } => wrong,
            Self::Broken(_) | Self::Happened { .. } | Self::Slow { .. } => &[],
        }
    }

    /// All of it in one line.
    pub(super) fn line(&self) -> String {
        let head = self.head().and_then(|head| head.lines().next().map(str::to_owned));
        let wrong = self.wrong().iter().map(ToString::to_string);
        head.into_iter().chain(wrong).collect::<Vec<_>>().join("; ")
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
