//! What a component has said lately: it remembers nothing between calls, so what it says of a device that sleeps it says at
//! every look, for weeks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a line need not be said again.
const LATELY: Duration = Duration::from_secs(3_600);
/// The most lines that are remembered; of more the oldest is forgotten.
const MOST: usize = 256;

/// Lines of one component. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said(Arc<Mutex<HashMap<String, Instant>>>);

impl Said {
    /// Whether the component has said this lately; notes it where not.
    pub(crate) fn lately(&self, line: &str, now: Instant) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.get(line).is_some_and(|then| now.duration_since(*then) < LATELY) {
            return true;
        }
        if said.len() >= MOST {
            let oldest = said.iter().min_by_key(|(_, then)| **then).map(|(line, _)| line.clone());
            oldest.and_then(|line| said.remove(&line));
        }
        said.insert(line.to_owned(), now);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_again_after_an_hour() {
        let (said, now) = (Said::default(), Instant::now());
        assert!(!said.lately("a", now) && said.lately("a", now + LATELY / 2) && !said.lately("b", now));
        assert!(!said.clone().lately("a", now + LATELY));
        assert!(said.lately("a", now + LATELY));
    }

    #[test]
    fn the_oldest_of_too_many_lines_is_forgotten() {
        let (said, now) = (Said::default(), Instant::now());
        let at = |n: usize| now + Duration::from_millis(u64::try_from(n).unwrap());
        for n in 0..=MOST {
            assert!(!said.lately(&n.to_string(), at(n)));
        }
        assert_eq!(said.0.lock().unwrap().len(), MOST);
        assert!(said.lately("1", at(MOST)) && !said.lately("0", at(MOST)));
    }
}
