//! A tick's look: what the host itself sees of every unit, and what the component says of their health.

use super::Plugin;
use crate::call::CallHost;
use crate::look::all_verdicts;
use crate::units::{Cause, UnitRecord};
use devgate_types::component::Component;
use devgate_types::{CallError, Verdict};
use std::collections::HashMap;
use std::sync::Arc;

impl Plugin {
    /// Looks at what every unit is made of, and asks the component for its verdicts if `ask`. One hop to a thread that may
    /// wait, whatever there is to do. Returns whether hardware came or went.
    pub(super) async fn poll(&mut self, component: &Arc<dyn Component>, ask: bool) -> Result<bool, CallError> {
        let pools = self.units.inventory().stocked();
        let (count, component, grants) = (pools.len(), Arc::clone(component), Arc::clone(&self.calls.grants));
        let _turn = self.calls.services.component_state.write_turn().await?;
        let work = move |host: &dyn Fn() -> CallHost| {
            let problems: HashMap<_, _> = pools.values().flat_map(|pool| pool.problems(&grants.node)).collect();
            (problems, ask.then(|| all_verdicts(component.as_ref(), host, &pools)))
        };
        let (problems, verdicts) = self.calls.calls(self.calls.limits(), count, work).await?;
        self.core.wake.away.seen(problems.keys());
        let news = self.units.set(Cause::HardwareGone, &problems);
        if let Some(verdicts) = verdicts {
            for (units, verdicts) in verdicts? {
                self.apply_verdicts(&units, &verdicts);
            }
            self.recovered();
        }
        Ok(news)
    }

    pub(super) fn apply_verdicts(&mut self, units: &[Arc<UnitRecord>], verdicts: &[Verdict]) {
        let policy = Arc::clone(self.policy());
        self.units.apply_verdicts(units, verdicts, &policy, &self.shared.health_store);
    }
}
