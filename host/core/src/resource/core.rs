//! What the resources of one plugin share.

use crate::allocations::Allocations;
use crate::breaker::Breaker;
use crate::calls::Calls;
use crate::held_units::HeldUnits;
use crate::ledger::{Ledger, PluginIndex};
use crate::status::StatusRecorder;
use crate::unit_table::Shown;
use crate::units::UnitRecord;
use crate::watcher::{Asked, Wake};
use devgate_types::{CallError, PluginName};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

/// What a plugin's resources share.
pub(crate) struct Core {
    name: PluginName,
    pub(crate) index: PluginIndex,
    pub(crate) ledger: Ledger,
    pub(crate) allocations: Allocations,
    /// What pods have or may have.
    pub(crate) held_units: HeldUnits,
    /// What is not given for a while, because calls about it keep failing.
    pub(crate) breaker: Breaker,
    /// Replaced as a whole when the policy or the component is reloaded: each piece of work takes it once.
    calls: RwLock<Arc<Calls>>,
    /// Asked when an allocation or a look found that there is something to look at.
    pub(crate) wake: Arc<Wake>,
    /// What there is to know about the plugin.
    pub(crate) recorder: Arc<StatusRecorder>,
    /// What it offers.
    pub(crate) shown: Shown,
    /// Whether the plugin was told to leave, and only looks after what consumers have.
    pub(crate) leaves: AtomicBool,
}

impl Core {
    pub(crate) fn new(
        name: PluginName,
        index: PluginIndex,
        ledger: Ledger,
        allocations: Allocations,
        calls: Arc<Calls>,
    ) -> Self {
        Self {
            recorder: Arc::clone(&calls.grants.recorder),
            name,
            index,
            ledger,
            held_units: HeldUnits::new(allocations.clone()),
            breaker: Breaker::default(),
            allocations,
            calls: RwLock::new(calls),
            wake: Arc::default(),
            shown: Shown::default(),
            leaves: AtomicBool::new(false),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.name.as_str()
    }

    pub(crate) const fn plugin(&self) -> &PluginName {
        &self.name
    }

    /// A consumer has something, or has it no more: the list may be another one.
    pub(crate) fn changed_hands(&self) {
        self.wake.ask(Asked::LIST);
    }

    /// The policy and the component that are in force now.
    pub(crate) fn calls(&self) -> Arc<Calls> {
        Arc::clone(&self.calls.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A call that was to give these to a pod failed. What the component answers is its own word about them, and a fault of the host,
    /// such as a queue of calls before this one, says nothing of them; that the component breaks, or does not return, counts against them.
    pub(super) fn broke(&self, units: &[Arc<UnitRecord>], call: &str, error: &CallError) {
        if matches!(error, CallError::Failed(_) | CallError::Host(_)) {
            return;
        }
        self.counts_against(units, &format!("plugin {}: {call} {error}", self.name));
    }

    /// An allocation of these failed for a reason that is not the component's own word, and that another one would most likely
    /// meet as well.
    pub(super) fn counts_against(&self, units: &[Arc<UnitRecord>], reason: &str) {
        let ids = units.iter().map(|unit| &unit.id);
        if self.breaker.failed(ids, reason, Instant::now()) {
            self.wake.ask(Asked::HEALTH);
        }
    }

    /// Puts others in force.
    pub(crate) fn replace_calls(&self, calls: Arc<Calls>) {
        self.breaker.forgive();
        self.recorder.clear_failures();
        *self.calls.write().unwrap_or_else(PoisonError::into_inner) = calls;
    }
}
