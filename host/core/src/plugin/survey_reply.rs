//! What a running plugin has found, for the caller that asked it to look.

use super::{Plugin, TREE_PATIENCE};
use crate::survey::{Outcome, Surveyed, unused};
use std::sync::Arc;

impl Plugin {
    /// Tells the callers that wait what this round has found, and how far it got.
    pub(super) async fn tell(&mut self, outcome: &Outcome) {
        for answer in std::mem::take(&mut self.asked) {
            // Who asked may have gone away.
            drop(answer.send(self.surveyed(outcome.clone()).await));
        }
    }

    async fn surveyed(&self, outcome: Outcome) -> Surveyed {
        let others = self.others(self.core.allocations.trouble());
        // What a component has not made use of yet says nothing of the policy, and looking costs the whole tree.
        let unused = if outcome == Outcome::Answered {
            let (grants, inventory) = (Arc::clone(&self.calls.grants), self.units.inventory().clone());
            let look = move || unused(&grants, &inventory);
            self.calls.block(TREE_PATIENCE, look).await.unwrap_or_default()
        } else {
            Vec::new()
        };
        Surveyed {
            rejected: self.rejected.iter().cloned().collect(),
            unused,
            ..Surveyed::of(self.policy(), outcome, &self.units, &others)
        }
    }
}
