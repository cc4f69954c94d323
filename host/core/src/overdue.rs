//! Calls that the host has given up on and that have not returned: how many there are, what they do, and when it is too much.
//!
//! A thread cannot be ended from outside. One that waits in the kernel costs little, so it is left alone; one that computes costs
//! a processor and maybe all memory, for good. Then the host ends, while it still can.

use crate::failures::{Failures, MustEnd};
use crate::status::StatusRecorder;
use rustix::thread::{ClockId, Pid, gettid};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Between two looks at a call that was given up on.
const LOOK: Duration = Duration::from_millis(500);
/// A tick of the kernel's accounting, `USER_HZ`, as programs see it on every processor that devgate runs on.
const TICK: Duration = Duration::from_millis(10);

/// Threads that may block which a host must have: calls that hang take three quarters of them before the host ends, so that those that
/// return always have the rest.
pub const MOST_THREADS: usize = 512;

/// What is too much.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Processor time of one call of a component after it was given up on. All that a call may use is over by then, so what computes has no end
    /// that anything here bounds.
    pub(crate) computes: Duration,
    /// Calls of all plugins that have begun and hang at the same time. Each has a thread, and little else.
    pub(crate) hang: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            computes: Duration::from_secs(5),
            hang: MOST_THREADS / 4 * 3,
        }
    }
}

/// What is known of all plugins' calls that were given up on. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Overdue(Arc<Inner>);

struct Inner {
    bounds: Bounds,
    hang: AtomicUsize,
    failures: Failures,
}

impl Overdue {
    /// What is too much is noted in `failures`.
    pub(crate) fn new(bounds: Bounds, failures: Failures) -> Self {
        let hang = AtomicUsize::new(0);
        Self(Arc::new(Inner { bounds, hang, failures }))
    }

    /// The caller waits for `call` until `end`. What has not ended when the answer is dropped is given up on.
    pub(crate) fn wait_for(
        &self,
        call: &Arc<Call>,
        plugin: &str,
        recorder: &Arc<StatusRecorder>,
        end: Instant,
    ) -> Waiter {
        Waiter(Some(Watched {
            overdue: self.clone(),
            call: Arc::clone(call),
            plugin: plugin.to_owned(),
            recorder: Arc::clone(recorder),
            end,
        }))
    }
}

/// Whose code a call runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A component's, and the host's on its behalf.
    #[default]
    Component,
    /// The host's alone, as much of it as the node and the policy are large: late, it still ends.
    Host,
}

/// One call, as its thread and those who wait for it see it.
#[derive(Debug, Default)]
pub(crate) struct Call {
    whose: Whose,
    /// Its thread, and the processor time that it had used before.
    began: OnceLock<(Pid, Duration)>,
    ended: AtomicBool,
}

/// What a call does that has not returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It has no thread yet.
    HasNotBegun,
    /// It waits in the kernel.
    Waits,
    /// It computes.
    Computes,
}

/// A call is under way on this thread, until this is dropped.
pub(crate) struct Here<'a>(&'a Call);

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
    }
}

impl Call {
    pub(crate) fn of(whose: Whose) -> Self {
        Self {
            whose,
            ..Self::default()
        }
    }

    /// Begins on this thread.
    pub(crate) fn begin(&self) -> Here<'_> {
        let now = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let used = Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0));
        self.began.get_or_init(|| (gettid(), used));
        Here(self)
    }

    /// What it does, if it has not ended.
    pub(crate) fn doing(&self) -> Doing {
        match self.look() {
            None if !self.has_begun() => Doing::HasNotBegun,
            Some(look) if look.computes => Doing::Computes,
            _ => Doing::Waits,
        }
    }

    /// The processor time that it has used so far, as far as the kernel tells.
    fn used(&self) -> Duration {
        self.look().map_or(Duration::ZERO, |look| look.used)
    }

    fn has_begun(&self) -> bool {
        self.began.get().is_some()
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn look(&self) -> Option<Look> {
        let (thread, before) = self.began.get().filter(|_| !self.has_ended())?;
        let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).ok()?;
        let mut look = Look::of(&stat)?;
        look.used = look.used.saturating_sub(*before);
        Some(look)
    }
}

/// What the kernel says of a thread, `proc_pid_stat(5)`.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    computes: bool,
    used: Duration,
}

impl Look {
    fn of(stat: &str) -> Option<Self> {
        // Its name may have anything in it.
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut fields = fields.split(' ');
        let state = fields.next()?;
        let mut ticks = fields.skip(10).map_while(|field| field.parse::<u32>().ok());
        let ticks = ticks.next()?.saturating_add(ticks.next()?);
        Some(Self {
            computes: state == "R",
            used: TICK.saturating_mul(ticks),
        })
    }
}

/// Who waits for a call.
pub(crate) struct Waiter(Option<Watched>);

impl Drop for Waiter {
    fn drop(&mut self) {
        let watched = self.0.take().filter(|watched| !watched.call.has_ended());
        // Without a runtime the process is about to end.
        if let (Some(watched), Ok(runtime)) = (watched, tokio::runtime::Handle::try_current()) {
            runtime.spawn(watched.until_it_ends());
        }
    }
}

/// A call that was given up.
struct Watched {
    overdue: Overdue,
    call: Arc<Call>,
    plugin: String,
    recorder: Arc<StatusRecorder>,
    end: Instant,
}

impl Watched {
    /// Who asked may have gone away before the call was late: until its end it is not.
    async fn until_it_ends(self) {
        tokio::time::sleep_until(self.end.into()).await;
        if self.call.has_ended() {
            return;
        }
        let Inner { bounds, hang, failures } = &*self.overdue.0;
        let too_much = |why: String| failures.note(|| MustEnd::Stuck(format!("plugin {}: {why}", self.plugin)));
        self.recorder.record_given_up();
        let mut hangs = false;
        let (since, before) = (Instant::now(), self.call.used());
        while !self.call.has_ended() {
            // What waits for a thread has none: a node that is too busy is no reason to end.
            if !hangs && self.call.has_begun() {
                hangs = true;
                let others = hang.fetch_add(1, Ordering::AcqRel);
                if others >= bounds.hang {
                    too_much(format!(
                        "a call has not returned, nor have {others} others of all plugins"
                    ));
                }
            }
            let used = self.call.used().saturating_sub(before);
            if used >= bounds.computes && self.call.whose == Whose::Component {
                too_much(format!(
                    "a call was given up on {}s ago, and has used {}s of processor time since",
                    since.elapsed().as_secs(),
                    used.as_secs()
                ));
            }
            tokio::time::sleep(LOOK).await;
        }
        if hangs {
            hang.fetch_sub(1, Ordering::AcqRel);
        }
        self.recorder.record_returned();
    }
}

#[cfg(test)]
mod tests;
