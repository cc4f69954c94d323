//! A tick's look: what the host itself sees of every unit, and what the component says of their health.

use super::Plugin;
use crate::call::CallHost;
use crate::look::{FailedLook, Finding, calls_for, findings};
use crate::units::{Cause, UnitRecord};
use devgate_types::component::Component;
use std::collections::HashMap;
use std::sync::Arc;

impl Plugin {
    /// Looks at what every unit is made of, and asks the component how they are if `ask`. One hop to a thread that may
    /// wait, whatever there is to do. Returns whether hardware came or went.
    pub(super) async fn poll(&mut self, component: &Arc<dyn Component>, ask: bool) -> Result<bool, FailedLook> {
        let pools = self.units.inventory().stocked();
        let (component, grants) = (Arc::clone(component), Arc::clone(&self.calls.grants));
        let count = calls_for(component.as_ref(), &grants, pools.len());
        let _turn = self.calls.services.component_state.write_turn().await?;
        let work = move |host: &dyn Fn() -> CallHost| {
            let problems: HashMap<_, _> = pools.values().flat_map(|pool| pool.problems(&grants.node)).collect();
            (problems, ask.then(|| findings(component.as_ref(), host, &pools)))
        };
        let (problems, found) = self.calls.calls(self.calls.limits(), count, work).await?;
        self.core.wake.away.seen(problems.keys());
        let news = self.units.set(Cause::HardwareGone, &problems);
        if let Some(found) = found {
            for (units, findings) in found? {
                self.apply(&units, &findings);
            }
            self.recovered();
        }
        Ok(news)
    }

    pub(super) fn apply(&mut self, units: &[Arc<UnitRecord>], findings: &[Finding]) {
        let policy = Arc::clone(self.policy());
        self.units.apply(units, findings, &policy, &self.shared.health_store);
    }
}
