//! What happened in the component's calls, for the test.

use devgate_types::Verdict;
use devgate_types::component::LogLevel;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A line of the component in the host's log, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// How much it matters, in the component's opinion.
    pub level: LogLevel,
    /// The line.
    pub text: String,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Warn => "warn",
            LogLevel::Error => "error",
        };
        write!(f, "{level}: {}", self.text)
    }
}

/// An attribute that was written (capability `control`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The device's kernel name.
    pub device: String,
    /// The attribute's path.
    pub attribute: String,
    /// What was written.
    pub value: String,
}

/// One call of the component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// `enumerate`, `health`, `allocate`, `choose`, `prepare` or `release`.
    pub function: &'static str,
    /// The ids that it was about.
    pub ids: Vec<String>,
    /// Why it failed, if it did.
    pub failed: Option<String>,
}

/// What was seen so far. Clones share it: calls run on threads of the runtime.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Notes>>);

#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) said: Vec<Said>,
    pub(crate) denied: Vec<String>,
    /// Interfaces that the component can do without.
    pub(crate) optional: Vec<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) writes: Vec<Write>,
    pub(crate) blob: Vec<u8>,
    /// The last verdict on each unit, by resource and id.
    pub(crate) verdicts: BTreeMap<String, Verdict>,
    /// What the component, or a call that no policy allows, panicked with.
    pub(crate) panic: Option<String>,
}

impl Seen {
    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what the component asked for in vain, once.
    pub(crate) fn denied(&self, message: &str) {
        let mut notes = self.notes();
        if !notes.denied.iter().any(|known| known == message) {
            notes.denied.push(message.to_owned());
        }
    }

    /// Fails the test if the component has panicked.
    #[track_caller]
    pub(crate) fn pass_panic_on(&self) {
        if let Some(message) = self.notes().panic.take() {
            panic!("{message}");
        }
    }
}
