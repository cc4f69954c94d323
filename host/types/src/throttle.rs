//! How often a log says the same thing, and how much of what others make up: a component that asks every second is no flood.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// So many lines at once, and then one more after each pause.
#[derive(Debug, Clone)]
pub struct Bucket {
    burst: u32,
    pause: Duration,
    free: u32,
    /// When the last one came back; `None` before the first line.
    since: Option<Instant>,
    left_out: u64,
}

impl Bucket {
    /// At most `burst` lines at once, and one more after each `pause`, which is not zero.
    #[must_use]
    pub const fn new(burst: u32, pause: Duration) -> Self {
        Self { burst, pause, free: burst, since: None, left_out: 0 }
    }

    /// How many lines were left out before this one; `None` if this one is left out, too.
    pub fn line(&mut self, now: Instant) -> Option<u64> {
        let since = self.since.get_or_insert(now);
        let pauses = now.saturating_duration_since(*since).as_nanos() / self.pause.as_nanos().max(1);
        let back = u32::try_from(pauses).unwrap_or(u32::MAX).min(self.burst - self.free);
        self.free += back;
        *since = if self.free == self.burst { now } else { *since + self.pause * back };
        let Some(free) = self.free.checked_sub(1) else {
            self.left_out += 1;
            return None;
        };
        self.free = free;
        Some(std::mem::take(&mut self.left_out))
    }
}

/// When a line that was logged is logged again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// Not as long as it is known.
    Never,
    /// Each time after this pause.
    After(Duration),
    /// After the first pause, then each time after one that is twice as long, but for the longest.
    Growing(Duration, Duration),
}

/// Lines that were logged, so that the same one is logged once.
#[derive(Debug, Clone)]
pub struct LogThrottle {
    /// The last ones, the oldest first.
    known: VecDeque<Known>,
    most: usize,
    bucket: Bucket,
}

#[derive(Debug, Clone)]
struct Known {
    line: String,
    logged: Instant,
    /// How often it was to be logged again, and was.
    times: u32,
}

impl LogThrottle {
    /// Remembers at most this many lines; what is logged for the first time or again comes out of `bucket`.
    #[must_use]
    pub const fn new(most: usize, bucket: Bucket) -> Self {
        Self { known: VecDeque::new(), most, bucket }
    }

    /// How many were left out before this one; `None` if this one is left out, too.
    pub fn line(&mut self, line: &str, again: Again, now: Instant) -> Option<u64> {
        let at = self.known.iter().position(|known| known.line == line);
        if let Some(known) = at.and_then(|at| self.known.get_mut(at)) {
            let pause = match again {
                // It is no news, so that nothing is left out.
                Again::Never => return None,
                Again::After(pause) => pause,
                Again::Growing(first, longest) => first.saturating_mul(1 << known.times.min(16)).min(longest),
            };
            if now.saturating_duration_since(known.logged) < pause {
                self.bucket.left_out += 1;
                return None;
            }
        }
        let left_out = self.bucket.line(now)?;
        let before = at.and_then(|at| self.known.remove(at));
        if self.known.len() >= self.most {
            self.known.pop_front();
        }
        self.known.push_back(Known {
            line: line.to_owned(),
            logged: now,
            times: before.map_or(0, |before| before.times.saturating_add(1)),
        });
        Some(left_out)
    }

    /// Whatever is logged next is news.
    pub fn forget(&mut self) {
        self.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(30);
    const BURST: u32 = 64;

    fn throttle() -> LogThrottle {
        LogThrottle::new(64, Bucket::new(BURST, PAUSE))
    }

    #[test]
    fn each_line_is_logged_once_and_not_endlessly_many() {
        let (mut lines, now) = (throttle(), Instant::now());
        let mut first = |line: &str| lines.line(line, Again::Never, now);
        assert_eq!((first("a"), first("a")), (Some(0), None));
        let many = (0..1_000).filter_map(|n| first(&n.to_string())).count();
        assert_eq!(many, BURST as usize - 1);
    }

    #[test]
    fn after_too_many_there_is_room_again_in_time_and_what_was_left_out_is_counted() {
        let (mut lines, now) = (throttle(), Instant::now());
        let mut line = |line: &str, now| lines.line(line, Again::Never, now);
        let logged = (0..1_000).filter_map(|n| line(&n.to_string(), now)).count();
        assert_eq!(logged, BURST as usize);
        assert_eq!(line("new", now + PAUSE / 2), None);
        let left_out = u64::from(1_000 - BURST + 1);
        assert_eq!(line("new", now + PAUSE), Some(left_out));
        assert_eq!(line("newer", now + PAUSE), None);
        assert_eq!(line("newest", now + PAUSE * 3), Some(1));
    }

    #[test]
    fn what_is_logged_again_says_how_often_it_was_not() {
        let (mut lines, now) = (throttle(), Instant::now());
        let again = Again::After(PAUSE);
        assert_eq!(lines.line("a", again, now), Some(0));
        for _ in 0..9 {
            assert_eq!(lines.line("a", again, now + PAUSE / 2), None);
        }
        assert_eq!(lines.line("a", again, now + PAUSE), Some(9));
        lines.forget();
        assert_eq!(lines.line("a", again, now + PAUSE), Some(0));
    }

    #[test]
    fn the_oldest_of_too_many_lines_is_forgotten() {
        let (mut lines, now) = (LogThrottle::new(2, Bucket::new(BURST, PAUSE)), Instant::now());
        let mut is_news = |line: &str| lines.line(line, Again::Never, now).is_some();
        assert!(is_news("a") && is_news("b") && is_news("c"));
        assert!(!is_news("b") && is_news("a"));
    }

    #[test]
    fn pauses_grow_as_far_as_the_longest() {
        let (mut lines, start) = (LogThrottle::new(1, Bucket::new(BURST, PAUSE)), Instant::now());
        let again = Again::Growing(Duration::from_secs(60), Duration::from_secs(3_600));
        let at = |second: u64| start + Duration::from_secs(second);
        let logged: Vec<u64> =
            (0..=9_000).filter(|&second| lines.line("refused", again, at(second)).is_some()).collect();
        assert_eq!(logged, [0, 60, 180, 420, 900, 1_860, 3_780, 7_380]);
    }

    #[test]
    fn a_flood_is_cut_and_what_was_cut_is_counted() {
        let (mut bucket, now) = (Bucket::new(200, Duration::from_millis(500)), Instant::now());
        let logged = (0..1_000).filter(|_| bucket.line(now).is_some()).count();
        assert_eq!(logged, 200);
        let later = now + Duration::from_secs(1);
        assert_eq!(bucket.line(later), Some(800));
        assert_eq!(bucket.line(later), Some(0));
        assert_eq!(bucket.line(later), None);
        let much_later = now + Duration::from_secs(3_600);
        assert_eq!((0..1_000).filter(|_| bucket.line(much_later).is_some()).count(), 200);
    }
}
