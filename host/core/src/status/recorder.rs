//! Where one plugin notes what it does, and what it found.

use super::calls::{CallCounts, Used};
use super::{AllocationEnd, PluginStatus, RefusalKind, State, When};
use crate::offer::AllocateError;
use crate::units::Rejection;
use devgate_policy::Derived;
use devgate_types::component::CallKind;
use devgate_types::{Bucket, CallError, Mutex};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The most rejections that are shown.
const MAX_REJECTED: usize = 32;
/// Allocations in a row that fail for a lasting reason, and how long fewer of them count.
const MANY: u64 = 3;
const LATELY: Duration = Duration::from_secs(30 * 60);
/// Lines of one plugin in the audit log. A kubelet asks once for each container; one that asks for the same thing in a loop must not fill
/// the log.
const LINES: Bucket = Bucket::new(200, Duration::from_millis(500));
/// What the host may be late: a node that pages, a machine that was suspended.
const SLACK: Duration = Duration::from_secs(60);

/// Records what becomes of one plugin. A small lock, never held while anything waits; every change is made whole before it is let go.
pub(crate) struct StatusRecorder(Mutex<Noted>);

/// What was recorded.
struct Noted {
    /// As it is shown, but for what is known elsewhere and for the calls.
    status: PluginStatus,
    calls: CallCounts,
    /// Allocations that component or host failed since the last one that was given, and when the last of them was.
    failed: u64,
    last_failed: Option<When>,
    lines: Bucket,
    /// When the plugin's task must have come by again.
    due: Instant,
    /// Since when it is in this state, by a clock that is not set.
    since: Instant,
}

impl Default for StatusRecorder {
    fn default() -> Self {
        Self(Mutex::new(Noted {
            status: PluginStatus::default(),
            calls: CallCounts::default(),
            failed: 0,
            last_failed: None,
            lines: LINES,
            due: Instant::now() + SLACK,
            since: Instant::now(),
        }))
    }
}

impl StatusRecorder {
    /// The plugin's task came by, and will again after `pause` at the latest.
    pub(crate) fn record_alive(&self, pause: Duration) {
        self.0.lock().due = Instant::now() + pause.saturating_add(SLACK);
    }

    /// By how long the plugin's task is late, if it is.
    pub(crate) fn late(&self, now: Instant) -> Option<Duration> {
        now.checked_duration_since(self.0.lock().due).filter(|late| !late.is_zero())
    }

    /// It is idle, loading or serving.
    pub(crate) fn set_state(&self, state: State) {
        self.set(state, None, None);
    }

    /// It is loading, and this is what it waits for.
    pub(crate) fn set_waiting(&self, what: &str) {
        self.set(State::Loading, Some(what.to_owned()), None);
    }

    /// It failed, and is being tried again: why it failed stands until that has ended.
    pub(crate) fn set_retrying(&self, failed: &str, what: &str) {
        let reason = format!("{failed}\ntried again now: {what}");
        self.set(State::Failing, Some(reason), None);
    }

    /// It fails, and is tried again.
    pub(crate) fn set_failing(&self, reason: &str, retry: Duration) {
        let again = SystemTime::now().checked_add(retry).map(When);
        self.set(State::Failing, Some(reason.to_owned()), again);
    }

    fn set(&self, state: State, reason: Option<String>, retry_at: Option<When>) {
        let mut noted = self.0.lock();
        let Noted { status, since, .. } = &mut *noted;
        if status.state != state {
            (status.state, status.since, *since) = (state, When::now(), Instant::now());
        }
        (status.reason, status.retry_at) = (reason, retry_at);
    }

    /// Whether it has failed for so long that what was known last does not stand any more.
    pub(crate) fn is_stale(&self, after: Duration) -> bool {
        let noted = self.0.lock();
        noted.status.state == State::Failing && noted.since.elapsed() >= after
    }

    /// Whether it was idle.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.lock().status.state == State::Idle
    }

    /// What the gate does not let through now, how much the policy's filters leave out, and how many devices the component cannot describe.
    pub(crate) fn set_rejected(&self, rejected: &BTreeSet<Rejection>, left_out: usize, unread: usize) {
        let status = &mut self.0.lock().status;
        status.rejected = rejected.iter().take(MAX_REJECTED).cloned().collect();
        (status.rejected_total, status.left_out, status.unread) =
            (whole(rejected.len()), whole(left_out), whole(unread));
    }

    /// What its labels of the node are now.
    pub(crate) fn set_labels(&self, labels: Arc<Derived>) {
        let told = &mut self.0.lock().status.labels;
        told.given.clone_from(&labels.labels);
        told.missing.clone_from(&labels.missing);
    }

    /// Why its labels are not told to anybody, if so.
    pub(crate) fn set_labels_problem(&self, problem: Option<&str>) {
        self.0.lock().status.labels.problem = problem.map(str::to_owned);
    }

    /// Something was asked for and not given. Whether it is news.
    pub(crate) fn record_refusal(&self, kind: RefusalKind, text: &str) -> bool {
        self.0.lock().status.note_refusal(kind, text, When::now())
    }

    /// An allocation ended.
    pub(crate) fn record_allocation(&self, error: Option<&AllocateError>) -> AllocationEnd {
        let end = match error {
            None => AllocationEnd::Given,
            Some(AllocateError::Unknown(_)) => AllocationEnd::Unknown,
            Some(AllocateError::Refused(_)) => AllocationEnd::Refused,
            Some(AllocateError::Busy(_)) => AllocationEnd::Busy,
            Some(AllocateError::Guest(_)) => AllocationEnd::Guest,
            Some(AllocateError::Host(_)) => AllocationEnd::Host,
        };
        let mut noted = self.0.lock();
        *noted.status.allocations.entry(end).or_default() += 1;
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
            let text = error.to_string();
            noted.status.note_refusal(RefusalKind::Allocate, &text, When::now());
        }
        end
    }

    /// Another component or other limits are in force: allocations that failed say nothing of these.
    pub(crate) fn clear_failures(&self) {
        self.0.lock().failed = 0;
    }

    /// How many lines were left out before this one, if this one may be written.
    pub(crate) fn take_line(&self) -> Option<u64> {
        self.0.lock().lines.line(Instant::now())
    }

    /// A call of the component ended.
    pub(crate) fn record_call(&self, call: CallKind, took: Duration, end: Result<Used, &CallError>) {
        self.0.lock().calls.note(call, took, end);
    }

    /// The host gave up on a call, which has not returned.
    pub(crate) fn record_given_up(&self) {
        let status = &mut self.0.lock().status;
        (status.given_up, status.hanging) = (status.given_up + 1, status.hanging + 1);
    }

    /// A call that the host gave up on has returned.
    pub(crate) fn record_returned(&self) {
        self.0.lock().status.hanging -= 1;
    }

    /// What was recorded. What the policy says, the node and what is offered are for others to add.
    pub(crate) fn status(&self, now: When) -> PluginStatus {
        let noted = self.0.lock();
        PluginStatus {
            calls: noted.calls.status(),
            near: noted.calls.near(now),
            allocations_failing: noted.failed_in_a_row(now),
            ..noted.status.clone()
        }
    }
}

impl Noted {
    /// How many allocations in a row component or host failed. A few alone count for as long as an alert tells of them.
    fn failed_in_a_row(&self, now: When) -> u64 {
        let lately = self.last_failed.is_some_and(|last| last.ago(now) < LATELY);
        if lately || self.failed >= MANY { self.failed } else { 0 }
    }
}

fn whole(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
