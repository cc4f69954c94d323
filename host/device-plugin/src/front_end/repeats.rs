//! The same failure over and over, logged once and then at growing intervals.

use std::time::Duration;

use tokio::time::Instant;

/// How long the second report of a failure waits; each one after it waits twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
/// The longest wait between two reports.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

/// What was said last, and when it may be said again.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    said: String,
    again: Option<Instant>,
    pause: Duration,
    kept_back: u64,
}

impl Repeats {
    /// How many times `text` was kept back, if it is to be said now.
    pub(crate) fn say(&mut self, text: &str) -> Option<u64> {
        self.say_at(text, Instant::now())
    }

    fn say_at(&mut self, text: &str, now: Instant) -> Option<u64> {
        if self.said != text {
            *self = Self {
                said: text.to_owned(),
                again: Some(now + FIRST_PAUSE),
                pause: FIRST_PAUSE,
                kept_back: 0,
            };
            return Some(0);
        }
        if self.again.is_some_and(|again| now < again) {
            self.kept_back += 1;
            return None;
        }
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.again = Some(now + self.pause);
        Some(std::mem::take(&mut self.kept_back))
    }

    /// It works again: the next failure is news.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_failure_is_said_at_growing_intervals() {
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        let mut repeats = Repeats::default();
        let said: Vec<u64> = (0..=3_600)
            .filter(|&second| repeats.say_at("refused", at(second)).is_some())
            .collect();
        assert_eq!(said, [0, 60, 180, 420, 900, 1_860]);
        assert_eq!(repeats.say_at("gone", at(3_601)), Some(0));
        assert_eq!(repeats.say_at("gone", at(3_602)), None);
        repeats.forget();
        assert_eq!(repeats.say_at("gone", at(3_603)), Some(0));
    }

    #[test]
    fn what_was_kept_back_is_counted() {
        let start = Instant::now();
        let mut repeats = Repeats::default();
        assert_eq!(repeats.say_at("x", start), Some(0));
        assert_eq!((repeats.say_at("x", start), repeats.say_at("x", start)), (None, None));
        assert_eq!(repeats.say_at("x", start + FIRST_PAUSE), Some(2));
    }
}
