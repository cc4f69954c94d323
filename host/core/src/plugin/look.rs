//! A tick's look: what the host itself sees of every unit, and what the component says of their health.

use super::Plugin;
use crate::call::{CallHost, Moment};
use crate::calls;
use crate::health::UnitHealth;
use crate::units::GrantedNode;
use crate::units::{PoolRecord, UnitRecord};
use devgate_node::Node;
use devgate_types::component::Component;
use devgate_types::{CallError, GuestFault, ResourceName, UnitId, Verdict};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Instant;

impl Plugin {
    /// Looks at what every unit is made of, and asks the component for its verdicts if `ask`. One hop to a thread that may
    /// wait, whatever there is to do.
    pub(super) async fn look(&mut self, component: &Arc<dyn Component>, ask: bool) -> Result<(), CallError> {
        let pools = self
            .inventory
            .pools
            .iter()
            .map(|(name, pool)| (name.clone(), pool.clone()));
        let pools: Vec<_> = pools.filter(|(_, pool)| !pool.units.is_empty()).collect();
        let (asked, component, grants) = (pools.clone(), Arc::clone(component), Arc::clone(&self.calls.grants));
        let turn = self.calls.means.blob.turn().await?;
        let moment = Moment::Health(turn.ticket());
        let work = move |host: &dyn Fn() -> Box<CallHost>| {
            let problems: HashMap<_, _> = asked.iter().flat_map(|(_, pool)| pool.problems(&grants.node)).collect();
            let verdicts = |(resource, pool): &(ResourceName, PoolRecord)| {
                let mut host = host();
                host.during(moment);
                verdicts(component.as_ref(), host, pool.asked(resource), &pool.units)
            };
            let verdicts = ask.then(|| asked.iter().map(verdicts).collect::<Result<Vec<_>, _>>());
            (problems, verdicts)
        };
        let (problems, verdicts) = self.calls.calls(pools.len(), work).await?;
        drop(turn);
        self.core.wake.away.seen(problems.keys());
        self.problems = problems;
        if let Some(verdicts) = verdicts {
            for ((_, pool), verdicts) in pools.iter().zip(verdicts?) {
                self.take_verdicts(&pool.units, &verdicts);
            }
            self.recovered();
        }
        Ok(())
    }

    pub(super) fn take_verdicts(&mut self, units: &[Arc<UnitRecord>], verdicts: &[Verdict]) {
        let (policy, now) = (Arc::clone(self.policy()), Instant::now());
        let ailments = &self.shared.ailments;
        for (unit, verdict) in units.iter().zip(verdicts) {
            let (was, health) = match self.health.entry(unit.id.clone()) {
                Entry::Occupied(known) => {
                    let health = known.into_mut();
                    let was = health.ailment().is_some();
                    health.update(verdict, &policy.health, now);
                    (was, health)
                }
                Entry::Vacant(new) => {
                    let forgives = policy.health.new_boot_forgives;
                    let known = ailments.of(&policy.name, &unit.id, forgives);
                    let health = UnitHealth::first(verdict, known.as_ref(), &policy.health, now);
                    // What was forgiven is not kept either.
                    (true, new.insert(health))
                }
            };
            match health.ailment() {
                None if was => ailments.note(&policy.name, &unit.id, None),
                // Found so in this boot. What only has not been found well yet stays what it was noted as.
                Some(ailment) if matches!(verdict, Verdict::Unhealthy(_)) => {
                    ailments.note(&policy.name, &unit.id, Some(ailment));
                }
                _ => {}
            }
        }
    }
}

impl PoolRecord {
    /// What is wrong with the hardware of each unit now, as the host sees it. A shared node that is not there is missing
    /// for all of them.
    pub(crate) fn problems(&self, node: &Node) -> Vec<(UnitId, Arc<str>)> {
        let shared: Option<Arc<str>> =
            changed_node(node, &self.shared_nodes).map(|problem| format!("shared {problem}").into());
        let problem = |unit: &Arc<UnitRecord>| {
            let gone = unit.backing.iter().find(|device| !node.exists(device));
            let own = gone.map(|device| format!("device {} is gone", device.name()));
            let own = own.or_else(|| changed_node(node, &unit.nodes)).map(Arc::from);
            Some((unit.id.clone(), own.or_else(|| shared.clone())?))
        };
        self.units.iter().filter_map(problem).collect()
    }
}

/// The first of these nodes that is not what it was.
fn changed_node(node: &Node, nodes: &[GrantedNode]) -> Option<String> {
    nodes.iter().find_map(|granted| {
        let changed = node.check_node(&granted.node).err()?;
        Some(format!("node {} {changed}", granted.node.path))
    })
}

/// The component's verdicts on these units.
pub(crate) fn verdicts(
    component: &dyn Component,
    mut host: Box<CallHost>,
    resource: &ResourceName,
    units: &[Arc<UnitRecord>],
) -> Result<Vec<Verdict>, CallError> {
    let lent: Vec<_> = units.iter().map(|unit| unit.lend(&mut host)).collect();
    let (verdicts, _) = calls::open(component.health(host, resource.as_str(), &lent)?)?;
    if verdicts.len() != lent.len() {
        let message = format!("health gave {} verdicts for {} units", verdicts.len(), lent.len());
        return Err(GuestFault::contract(&message).into());
    }
    Ok(verdicts)
}
