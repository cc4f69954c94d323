//! What the admin has been told of a plugin's refusals, so that a component that asks every second is no flood.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The most different refusals that are told: a component makes up as many as it likes.
const MOST: usize = 64;

/// Lines that have been logged. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told(Arc<Mutex<BTreeSet<String>>>);

impl Told {
    /// Whether this is to be told: the first time, and as long as there are not too many.
    pub(crate) fn first_time(&self, line: &str) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < MOST && told.insert(line.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_told_once_and_not_endlessly_many() {
        let told = Told::default();
        assert!(told.first_time("a") && !told.first_time("a"));
        assert!(!told.clone().first_time("a"));
        let many = (0..1_000).filter(|n| told.first_time(&n.to_string())).count();
        assert_eq!(many, MOST - 1);
    }
}
