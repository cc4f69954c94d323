//! Units that nobody has, and that may all the same be as a pod left them.

use devgate_model::UnitId;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which units are released before they are given, although nobody had them by what is known.
pub(super) struct Doubts(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// Whether nobody knows what was handed out before the host started.
    all: bool,
    /// What was released since then.
    released: BTreeSet<UnitId>,
    /// What was released while it was not there: a component says then that there is nothing to do.
    absent: BTreeSet<UnitId>,
}

impl Doubts {
    /// `knew` is whether it is known what was handed out before the host started.
    pub(super) fn new(knew: bool) -> Self {
        let inner = Inner {
            all: !knew,
            ..Inner::default()
        };
        Self(Mutex::new(inner))
    }

    pub(super) fn has(&self, id: &UnitId) -> bool {
        let inner = self.lock();
        inner.absent.contains(id) || (inner.all && !inner.released.contains(id))
    }

    /// These were released, while they were there or not.
    pub(super) fn released<'a>(&self, ids: impl IntoIterator<Item = &'a UnitId>, there: bool) {
        let mut inner = self.lock();
        for id in ids {
            if !there {
                inner.absent.insert(id.clone());
                continue;
            }
            inner.absent.remove(id);
            if inner.all {
                inner.released.insert(id.clone());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> UnitId {
        UnitId::try_new(text).unwrap()
    }

    #[test]
    fn what_was_released_while_it_was_away_is_in_doubt_until_it_is_released_again() {
        let doubts = Doubts::new(true);
        assert!(!doubts.has(&id("a")));
        doubts.released([&id("a")], false);
        assert!(doubts.has(&id("a")) && !doubts.has(&id("b")));
        doubts.released([&id("a")], true);
        assert!(!doubts.has(&id("a")));
    }

    #[test]
    fn where_nothing_is_known_everything_is_in_doubt_once() {
        let doubts = Doubts::new(false);
        assert!(doubts.has(&id("a")));
        doubts.released([&id("a")], true);
        assert!(!doubts.has(&id("a")) && doubts.has(&id("b")));
    }
}
