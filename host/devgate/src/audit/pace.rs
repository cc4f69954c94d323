//! How many lines there may be: so many at once and then for each second, of each plugin and kind, so that what does one thing over
//! and over pushes out nothing but that. Lines that have a pace where they are made have no other one here.

use super::line::Kind;
use devgate_types::Bucket;
use std::time::{Duration, Instant};

/// What is given and done: 500 at once, and 20 each second.
const DONE: Bucket = Bucket::new(500, Duration::from_millis(50));
/// What is asked for and not given, of which a component makes up as much as it likes: 100 at once, and one each second.
const REFUSED: Bucket = Bucket::new(100, Duration::from_secs(1));

/// The pace of one kind of lines.
pub(super) struct Pace {
    /// Nothing where what makes the lines has a pace of its own.
    bucket: Option<Bucket>,
    /// Lines that the disk was too slow for, and that no line has counted yet.
    unqueued: u64,
}

impl Pace {
    pub(super) fn of(kind: &Kind) -> Self {
        let bucket = if kind.refused { REFUSED } else { DONE };
        Self { bucket: (!kind.paced).then_some(bucket), unqueued: 0 }
    }

    /// How many lines of its kind were left out before this one, if this one may be written.
    pub(super) fn line(&mut self, now: Instant) -> Option<u64> {
        let left_out = self.bucket.as_mut().map_or(Some(0), |bucket| bucket.line(now))?;
        Some(left_out.saturating_add(std::mem::take(&mut self.unqueued)))
    }

    /// Counts lines that were not written after all.
    pub(super) fn leave_out(&mut self, lines: u64) {
        self.unqueued = self.unqueued.saturating_add(lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_comes_back_with_time_and_no_further_than_a_burst() {
        let now = Instant::now();
        let mut pace = Pace::of(&Kind::default());
        let taken = |pace: &mut Pace, now| (0..10_000).filter(|_| pace.line(now).is_some()).count();
        assert_eq!(taken(&mut pace, now), 500);
        assert_eq!(taken(&mut pace, now + Duration::from_millis(2_000)), 40);
        assert_eq!(taken(&mut pace, now + Duration::from_secs(3_600)), 500);
        pace.leave_out(1);
        let left_out = pace.line(now + Duration::from_secs(3_601));
        assert_eq!(left_out, Some(9_501));
    }
}
