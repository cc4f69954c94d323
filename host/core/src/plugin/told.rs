//! What a running plugin has found, for whoever asked it to look.

use super::Plugin;
use crate::health::UnitHealth;
use crate::labels;
use crate::survey::{Outcome, Surveyed, SurveyedUnit, left_out, unused};
use std::sync::Arc;
use std::time::Duration;

/// What matching selectors with the whole device tree may take.
const PATIENCE: Duration = Duration::from_secs(5);

impl Plugin {
    /// Tells whoever waits what this round has found.
    pub(super) async fn tell_found(&mut self) {
        let outcome = match &self.failing {
            Some(failing) => Outcome::Failed(failing.reason.to_string()),
            None => Outcome::Answered,
        };
        self.tell(&outcome).await;
    }

    /// The same, where it got only so far.
    pub(super) async fn tell(&mut self, outcome: &Outcome) {
        for answer in std::mem::take(&mut self.asked) {
            // Who asked may have gone away.
            drop(answer.send(self.surveyed(outcome.clone()).await));
        }
    }

    async fn surveyed(&self, outcome: Outcome) -> Surveyed {
        let closed = self.core.memory.trouble();
        let (outcomes, lost) = (self.outcomes(closed.as_ref()), self.core.ledger.lost(self.core.place));
        let mut units = Vec::new();
        for (resource, pool) in &self.inventory.pools {
            for unit in &pool.units {
                let unhealthy = outcomes.get(&unit.id).cloned().flatten();
                let said = self.health.get(&unit.id).and_then(UnitHealth::unhealthy);
                let mut surveyed = SurveyedUnit::of(resource, unit, pool, self.policy().replicas);
                if let Some(lost) = lost.get(&unit.id) {
                    (surveyed.lost, surveyed.hidden) = (Some(Arc::clone(&lost.reason)), lost.id_taken);
                } else if unhealthy == said {
                    surveyed.verdict = said;
                } else {
                    surveyed.problem = unhealthy;
                }
                units.push(surveyed);
            }
        }
        // What a component has not made use of yet says nothing of the policy, and looking costs the whole tree.
        let unused = if outcome == Outcome::Answered {
            let (grants, inventory) = (Arc::clone(&self.calls.grants), self.inventory.clone());
            let look = move || unused(&grants, &inventory);
            self.calls.block(PATIENCE, look).await.unwrap_or_default()
        } else {
            Vec::new()
        };
        let labels = labels::of(self.policy(), &self.inventory, |id| {
            let hidden = lost.get(id).is_some_and(|lost| lost.id_taken);
            (!hidden).then(|| matches!(outcomes.get(id), Some(None)))
        });
        Surveyed {
            labels,
            name: self.policy().name.clone(),
            outcome,
            rejected: self.rejected.iter().cloned().collect(),
            units,
            left: left_out(&self.inventory),
            unread: self.inventory.unread.clone(),
            unused,
            lines: Vec::new(),
        }
    }
}
