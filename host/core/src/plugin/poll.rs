//! A tick's look: what the host itself sees of every unit, and what the component says of their health.

use super::Plugin;
use crate::call::CallHost;
use crate::look::verdicts;
use crate::units::{Cause, PoolRecord, UnitRecord};
use devgate_types::component::Component;
use devgate_types::{CallError, ResourceName, Verdict};
use std::collections::HashMap;
use std::sync::Arc;

impl Plugin {
    /// Looks at what every unit is made of, and asks the component for its verdicts if `ask`. One hop to a thread that may
    /// wait, whatever there is to do. Returns whether hardware came or went.
    pub(super) async fn poll(&mut self, component: &Arc<dyn Component>, ask: bool) -> Result<bool, CallError> {
        let pools = self.units.inventory().pools.iter().map(|(name, pool)| (name.clone(), pool.clone()));
        let pools: Vec<_> = pools.filter(|(_, pool)| !pool.units.is_empty()).collect();
        let (asked, component, grants) = (pools.clone(), Arc::clone(component), Arc::clone(&self.calls.grants));
        let _turn = self.calls.services.component_state.write_turn().await?;
        let work = move |host: &dyn Fn() -> CallHost| {
            let problems: HashMap<_, _> = asked.iter().flat_map(|(_, pool)| pool.problems(&grants.node)).collect();
            let verdicts = |(resource, pool): &(ResourceName, PoolRecord)| {
                verdicts(component.as_ref(), &mut host(), pool.asked(resource), &pool.units)
            };
            let verdicts = ask.then(|| asked.iter().map(verdicts).collect::<Result<Vec<_>, _>>());
            (problems, verdicts)
        };
        let (problems, verdicts) = self.calls.calls(self.calls.limits(), pools.len(), work).await?;
        self.core.wake.away.seen(problems.keys());
        let news = self.units.set(Cause::HardwareGone, &problems);
        if let Some(verdicts) = verdicts {
            for ((_, pool), verdicts) in pools.iter().zip(verdicts?) {
                self.apply_verdicts(&pool.units, &verdicts);
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
