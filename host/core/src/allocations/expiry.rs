//! When an allocation is over by itself: by the clock that counts from boot on and also while the machine sleeps. No step of the wall
//! clock ends anything.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The end of an allocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expiry {
    /// The boot whose clock it is, where the kernel says which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    /// Milliseconds of that clock.
    at: u64,
    /// How many were left when this was written: after another boot it counts on from there.
    left: u64,
}

/// A moment of the clock that counts from boot on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Now {
    pub(crate) boot: Option<String>,
    /// In milliseconds.
    pub(crate) at: u64,
}

impl Now {
    /// This moment, in the boot that this is.
    pub(crate) fn in_boot(boot: Option<&str>) -> Self {
        let now = clock_gettime(ClockId::Boottime);
        let (seconds, nanos) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
        Self {
            boot: boot.map(str::to_owned),
            at: seconds.unwrap_or(0).saturating_mul(1_000) + nanos.unwrap_or(0) / 1_000_000,
        }
    }
}

impl Expiry {
    /// The end that comes after this time.
    pub(crate) fn after(ttl: Duration, now: &Now) -> Self {
        let left = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        let (boot, at) = (now.boot.clone(), now.at.saturating_add(left));
        Self { boot, at, left }
    }

    /// How much is left, for the host that wrote it: nothing once it is over.
    pub(crate) const fn left(&self, now: &Now) -> Duration {
        Duration::from_millis(self.at.saturating_sub(now.at))
    }

    /// The same for the next host, which may be one of another boot.
    pub(crate) fn left_after_start(&self, now: &Now) -> Duration {
        match self.boot.is_some() && self.boot == now.boot {
            true => self.left(now),
            false => Duration::from_millis(self.left),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(boot: Option<&str>, at: u64) -> Now {
        let boot = boot.map(str::to_owned);
        Now { boot, at }
    }

    #[test]
    fn what_is_left_counts_down_in_its_boot_and_goes_on_from_there_in_the_next() {
        let ends = Expiry::after(Duration::from_secs(10), &at(Some("one"), 5_000));
        assert_eq!(ends.left(&at(Some("one"), 5_000)), Duration::from_secs(10));
        assert_eq!(ends.left(&at(None, 9_000)), Duration::from_secs(6));
        assert_eq!(ends.left_after_start(&at(Some("one"), 9_000)), Duration::from_secs(6));
        assert_eq!(ends.left_after_start(&at(Some("one"), 90_000)), Duration::ZERO);
        assert_eq!(ends.left_after_start(&at(Some("two"), 90_000)), Duration::from_secs(10));
        assert_eq!(ends.left_after_start(&at(None, 0)), Duration::from_secs(10));
    }

    #[test]
    fn the_clock_goes_on() {
        let before = Now::in_boot(Some("one"));
        std::thread::sleep(Duration::from_millis(3));
        assert!(Now::in_boot(Some("one")).at > before.at);
    }
}
