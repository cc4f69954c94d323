//! What a cluster's scheduler is told of a resource's units, where it picks them: what the policy says of them, and what the host knows
//! for itself.

use crate::device_info::function_of;
use crate::offer::{Driver, Facts, Value};
use crate::unit_table::Told;
use crate::units::{PoolRecord, UnitRecord};
use devgate_node::Node;
use devgate_policy::{Dra, UnitFacts};
use devgate_types::{ResourceName, escape};
use std::sync::Arc;

/// Attributes of the host's own word.
const RESOURCE: &str = "devgate.dev/resource";
const ID: &str = "devgate.dev/id";
const NUMA: &str = "devgate.dev/numaNode";
/// Those that Kubernetes names for all drivers.
const PCI_BUS_ID: &str = "resource.kubernetes.io/pciBusID";
const PCIE_ROOT: &str = "resource.kubernetes.io/pcieRoot";
/// The longest text of an attribute.
const MAX_TEXT: usize = 64;
/// So many units that lack something are named in the log.
const LOGGED: usize = 4;

/// How a scheduler picks a resource's units.
pub(crate) struct Scheduled {
    pub(super) policy: Dra,
    pub(crate) driver: Driver,
}

impl Scheduled {
    pub(crate) fn new(policy: &Dra) -> Self {
        let Dra { evicts, admin_access: admin, shares, parameters, .. } = *policy;
        let driver = Driver { name: policy.driver.clone(), evicts, admin, shares, parameters };
        Self { policy: policy.clone(), driver }
    }

    /// What is told of a pool's units.
    pub(crate) fn tell(&self, plugin: &str, node: &Node, offered: &ResourceName, pool: &PoolRecord) -> Told {
        let mut told = Told::new();
        let mut logged = 0;
        for unit in &pool.units {
            let by_policy = by_policy(&self.policy, offered, pool, unit);
            if !by_policy.missing.is_empty() && logged < LOGGED {
                logged += 1;
                let so = if by_policy.is_less { "it is not published" } else { "it is published without" };
                let (id, missing) = (&unit.id, by_policy.missing.join(", "));
                tracing::warn!(plugin, family = "guest", "plugin {plugin}: device {id}: dra: {missing}; {so}");
            }
            if !by_policy.is_less {
                let facts =
                    Facts { attributes: by_policy.attributes, capacity: by_policy.capacity, ..Facts::default() };
                told.insert(unit.id.clone(), Arc::new(with_own(facts, node, offered, unit)));
            }
        }
        told
    }
}

/// What a policy says of a unit.
pub(crate) fn by_policy(
    policy: &Dra,
    offered: &ResourceName,
    pool: &PoolRecord,
    unit: &UnitRecord,
) -> devgate_policy::Facts {
    let devices: Vec<_> = unit.devices().map(|device| device.location()).collect();
    let (id, resource) = (unit.id.as_str(), pool.asked(offered));
    policy.facts(&UnitFacts { id, resource, devices: &devices, properties: &unit.properties }, offered)
}

/// What the host knows without a component.
fn with_own(mut facts: Facts, node: &Node, offered: &ResourceName, unit: &UnitRecord) -> Facts {
    let mut tell = |name: &str, value| facts.attributes.insert(name.to_owned(), value);
    let mut text = |name: &str, text: &str| {
        // Half a name would be another's.
        if text.len() <= MAX_TEXT && escape(text, MAX_TEXT * 2) == text {
            tell(name, Value::Text(text.to_owned()));
        }
    };
    text(RESOURCE, offered.as_str());
    text(ID, unit.id.as_str());
    if let Ok(function) = function_of(node, &unit.backing) {
        text(PCI_BUS_ID, function.name());
        if let Some(root) = function.location().split('/').find(|part| part.starts_with("pci")) {
            text(PCIE_ROOT, root);
        }
    }
    let mut numa = unit.numa_nodes.iter();
    if let (Some(one), None) = (numa.next(), numa.next()) {
        tell(NUMA, Value::Int(i64::from(*one)));
    }
    facts
}
