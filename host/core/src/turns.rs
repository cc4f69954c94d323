//! Whose turn it is with an id: what is done to different ids runs side by side, to the same one in turn.

use devgate_types::UnitId;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// The ids that something is being done to.
#[derive(Default)]
pub(crate) struct Turns {
    ids: Mutex<HashSet<UnitId>>,
    done: Notify,
}

/// A turn; ends when dropped.
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    ids: &'a [UnitId],
}

impl Turns {
    /// Waits until nothing is done to any of these.
    pub(crate) async fn turn<'a>(&'a self, ids: &'a [UnitId]) -> Turn<'a> {
        loop {
            let done = self.done.notified();
            if let Some(turn) = self.try_turn(ids) {
                return turn;
            }
            done.await;
        }
    }

    /// The turn, if it is free.
    pub(crate) fn try_turn<'a>(&'a self, ids: &'a [UnitId]) -> Option<Turn<'a>> {
        let mut taken = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.iter().any(|id| taken.contains(id)) {
            return None;
        }
        taken.extend(ids.iter().cloned());
        Some(Turn { turns: self, ids })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut taken = self.turns.ids.lock().unwrap_or_else(PoisonError::into_inner);
        for id in self.ids {
            taken.remove(id);
        }
        drop(taken);
        self.turns.done.notify_waiters();
    }
}
