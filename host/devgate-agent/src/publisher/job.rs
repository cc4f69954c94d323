//! When something is tried next.

use std::time::Duration;
use tokio::time::Instant;

/// Between a trouble and the next try.
const FIRST: Duration = Duration::from_secs(1);
const LAST: Duration = Duration::from_secs(60);
/// After so long without any, the next trouble is a first one.
const QUIET: Duration = Duration::from_secs(180);

/// Something that is to be done, perhaps.
#[derive(Debug, Default)]
pub(crate) struct Job {
    /// When; nothing where there is nothing to do.
    pub(crate) due: Option<Instant>,
    wait: Duration,
    last: Option<Instant>,
}

impl Job {
    pub(crate) fn soon(&mut self) {
        self.due = Some(Instant::now());
    }

    /// Not before: at once where that has passed.
    pub(crate) fn at(&mut self, when: Instant) {
        self.due = Some(when);
    }

    /// After a trouble: a second later, and twice as long after each next one.
    pub(crate) fn later(&mut self) {
        let now = Instant::now();
        if self.last.is_none_or(|last| now.duration_since(last) > QUIET) {
            self.wait = Duration::ZERO;
        }
        self.wait = (self.wait * 2).clamp(FIRST, LAST);
        // All agents see the same outage: they do not come back together.
        let wait = self.wait.mul_f64(1.0 + fastrand::f64() / 4.0);
        (self.last, self.due) = (Some(now), Some(now + wait));
    }

    /// The troubles that there were are over: the next is a first one.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }

    pub(crate) fn done(&mut self) {
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn troubles_are_a_minute_apart_at_most_and_forgotten_after_a_while() {
        let mut job = Job::default();
        let mut waited = Vec::new();
        for _ in 0..9 {
            let now = Instant::now();
            job.later();
            waited.push((job.due.unwrap() - now).as_secs());
        }
        for (waited, least) in waited.iter().zip([1, 2, 4, 8, 16, 32, 60, 60, 60]) {
            assert!((least..=least * 5 / 4).contains(waited), "{waited} {least}");
        }
        job.last = job.last.and_then(|last| last.checked_sub(QUIET * 2));
        job.later();
        assert!(job.due.unwrap() - Instant::now() < Duration::from_secs(2));
    }
}
