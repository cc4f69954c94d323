//! What time it is on a recorded node.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A clock that goes on from the last line of the kernel's log, or what else the recording says, and never back: a line that comes later
/// than it has got moves it on.
pub(crate) struct Clock(Mutex<Set>);

/// What it was set to, and when, if it goes on from there.
#[derive(Clone, Copy)]
struct Set {
    to: Duration,
    at: Option<Instant>,
}

impl Clock {
    /// One that goes on from this.
    pub(crate) fn from(micros: u64) -> Self {
        Self(Mutex::new(Set { to: Duration::from_micros(micros), at: Some(Instant::now()) }))
    }

    /// Stops it at this, and moves it on with the log alone.
    pub(crate) fn stop(&self, millis: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Set { to: Duration::from_millis(millis), at: None };
    }

    /// Milliseconds since the start, which is never before this.
    pub(crate) fn now(&self, not_before_micros: u64) -> u64 {
        let mut set = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = set.to.saturating_add(set.at.map_or(Duration::ZERO, |at| at.elapsed()));
        let not_before = Duration::from_micros(not_before_micros);
        if now < not_before {
            now = not_before;
            *set = Set { to: now, at: set.at.map(|_| Instant::now()) };
        }
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_and_is_never_before_the_log() {
        let clock = Clock::from(7_000_900);
        let begun = Instant::now();
        let now = clock.now(7_000_900);
        assert!(now >= 7_000 && u128::from(now) <= 7_001 + begun.elapsed().as_millis(), "{now}");
        assert!(clock.now(99_000_000) >= 99_000);
        assert!(clock.now(0) >= 99_000, "never back");
        std::thread::sleep(Duration::from_millis(5));
        assert!(clock.now(0) >= 99_005);
    }

    #[test]
    fn one_that_is_stopped_stands() {
        let clock = Clock::from(0);
        clock.stop(5);
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!((clock.now(0), clock.now(7_999), clock.now(0)), (5, 7, 7));
        clock.stop(3);
        assert_eq!(clock.now(0), 3);
    }
}
