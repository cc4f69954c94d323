//! How many components are compiled at the same time.

use devgate_types::Mutex;
use std::collections::BTreeMap;
use std::sync::{Condvar, PoisonError};
use std::time::{Duration, Instant};

/// How long a component counts as one that is compiled. One that takes longer goes on beside the others: half a minute of one
/// vendor's must not keep the rest of the node waiting.
const COUNTS_FOR: Duration = Duration::from_secs(2);

/// Lets as many threads compile as there are processors. More would not be done earlier, and each needs some 6 MiB meanwhile, much
/// of which an allocator keeps afterwards.
#[derive(Debug)]
pub(crate) struct Turns {
    most: usize,
    counts_for: Duration,
    running: Mutex<Running>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Running {
    /// When each began, in that order.
    since: BTreeMap<u64, Instant>,
    next: u64,
}

/// A turn; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    number: u64,
}

impl Turns {
    pub(crate) fn new(processors: usize) -> Self {
        Self::lasting(processors, COUNTS_FOR)
    }

    fn lasting(processors: usize, counts_for: Duration) -> Self {
        Self {
            most: processors.max(1),
            counts_for,
            running: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    /// Waits until fewer than the most have begun so recently that they count.
    pub(crate) fn wait(&self) -> Turn<'_> {
        let mut running = self.running.lock();
        loop {
            let now = Instant::now();
            let counts = |since: &&Instant| now.duration_since(**since) < self.counts_for;
            // The one of them after whose time there is room.
            let Some(first) = running.since.values().rev().take_while(counts).nth(self.most - 1) else {
                let number = running.next;
                running.next += 1;
                running.since.insert(number, now);
                return Turn { turns: self, number };
            };
            let left = self.counts_for.saturating_sub(now.duration_since(*first));
            let waited = self.ended.wait_timeout(running, left);
            (running, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.running.lock().since.remove(&self.number);
        self.turns.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;

    const LONG: Duration = Duration::from_secs(3_600);

    #[test]
    fn no_more_than_the_most_have_a_turn_however_many_wait() {
        let turns = Turns::lasting(2, LONG);
        let (now, most, all) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let _turn = turns.wait();
                    most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                    thread::sleep(Duration::from_millis(2));
                    now.fetch_sub(1, SeqCst);
                    all.fetch_add(1, SeqCst);
                });
            }
        });
        assert_eq!(all.into_inner(), 16);
        assert!(most.into_inner() <= 2);
        assert!(turns.running.lock().since.is_empty());
    }

    #[test]
    fn one_that_takes_long_does_not_count_any_more() {
        let turns = Turns::lasting(1, Duration::from_millis(20));
        let begun = Instant::now();
        let long = turns.wait();
        let second = turns.wait();
        assert!(begun.elapsed() >= Duration::from_millis(20));
        drop(second);
        drop(turns.wait());
        assert_eq!(turns.running.lock().since.len(), 1, "the long one");
        drop(long);
    }

    #[test]
    fn there_is_a_turn_even_without_a_processor() {
        drop(Turns::new(0).wait());
    }
}
