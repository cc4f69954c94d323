//! What a plugin's calls reach besides what its policy grants on the node. Lasts as long as the plugin, whatever is reloaded.

use crate::allocations::Allocations;
use crate::component_state::ComponentState;
use crate::kernel_log::MatchedLines;
use crate::ledger::{Ledger, PluginIndex};
use crate::state::Dir;
use crate::uevents::Uevents;
use devgate_node::Node;
use devgate_policy::PluginPolicy;
use std::sync::{Arc, OnceLock};

/// One plugin's.
#[derive(Clone)]
pub(crate) struct PluginServices {
    /// What its patterns captured from the kernel's log.
    pub(crate) matched_lines: Arc<MatchedLines>,
    /// What it keeps across restarts.
    pub(crate) component_state: ComponentState,
    /// What drivers have announced.
    pub(crate) uevents: Arc<Uevents>,
    /// What others have.
    pub(crate) ledger: Ledger,
    /// What was handed out, also by plugins that are gone.
    pub(crate) allocations: Allocations,
    index: OnceLock<PluginIndex>,
}

impl PluginServices {
    pub(crate) fn new(
        policy: &PluginPolicy,
        node: &Node,
        allocations: &Allocations,
        ledger: Ledger,
        uevents: Arc<Uevents>,
    ) -> Self {
        Self {
            uevents,
            matched_lines: Arc::new(MatchedLines::new(policy.kernel_log.clone(), node.boot_id())),
            component_state: ComponentState::new(allocations.dir(), &policy.name),
            ledger,
            allocations: allocations.clone(),
            index: OnceLock::new(),
        }
    }

    /// Notes where the plugin is in the ledger, which is known when it starts.
    pub(crate) fn is_at(&self, index: PluginIndex) {
        // The first one counts: a plugin stays where it is.
        self.index.get_or_init(|| index);
    }

    /// Where the plugin is in the ledger, once it runs.
    pub(crate) fn index(&self) -> Option<PluginIndex> {
        self.index.get().copied()
    }

    /// The same, but what is stored is a copy's and ends with it, and what was captured is what `policy` will see once it is in
    /// force: an event says by number which of its patterns matched.
    pub(crate) fn on_trial(&self, policy: &PluginPolicy) -> Self {
        Self {
            matched_lines: self.matched_lines.on_trial(&policy.kernel_log),
            component_state: self.component_state.copy(),
            ..self.clone()
        }
    }

    /// For a look that serves no consumer: nothing is read of the kernel's log, nothing is kept, and nothing is held. What the component
    /// finds as stored is a copy.
    pub(crate) fn none(policy: &PluginPolicy, state: Option<&Dir>) -> Self {
        let matched_lines = Arc::new(MatchedLines::new(policy.kernel_log.clone(), None));
        // A look at one moment has heard nothing, which is no fault of the log's.
        matched_lines.is_read();
        Self {
            matched_lines,
            uevents: Arc::default(),
            component_state: ComponentState::new(state, &policy.name).copy(),
            ledger: Ledger::new([policy.name.to_string()]),
            allocations: Allocations::forgetful(),
            index: PluginIndex(0).into(),
        }
    }
}
