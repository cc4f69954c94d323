//! At most so many of something at a time, of which the newest are kept: who comes back must not be kept out by what it, or
//! another client, left open.

use std::collections::VecDeque;
use std::sync::Arc;

use devgate_types::Mutex;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::gauge::{Count, Counted, Gauge};

/// Counts what there is of something, and ends the oldest when there is one more than there may be. Clones count together.
#[derive(Debug, Clone)]
pub struct Latest {
    most: usize,
    open: Arc<Mutex<VecDeque<CancellationToken>>>,
    gauge: Gauge,
}

/// The place of one among the latest, until it is dropped.
#[derive(Debug)]
pub struct Place {
    ended: CancellationToken,
    _leaves: DropGuard,
    _counted: Counted,
}

impl Place {
    /// Cancelled when it has to end.
    #[must_use]
    pub fn ended(&self) -> &CancellationToken {
        &self.ended
    }
}

impl Latest {
    /// At most `most`; at least one.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        Self { most, open: Arc::default(), gauge: Gauge::default() }
    }

    /// How many there are, and word of the changes.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Count> {
        self.gauge.subscribe()
    }

    /// One more, which ends with `all` at the latest. `what` is for the log.
    #[must_use]
    pub fn enter(&self, all: &CancellationToken, what: &str) -> Place {
        let ended = all.child_token();
        let mut open = self.open.lock();
        open.retain(|other| !other.is_cancelled());
        while open.len() >= self.most
            && let Some(oldest) = open.pop_front()
        {
            tracing::debug!("more than {} {what}; the oldest ends", self.most);
            oldest.cancel();
        }
        open.push_back(ended.clone());
        drop(open);
        Place { _leaves: ended.clone().drop_guard(), _counted: self.gauge.count(), ended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_ends_and_who_left_takes_no_place() {
        let (latest, all) = (Latest::new(2), CancellationToken::new());
        let enter = || latest.enter(&all, "of these");
        let (first, second) = (enter(), enter());
        drop(second);
        let third = enter();
        assert!(!first.ended().is_cancelled());
        let fourth = enter();
        assert!(first.ended().is_cancelled() && !third.ended().is_cancelled());
        all.cancel();
        assert!(third.ended().is_cancelled() && fourth.ended().is_cancelled());
    }
}
