//! How many lines there may be: so many at once and then for each second, of each plugin and kind. Whoever does one thing over and
//! over pushes out nothing but that. Lines that have a pace where they are made have no other one here.

use super::line::Kind;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What is given and done.
const DONE: Rate = Rate {
    burst: 500,
    each_second: 20,
};
/// What is asked for and not given: a component makes up as much of it as it likes.
const REFUSED: Rate = Rate {
    burst: 100,
    each_second: 1,
};
/// The most kinds with a pace of their own; all others share one. Plugins have the policy's names, and come and go with it.
const MOST: usize = 4_096;

#[derive(Clone, Copy)]
struct Rate {
    burst: u32,
    each_second: u32,
}

/// The pace of each kind.
#[derive(Default)]
pub(super) struct Paces(HashMap<Kind, Pace>);

struct Pace {
    rate: Rate,
    free: u32,
    since: Instant,
    left_out: u64,
}

impl Paces {
    /// How many lines of its kind were left out before this one, if this one may be written.
    pub(super) fn line(&mut self, kind: &Kind, now: Instant) -> Option<u64> {
        if !self.0.contains_key(kind) && self.0.len() >= MOST {
            // Whoever has been silent for long has nothing to lose.
            self.0.retain(|_, pace| !pace.is_fresh(now));
        }
        let kind = self.known(kind);
        let rate = if kind.refused { REFUSED } else { DONE };
        let paced = kind.paced;
        let pace = self.0.entry(kind).or_insert_with(|| Pace::new(rate, now));
        if paced {
            // Counted only where the disk is too slow.
            return Some(std::mem::take(&mut pace.left_out));
        }
        pace.line(now)
    }

    /// Counts lines that were not written after all.
    pub(super) fn leave_out(&mut self, kind: &Kind, lines: u64) {
        let kind = self.known(kind);
        if let Some(pace) = self.0.get_mut(&kind) {
            pace.left_out = pace.left_out.saturating_add(lines);
        }
    }

    /// The kind whose pace counts.
    fn known(&self, kind: &Kind) -> Kind {
        if self.0.contains_key(kind) || self.0.len() < MOST {
            return kind.clone();
        }
        Kind {
            refused: kind.refused,
            paced: kind.paced,
            ..Kind::default()
        }
    }
}

impl Pace {
    fn new(rate: Rate, now: Instant) -> Self {
        Self {
            rate,
            free: rate.burst,
            since: now,
            left_out: 0,
        }
    }

    fn line(&mut self, now: Instant) -> Option<u64> {
        self.refill(now);
        let Some(free) = self.free.checked_sub(1) else {
            self.left_out += 1;
            return None;
        };
        self.free = free;
        Some(std::mem::take(&mut self.left_out))
    }

    fn refill(&mut self, now: Instant) {
        let seconds = now.saturating_duration_since(self.since).as_secs();
        if seconds > 0 {
            let seconds_as_lines = u32::try_from(seconds).unwrap_or(u32::MAX);
            let new = seconds_as_lines.saturating_mul(self.rate.each_second);
            self.free = self.free.saturating_add(new).min(self.rate.burst);
            self.since += Duration::from_secs(seconds);
        }
    }

    /// Whether it is as a new one would be.
    fn is_fresh(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.free == self.rate.burst && self.left_out == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_comes_back_with_time_and_no_further_than_a_burst() {
        let now = Instant::now();
        let mut pace = Pace::new(DONE, now);
        let taken = |pace: &mut Pace, now| (0..10_000).filter(|_| pace.line(now).is_some()).count();
        assert_eq!(taken(&mut pace, now), 500);
        assert_eq!(taken(&mut pace, now + Duration::from_millis(2_900)), 40);
        assert_eq!(taken(&mut pace, now + Duration::from_secs(3_600)), 500);
        let left_out = pace.line(now + Duration::from_secs(3_601));
        assert_eq!(left_out, Some(9_500));
    }
}
