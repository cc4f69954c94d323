//! Hardware that is there and that a component cannot describe now: a device that sleeps, or one that does not answer. A
//! component remembers nothing between calls, so it can only name the device; what it was is in the host's record.

use super::gate::most_units;
use super::{Inventory, MOST_DEVICES, Rejection, UnitRecord};
use crate::call::CallHost;
use devgate_model::{NodeNumber, Property};
use devgate_node::DevicePath;
use std::collections::{BTreeSet, HashSet};
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
        let (taken, partitions) = (Taken::of(self), host.policy().partitions);
        let mut kept = Vec::new();
        for (resource, pool) in &old.pools {
            let named = |unit: &&Arc<UnitRecord>| unit.backing.iter().any(|device| self.unread.contains(device.name()));
            let left = |unit: &&Arc<UnitRecord>| {
                taken.leaves(unit)
                    || (partitions && !taken.has_id(unit) && self.units().all(|new| are_apart(unit, new)))
            };
            let units = pool.units.iter().filter(named).filter(left);
            kept.extend(units.map(|unit| (resource, pool, Arc::clone(unit))));
        }
        let most = most_units(host.policy());
        for (resource, pool, unit) in kept {
            if self.units().count() >= most {
                let what = format!("id {} of {resource}", unit.id);
                let why = format!("there are more than {MOST_DEVICES} devices, replicas counted (replicas)");
                rejected.push(Rejection { what, why });
                continue;
            }
            if let Some(why) = host.no_longer_offered(&unit) {
                self.withdrawn.insert(unit.id.clone(), why.into());
            }
            let units = &mut self.pool_like(resource, pool).units;
            let at = units.partition_point(|other| other.id < unit.id);
            units.insert(at, unit);
        }
        rejected
    }
}

/// What the units of an inventory have.
struct Taken {
    ids: HashSet<String>,
    devices: BTreeSet<DevicePath>,
    nodes: BTreeSet<NodeNumber>,
}

impl Taken {
    fn of(inventory: &Inventory) -> Self {
        let units = || inventory.units();
        Self {
            ids: units().map(|unit| unit.id.to_string()).collect(),
            devices: units().flat_map(|unit| unit.backing.iter().cloned()).collect(),
            nodes: units().flat_map(|unit| exclusive(unit)).collect(),
        }
    }

    fn has_id(&self, unit: &UnitRecord) -> bool {
        self.ids.contains(unit.id.as_str())
    }

    fn leaves(&self, unit: &UnitRecord) -> bool {
        !self.has_id(unit)
            && unit.backing.iter().all(|device| !self.devices.contains(device))
            && exclusive(unit).all(|node| !self.nodes.contains(&node))
    }
}

/// Whether two units have nothing in common, or are parts of it: each with a node that the other has not.
fn are_apart(one: &UnitRecord, two: &UnitRecord) -> bool {
    let has_more = |a: &UnitRecord, b: &UnitRecord| exclusive(a).any(|node| exclusive(b).all(|other| other != node));
    let devices = one.backing.iter().any(|device| two.backing.contains(device));
    let nodes = exclusive(one).any(|node| exclusive(two).any(|other| other == node));
    !(devices || nodes) || (has_more(one, two) && has_more(two, one))
}

/// The nodes that a unit has for itself.
fn exclusive(unit: &UnitRecord) -> impl Iterator<Item = NodeNumber> {
    unit.nodes
        .iter()
        .filter(|node| !node.grant.shared)
        .map(|node| node.node.number)
}
