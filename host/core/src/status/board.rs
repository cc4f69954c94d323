//! Where one plugin notes what it does, and what it found.

use super::audit::LINES;
use super::calls::{CallCounts, CallKind, Used};
use super::refusals::Refusals;
use super::{AllocationEnd, CallStatus, Edge, RefusalKind, State, When};
use crate::offer::AllocateError;
use crate::units::Rejection;
use devgate_policy::Derived;
use devgate_types::component::Answer;
use devgate_types::{Bucket, CallError, Mutex};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

/// The most rejections that are shown.
const MOST_REJECTED: usize = 32;
/// Allocations in a row that fail for a lasting reason, and how long fewer of them count.
const MANY: u64 = 3;
const LATELY: Duration = Duration::from_secs(30 * 60);
/// What the host may be late: a node that pages, a machine that was suspended.
const SLACK: Duration = Duration::from_secs(60);

/// One plugin's board. Small locks, never held while anything waits.
pub(crate) struct Board {
    noted: Mutex<Noted>,
    calls: Mutex<CallCounts>,
    /// Calls that the host gave up on, and those of them that have not returned.
    gave_up: AtomicU64,
    hang: AtomicU64,
}

/// What is on it, but for the calls.
#[derive(Clone)]
pub(crate) struct Noted {
    pub(crate) state: State,
    pub(crate) since: When,
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) retry_at: Option<When>,
    pub(crate) rejected: Vec<Rejection>,
    pub(crate) rejected_total: u64,
    /// How many units the policy's filters leave out, and how many devices the component cannot describe.
    pub(crate) left_out: usize,
    pub(crate) unread: usize,
    pub(crate) refusals: Refusals,
    pub(crate) labels: Arc<Derived>,
    /// Why they are not in the file, if so.
    pub(crate) labels_problem: Option<Arc<str>>,
    pub(crate) allocations: BTreeMap<AllocationEnd, u64>,
    /// Allocations that component or host failed since the last one that was given, and when the last of them was.
    failed: u64,
    last_failed: Option<When>,
    lines: Bucket,
    /// When the plugin's task must have come by again.
    due: Instant,
}

impl Default for Board {
    fn default() -> Self {
        Self {
            noted: Mutex::new(Noted {
                state: State::Loading,
                since: When::now(),
                reason: None,
                retry_at: None,
                rejected: Vec::new(),
                rejected_total: 0,
                left_out: 0,
                unread: 0,
                refusals: Refusals::default(),
                labels: Arc::default(),
                labels_problem: None,
                allocations: BTreeMap::new(),
                failed: 0,
                last_failed: None,
                lines: LINES,
                due: Instant::now() + SLACK,
            }),
            calls: Mutex::default(),
            gave_up: AtomicU64::new(0),
            hang: AtomicU64::new(0),
        }
    }
}

impl Board {
    /// The plugin's task came by, and will again after `pause` at the latest.
    pub(crate) fn comes_by(&self, pause: Duration) {
        self.noted().due = Instant::now() + pause.saturating_add(SLACK);
    }

    /// By how long the plugin's task is late, if it is.
    pub(crate) fn late(&self, now: Instant) -> Option<Duration> {
        now.checked_duration_since(self.noted().due)
            .filter(|late| !late.is_zero())
    }

    /// It is idle, loading or serving.
    pub(crate) fn is(&self, state: State) {
        self.becomes(state, None, None);
    }

    /// It is loading, and this is what it waits for.
    pub(crate) fn waits_for(&self, what: &str) {
        self.becomes(State::Loading, Some(what.into()), None);
    }

    /// It failed, and is being tried again: why it failed stands until that has ended.
    pub(crate) fn tries_again(&self, failed: &str, what: &str) {
        let reason = format!("{failed}\ntried again now: {what}");
        self.becomes(State::Failing, Some(reason.into()), None);
    }

    /// It fails, and is tried again.
    pub(crate) fn fails(&self, reason: &str, retry: Duration) {
        let again = SystemTime::now().checked_add(retry).map(When);
        self.becomes(State::Failing, Some(reason.into()), again);
    }

    fn becomes(&self, state: State, reason: Option<Arc<str>>, retry_at: Option<When>) {
        let mut noted = self.noted();
        if noted.state != state {
            (noted.state, noted.since) = (state, When::now());
        }
        (noted.reason, noted.retry_at) = (reason, retry_at);
    }

    /// Whether it was idle.
    pub(crate) fn is_idle(&self) -> bool {
        self.noted().state == State::Idle
    }

    /// What the gate does not let through now.
    pub(crate) fn rejects<'a>(&self, rejected: impl ExactSizeIterator<Item = &'a Rejection>) {
        let mut noted = self.noted();
        noted.rejected_total = u64::try_from(rejected.len()).unwrap_or(u64::MAX);
        noted.rejected = rejected.take(MOST_REJECTED).cloned().collect();
    }

    /// What the policy's filters leave out, and how many devices the component names that it cannot describe.
    pub(crate) fn leaves_out(&self, left_out: usize, unread: usize) {
        let mut noted = self.noted();
        (noted.left_out, noted.unread) = (left_out, unread);
    }

    /// What its labels of the node are now.
    pub(crate) fn labelled(&self, labels: Arc<Derived>) {
        self.noted().labels = labels;
    }

    /// Why its labels are not told to anybody, if so.
    pub(crate) fn labels_fail(&self, problem: Option<&str>) {
        let mut noted = self.noted();
        if noted.labels_problem.as_deref() != problem {
            noted.labels_problem = problem.map(Arc::from);
        }
    }

    /// Something was asked for and not given. Whether it is news.
    pub(crate) fn refuses(&self, kind: RefusalKind, text: &str) -> bool {
        self.noted().refusals.note(kind, text, When(SystemTime::now()))
    }

    /// An allocation ended.
    pub(crate) fn allocated(&self, error: Option<&AllocateError>) -> AllocationEnd {
        let end = match error {
            None => AllocationEnd::Given,
            Some(AllocateError::Unknown(_)) => AllocationEnd::Unknown,
            Some(AllocateError::Refused(_)) => AllocationEnd::Refused,
            Some(AllocateError::Busy(_)) => AllocationEnd::Busy,
            Some(AllocateError::Guest(_)) => AllocationEnd::Guest,
            Some(AllocateError::Host(_)) => AllocationEnd::Host,
        };
        let mut noted = self.noted();
        *noted.allocations.entry(end).or_default() += 1;
        match end {
            AllocationEnd::Given => noted.failed = 0,
            AllocationEnd::Guest | AllocationEnd::Host => {
                noted.failed += 1;
                noted.last_failed = Some(When::now());
            }
            // Which says nothing of component and host.
            AllocationEnd::Unknown | AllocationEnd::Refused | AllocationEnd::Busy => {}
        }
        if let Some(error) = error {
            noted
                .refusals
                .note(RefusalKind::Allocate, &error.to_string(), When::now());
        }
        end
    }

    /// Another component or other limits are in force: allocations that failed say nothing of these.
    pub(crate) fn forgives(&self) {
        self.noted().failed = 0;
    }

    /// How many lines were left out before this one, if this one may be written.
    pub(crate) fn line(&self) -> Option<u64> {
        self.noted().lines.line(Instant::now())
    }

    /// Calls the component, and counts that.
    pub(crate) fn count<T>(
        &self,
        call: CallKind,
        work: impl FnOnce() -> Result<Answer<T>, CallError>,
    ) -> Result<Answer<T>, CallError> {
        let started = Instant::now();
        let result = work();
        let (took, end) = (started.elapsed(), result.as_ref().map(Used::of));
        self.calls.lock().note(call, took, end);
        result
    }

    /// The host gave up on a call, which has not returned.
    pub(crate) fn gave_up(&self) {
        self.gave_up.fetch_add(1, Ordering::AcqRel);
        self.hang.fetch_add(1, Ordering::AcqRel);
    }

    /// A call that the host gave up on has returned.
    pub(crate) fn returned(&self) {
        self.hang.fetch_sub(1, Ordering::AcqRel);
    }

    /// How many calls the host gave up on, and how many of them have not returned.
    pub(crate) fn overdue(&self) -> (u64, u64) {
        (self.gave_up.load(Ordering::Acquire), self.hang.load(Ordering::Acquire))
    }

    /// The calls so far, and the limits that they came near.
    pub(crate) fn calls(&self, now: When) -> (Vec<CallStatus>, Vec<Edge>) {
        let calls = self.calls.lock();
        (calls.status(), calls.near(now))
    }

    /// What is on it. Every change is made whole before the lock is let go.
    pub(crate) fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock()
    }
}

impl Noted {
    /// How many allocations in a row component or host failed. A few alone count for as long as an alert tells of them.
    pub(crate) fn failed_in_a_row(&self, now: When) -> u64 {
        let lately = self.last_failed.is_some_and(|last| last.ago(now) < LATELY);
        if lately || self.failed >= MANY { self.failed } else { 0 }
    }
}
