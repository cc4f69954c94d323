//! How many of something there have been, and are.

use tokio::sync::watch;

/// A count at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// All that there have ever been.
    pub opened: u64,
    /// Those that are still there.
    pub live: u64,
}

/// Counts things by the guards that they hold. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Gauge(watch::Sender<Count>);

impl Gauge {
    /// One more, for as long as the guard lives.
    pub fn count(&self) -> Counted {
        self.0.send_modify(|count| {
            count.opened += 1;
            count.live += 1;
        });
        Counted(self.0.clone())
    }

    /// The count, and word of its changes.
    pub fn subscribe(&self) -> watch::Receiver<Count> {
        self.0.subscribe()
    }
}

/// Something that is counted until it is dropped.
#[derive(Debug)]
pub struct Counted(watch::Sender<Count>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| count.live -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_counted_as_having_been() {
        let gauge = Gauge::default();
        let seen = gauge.subscribe();
        let (first, second) = (gauge.count(), gauge.clone().count());
        assert_eq!(*seen.borrow(), Count { opened: 2, live: 2 });
        drop(first);
        drop(second);
        assert_eq!(*seen.borrow(), Count { opened: 2, live: 0 });
    }
}
