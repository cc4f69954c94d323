//! A plugin's labels, from its inventory.

use crate::inventory::Inventory;
use devgate_policy::{Derived, LabelUnit, PluginPolicy, UnitFacts};
use devgate_types::UnitId;

/// The labels that a policy's rules make of an inventory. `health` says of a unit whether it may be handed out; nothing of one
/// that is not shown.
pub(crate) fn of(policy: &PluginPolicy, inventory: &Inventory, health: impl Fn(&UnitId) -> Option<bool>) -> Derived {
    if policy.labels.is_empty() {
        return Derived::default();
    }
    let mut units = Vec::new();
    for (offered, pool) in &inventory.pools {
        for unit in &pool.units {
            let Some(healthy) = health(&unit.id) else { continue };
            let devices: Vec<_> = unit.devices().map(|device| device.location()).collect();
            units.push((offered, pool.asked(offered), unit, devices, healthy));
        }
    }
    let units = units.iter().map(|(offered, asked, unit, devices, healthy)| LabelUnit {
        facts: UnitFacts { id: unit.id.as_str(), resource: asked, devices, properties: &unit.properties },
        offered,
        healthy: *healthy,
        numa_nodes: &unit.numa_nodes,
    });
    policy.labels.of(&units.collect::<Vec<_>>(), policy.replicas)
}
