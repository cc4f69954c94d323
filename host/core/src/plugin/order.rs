//! Whom a plugin waits for before it says what it has: those before it in the policy that have not spoken and may offer the same.
//! What one of them takes its time for does not keep the others' devices from the node.

use super::{ORDER_PATIENCE, Plugin, TREE_PATIENCE};
use crate::ledger::{PluginIndex, Silent};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// What is known about those before, as long as the plugin has what it has.
#[derive(Default)]
pub(super) struct Order {
    arranged: Option<Instant>,
    /// Whether one of them may offer nothing of it.
    apart: HashMap<PluginIndex, bool>,
}

impl Plugin {
    /// Whether all before this one have spoken that may offer the same, or have had the time to.
    pub(super) fn is_its_turn(&self) -> bool {
        let ledger = &self.core.ledger;
        let apart = |silent: &Silent| self.order.apart.get(&silent.index) == Some(&true);
        ledger.silent_before(self.core.index).iter().all(apart) || ledger.settles_for() > ORDER_PATIENCE
    }

    /// Holds what it has against what those before it may offer, as far as that is not known yet.
    pub(super) async fn judge_order(&mut self) {
        let ledger = &self.core.ledger;
        let silent = ledger.silent_before(self.core.index);
        let arranged = Some(ledger.arranged());
        if silent.is_empty() || self.order.arranged != arranged {
            self.order = Order { arranged, ..Order::default() };
        }
        for other in silent {
            let Some(grants) = other.grants.filter(|_| !self.order.apart.contains_key(&other.index)) else {
                continue;
            };
            let (pools, shares) = (self.units.inventory().pools.clone(), self.policy().shares_hardware);
            // Ends with this round: a look that was given up on does not go on.
            let given_up = CancellationToken::new();
            let _ends = given_up.clone().drop_guard();
            let look = move || {
                let both_share = shares && grants.policy.shares_hardware;
                both_share || !grants.may_claim_of(pools.values(), &given_up)
            };
            let calls = Arc::clone(&self.calls);
            // Who cannot be compared is waited for.
            let apart = calls.block(TREE_PATIENCE, look).await.unwrap_or(false);
            self.order.apart.insert(other.index, apart);
        }
    }
}
