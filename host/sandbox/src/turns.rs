//! How many components are compiled at the same time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a component waits for its turn. Then it is compiled beside the others: one that takes half a minute must not
/// keep the rest of the node waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lets as many threads compile as there are processors. More would not be done earlier, and each needs some 6 MiB meanwhile.
#[derive(Debug)]
pub(crate) struct Turns {
    free: Mutex<usize>,
    ended: Condvar,
}

/// A turn, or the end of patience; the turn ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a>(Option<&'a Turns>);

impl Turns {
    pub(crate) fn new(processors: usize) -> Self {
        Self {
            free: Mutex::new(processors.max(1)),
            ended: Condvar::new(),
        }
    }

    /// Waits for a turn.
    pub(crate) fn wait(&self) -> Turn<'_> {
        self.wait_for(PATIENCE)
    }

    fn wait_for(&self, patience: Duration) -> Turn<'_> {
        let waited = self.ended.wait_timeout_while(self.free(), patience, |free| *free == 0);
        let (mut free, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match free.checked_sub(1) {
            Some(left) => {
                *free = left;
                Turn(Some(self))
            }
            None => Turn(None),
        }
    }

    fn free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(turns) = self.0 {
            *turns.free() += 1;
            turns.ended.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(10);

    #[test]
    fn a_turn_comes_when_another_ends() {
        let turns = Turns::new(1);
        let first = turns.wait();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| turns.wait_for(Duration::from_secs(60)).0.is_some());
            drop(first);
            assert!(second.join().unwrap());
        });
        assert_eq!(*turns.free(), 1);
    }

    #[test]
    fn nobody_waits_for_ever() {
        let turns = Turns::new(0);
        let first = turns.wait();
        let second = turns.wait_for(SOON);
        assert!(first.0.is_some() && second.0.is_none());
        drop(second);
        assert_eq!(*turns.free(), 0, "whoever went ahead gives nothing back");
    }
}
