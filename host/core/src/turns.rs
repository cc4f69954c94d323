//! Whose turn it is with an id: what is done to different ids runs side by side, to the same one in turn. The same for consumers.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// The ids that something is being done to.
pub(crate) struct Turns<K: Eq + Hash + Clone> {
    ids: Mutex<HashSet<K>>,
    done: Notify,
}

impl<K: Eq + Hash + Clone> Default for Turns<K> {
    fn default() -> Self {
        let (ids, done) = (Mutex::default(), Notify::new());
        Self { ids, done }
    }
}

/// A turn; ends when dropped.
pub(crate) struct Turn<'a, K: Eq + Hash + Clone> {
    turns: &'a Turns<K>,
    ids: &'a [K],
}

impl<K: Eq + Hash + Clone> Turns<K> {
    /// Waits until nothing is done to any of these.
    pub(crate) async fn turn<'a>(&'a self, ids: &'a [K]) -> Turn<'a, K> {
        loop {
            let done = self.done.notified();
            if let Some(turn) = self.try_turn(ids) {
                return turn;
            }
            done.await;
        }
    }

    /// The turn, if it is free.
    pub(crate) fn try_turn<'a>(&'a self, ids: &'a [K]) -> Option<Turn<'a, K>> {
        let mut taken = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.iter().any(|id| taken.contains(id)) {
            return None;
        }
        taken.extend(ids.iter().cloned());
        Some(Turn { turns: self, ids })
    }
}

impl<K: Eq + Hash + Clone> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        let mut taken = self.turns.ids.lock().unwrap_or_else(PoisonError::into_inner);
        for id in self.ids {
            taken.remove(id);
        }
        drop(taken);
        self.turns.done.notify_waiters();
    }
}
