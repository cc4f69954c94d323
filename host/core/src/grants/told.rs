//! What the admin has been told of a plugin's refusals, so that a component that asks every second is no flood.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most different refusals that are told at once: a component makes up as many as it likes. One more after each [`PAUSE`].
const MOST: usize = 64;
const PAUSE: Duration = Duration::from_secs(30);
/// When what is refused again and again is told again, where it is told again at all.
const AGAIN: Duration = Duration::from_secs(600);

/// Lines that have been logged. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Lines>>);

#[derive(Debug, Default)]
struct Lines {
    /// The last ones, the oldest first, and when.
    last: VecDeque<(String, Instant)>,
    /// How many may be told before a pause; nothing before the first.
    free: Option<(usize, Instant)>,
    /// How many were not told.
    left_out: u64,
}

impl Told {
    /// How many were left out before this one, if it is to be told: the first time, as long as there are not too many.
    pub(crate) fn first_time(&self, line: &str) -> Option<u64> {
        self.lock().tell(line, Instant::now(), None)
    }

    /// The same; told again after a while.
    pub(crate) fn again(&self, line: &str) -> Option<u64> {
        self.lock().tell(line, Instant::now(), Some(AGAIN))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    fn tell(&mut self, line: &str, now: Instant, again: Option<Duration>) -> Option<u64> {
        if let Some(known) = self.last.iter().position(|(known, _)| known == line) {
            let told = self.last.get(known).map(|(_, told)| *told)?;
            // What is not told again is no news, so that nothing is left out.
            let again = again?;
            if now.saturating_duration_since(told) < again {
                self.left_out += 1;
                return None;
            }
            self.last.remove(known);
        }
        let (mut free, mut since) = self.free.unwrap_or((MOST, now));
        while free < MOST && now.saturating_duration_since(since) >= PAUSE {
            free += 1;
            since += PAUSE;
        }
        if free == MOST {
            since = now;
        }
        let may = free > 0;
        self.free = Some((free.saturating_sub(1), since));
        if !may {
            self.left_out += 1;
            return None;
        }
        if self.last.len() >= MOST {
            self.last.pop_front();
        }
        self.last.push_back((line.to_owned(), now));
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_told_once_and_not_endlessly_many() {
        let told = Told::default();
        assert_eq!((told.first_time("a"), told.first_time("a")), (Some(0), None));
        assert_eq!(told.clone().first_time("a"), None);
        let many = (0..1_000).filter_map(|n| told.first_time(&n.to_string())).count();
        assert_eq!(many, MOST - 1);
    }

    #[test]
    fn after_too_many_there_is_room_again_in_time_and_what_was_left_out_is_counted() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        let told = (0..1_000).filter_map(|n| lines.tell(&n.to_string(), now, None)).count();
        assert_eq!(told, MOST);
        assert_eq!(lines.tell("new", now + PAUSE / 2, None), None);
        let left_out = u64::try_from(1_000 - MOST + 1).unwrap();
        assert_eq!(lines.tell("new", now + PAUSE, None), Some(left_out));
        assert_eq!(lines.tell("newer", now + PAUSE, None), None);
        assert_eq!(lines.tell("newest", now + PAUSE * 3, None), Some(1));
    }

    #[test]
    fn what_is_told_again_says_how_often_it_was_not() {
        let (mut lines, now) = (Lines::default(), Instant::now());
        assert_eq!(lines.tell("a", now, Some(AGAIN)), Some(0));
        for _ in 0..9 {
            assert_eq!(lines.tell("a", now + AGAIN / 2, Some(AGAIN)), None);
        }
        assert_eq!(lines.tell("a", now + AGAIN, Some(AGAIN)), Some(9));
    }
}
