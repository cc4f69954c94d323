//! What happened, and when.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Something that happened at the stand-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The process began; `kubelet.sock` is there.
    Started,
    /// The process ended.
    Stopped,
    /// `Register` was called.
    Asked {
        /// The resource.
        resource: String,
        /// The plugin's socket, as the plugin named it.
        endpoint: String,
    },
    /// A plugin was connected to and is registered.
    Registered {
        /// The resource.
        resource: String,
        /// The plugin's socket, as the plugin named it.
        endpoint: String,
    },
    /// A registration was refused.
    Refused {
        /// The resource.
        resource: String,
        /// Why, as the plugin is told.
        error: String,
    },
    /// A list came.
    List {
        /// The resource.
        resource: String,
        /// Healthy devices.
        healthy: usize,
        /// Unhealthy devices.
        unhealthy: usize,
    },
    /// A stream ended.
    StreamEnded {
        /// The resource.
        resource: String,
        /// The plugin's socket.
        endpoint: String,
        /// Why: `EOF`, or the error.
        error: String,
    },
    /// A pod was admitted.
    Admitted(String),
    /// A pod was rejected, for this reason.
    Rejected(String, String),
}

/// An event with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub at: Instant,
    /// What.
    pub event: Event,
}

/// What was waited for did not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedOut {
    after: Duration,
    events: Vec<Moment>,
}

impl TimedOut {
    pub(super) fn new(after: Duration, events: Vec<Moment>) -> Self {
        Self { after, events }
    }
}

impl std::error::Error for TimedOut {}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "what was waited for did not come within {:?}; what came:", self.after)?;
        let start = self.events.first().map(|first| first.at);
        for Moment { at, event } in &self.events {
            let since = start.map(|start| at.duration_since(start)).unwrap_or_default();
            write!(f, "\n{:>8.3} s  {event:?}", since.as_secs_f64())?;
        }
        Ok(())
    }
}

/// All events so far.
pub(super) struct Log {
    moments: Mutex<Vec<Moment>>,
    count: watch::Sender<usize>,
}

impl Default for Log {
    fn default() -> Self {
        Self { moments: Mutex::default(), count: watch::Sender::new(0) }
    }
}

impl Log {
    pub(super) fn push(&self, event: Event) {
        tracing::debug!(?event, "stand-in");
        let at = Instant::now();
        self.moments.lock().unwrap_or_else(PoisonError::into_inner).push(Moment { at, event });
        self.count.send_modify(|count| *count += 1);
    }

    pub(super) fn all(&self) -> Vec<Moment> {
        self.moments.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn news(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }
}
