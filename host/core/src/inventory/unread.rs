//! Hardware that is there and that a component cannot describe now: a device that sleeps, or one that does not answer. A
//! component remembers nothing between calls, so it can only name the device; what it was is in the host's record.

use super::Inventory;
use super::gate::{most_units, too_many};
use crate::call::CallHost;
use crate::ledger::{Footprint, Occupancy, Owner};
use crate::units::{PoolRecord, Rejection, UnitRecord};
use devgate_types::{Property, ResourceName};
use std::sync::Arc;

/// The pool's property that names such devices, as `wit/types.wit` says.
const UNREAD: &str = "devgate.unread";

/// The kernel names of the devices that a pool's properties name.
pub(super) fn named(properties: &[Property]) -> impl Iterator<Item = String> {
    let values = properties.iter().filter(|property| property.name == UNREAD);
    values.flat_map(|property| property.value.split_whitespace().map(str::to_owned))
}

impl Inventory {
    /// Takes over units of `old` that are made of a device that the component cannot describe now, unless what it does
    /// describe has their id or any of their hardware: then they are something else by now. Parts of a device may have it in
    /// common with what is described (`partitions`).
    ///
    /// What the policy does not offer any more stays listed as well, and is not given: a driver or an attribute that a selector
    /// states is another by now, as it is for hardware that has failed.
    pub(crate) fn keep_unread(&mut self, old: &Self, host: &CallHost) -> Vec<Rejection> {
        let mut rejected = Vec::new();
        if self.unread.is_empty() {
            return rejected;
        }
        let policy = host.policy();
        let plugin = policy.name.as_str();
        // What a plugin's units share with each other is no reason that one of them is still there.
        let alone = |pool: &PoolRecord, unit: &Arc<UnitRecord>| Footprint {
            shared: Vec::new(),
            shares: false,
            ..unit.footprint(pool, policy)
        };
        let new: Vec<Footprint> = self.all().map(|(_, pool, unit)| alone(pool, unit)).collect();
        let mut occupancy = Occupancy::default();
        new.iter().for_each(|footprint| occupancy.add(Owner { plugin, footprint, is_held: false }));
        let is_kept = |(_, pool, unit): &(&ResourceName, &PoolRecord, &Arc<UnitRecord>)| {
            let footprint = &alone(pool, unit);
            unit.backing.iter().any(|device| self.unread.contains(device.name()))
                && occupancy.conflict(Owner { plugin, footprint, is_held: false }).is_none()
        };
        let kept: Vec<_> = old.all().filter(is_kept).collect();
        let most = most_units(host.policy());
        for (resource, pool, unit) in kept {
            if self.units().count() >= most {
                let what = format!("id {} of {resource}", unit.id);
                rejected.push(Rejection { what, why: too_many().0 });
                continue;
            }
            if let Some(why) = host.grants.no_longer_offered(unit) {
                self.withdrawn.insert(unit.id.clone(), why.into());
            }
            let pool = self.pool_like(resource, pool);
            let (Ok(at) | Err(at)) = pool.place(unit.id.as_str());
            pool.units.insert(at, Arc::clone(unit));
        }
        rejected
    }
}
