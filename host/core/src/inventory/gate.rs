//! The gate of `enumerate`: which of a component's pools and units are let through, and where the policy puts them.

use super::{Inventory, MAX_DEVICES, shared_nodes, unread, values};
use crate::call::CallHost;
use crate::device_info::{function_of, name_problem};
use crate::replica::replica_ids;
use crate::units::{GrantedNode, LeftOut, PoolRecord, Rejection, UnitRecord};
use devgate_policy::{Placed, PluginPolicy, UnitFacts};
use devgate_types::{Pool, ResourceName, UnitId, escape};
use std::collections::HashSet;
use std::sync::Arc;

/// Why a pool or a unit is not let through: text for people, in which the component's is escaped and cut.
pub(super) struct GateRefusal(pub(super) String);

pub(super) fn refused(why: impl Into<String>) -> GateRefusal {
    GateRefusal(why.into())
}

impl Inventory {
    /// Holds a component's answer against its grants. What passes is built from the handles' own objects; from the
    /// component come only ids and properties.
    pub(crate) fn gate(host: &CallHost, pools: Vec<Pool>) -> (Self, Vec<Rejection>) {
        let mut gate = Gate {
            policy: host.policy(),
            host,
            inventory: Self::default(),
            rejected: Vec::new(),
            asked: HashSet::new(),
            ids: HashSet::new(),
        };
        for pool in pools {
            gate.inventory.unread.extend(unread::named(&pool.properties));
            let what = format!("resource {}", escape(&pool.resource, 80));
            if let Err(GateRefusal(why)) = gate.pool(pool) {
                gate.rejected.push(Rejection { what, why });
            }
        }
        for pool in gate.inventory.pools.values_mut() {
            pool.units.sort_by(|a, b| a.id.cmp(&b.id));
        }
        (gate.inventory, gate.rejected)
    }
}

struct Gate<'a> {
    policy: &'a PluginPolicy,
    host: &'a CallHost,
    inventory: Inventory,
    rejected: Vec<Rejection>,
    /// The component's own names of the pools so far.
    asked: HashSet<ResourceName>,
    /// The ids that are offered so far.
    ids: HashSet<UnitId>,
}

impl Gate<'_> {
    fn pool(&mut self, pool: Pool) -> Result<(), GateRefusal> {
        let asked = ResourceName::try_new(&pool.resource).map_err(|e| refused(e.problem()))?;
        if !self.policy.knows_resource(&asked) {
            // It offers nothing: it is there for what cannot be described now.
            if pool.units.is_empty() && unread::named(&pool.properties).next().is_some() {
                return Ok(());
            }
            return Err(refused("the policy does not grant this name (resources); add it there, or list another"));
        }
        if !self.asked.insert(asked.clone()) {
            return Err(refused("the same resource was listed before; one pool for each"));
        }
        let shared_nodes = shared_nodes(self.host, &pool.shared_nodes)?;
        // A pool that is empty in itself is offered so; one whose units all went elsewhere is not.
        if pool.units.is_empty() && self.policy.grants_resource(&asked) {
            self.pool_for(&asked, &asked, &shared_nodes)?;
        }
        for unit in pool.units {
            let what = format!("id {} of {asked}", escape(&unit.id, 80));
            let record = UnitRecord::gate(self.host, unit);
            if let Err(GateRefusal(why)) = record.and_then(|record| self.unit(record, &asked, &shared_nodes)) {
                self.rejected.push(Rejection { what, why });
            }
        }
        Ok(())
    }

    /// Puts a unit where the policy wants it.
    fn unit(
        &mut self,
        mut unit: UnitRecord,
        asked: &ResourceName,
        shared_nodes: &[GrantedNode],
    ) -> Result<(), GateRefusal> {
        // Whatever the component says that it is made of: what its nodes belong to is part of it, and so is what is above.
        let devices: Vec<_> = unit.devices().map(|device| device.location()).collect();
        let facts =
            UnitFacts { id: unit.id.as_str(), resource: asked, devices: &devices, properties: &unit.properties };
        let resource = match self.policy.place(&facts) {
            Placed::Offered(resource) => resource,
            Placed::Left(origin) => {
                let (resource, origin) = (asked.clone(), origin.clone());
                let UnitRecord { id, backing, nodes, .. } = unit;
                self.inventory.left.insert(id.clone(), LeftOut { id, resource, backing, nodes, origin });
                return Ok(());
            }
            Placed::NotGranted => {
                return Err(refused("no rename matches it, and its own name is not granted (resources, rename)"));
            }
        };
        self.fits(&unit)?;
        if self.policy.containers.device_info {
            function_of(&self.host.grants.node, &unit.backing).map_err(|why| refused(why.to_string()))?;
            let longest = replica_ids(&unit.id, self.policy.replicas).last();
            if let Some(problem) = longest.and_then(|id| name_problem(&resource, &id)) {
                return Err(refused(problem));
            }
        }
        if self.ids.contains(&unit.id) {
            let why = "the same id was listed before; take what no other unit has, such as a serial number";
            return Err(refused(why));
        }
        unit.values = values::of(self.policy, &resource, &unit);
        let pool = self.pool_for(&resource, asked, shared_nodes)?;
        let id = unit.id.clone();
        pool.units.push(Arc::new(unit));
        self.ids.insert(id);
        Ok(())
    }

    /// The pool that is offered as `resource` and made of the component's `asked`.
    fn pool_for(
        &mut self,
        resource: &ResourceName,
        asked: &ResourceName,
        shared_nodes: &[GrantedNode],
    ) -> Result<&mut PoolRecord, GateRefusal> {
        let pool = self.inventory.pools.entry(resource.clone()).or_insert_with(|| PoolRecord {
            asked: Some(asked.clone()),
            units: Vec::new(),
            shared_nodes: shared_nodes.to_vec(),
        });
        match &pool.asked {
            Some(other) if other != asked => {
                Err(refused(format!("it would be offered as {resource}, which is made of the component's {other}")))
            }
            _ => Ok(pool),
        }
    }

    /// Whether the kubelet can know the unit's replicas: by ids of at most 63 bytes, and not too many of them.
    fn fits(&self, unit: &UnitRecord) -> Result<(), GateRefusal> {
        let replicas = self.policy.replicas;
        let longest = replica_ids(&unit.id, replicas).last().map_or(0, |id| id.len());
        if longest > UnitId::MAX_BYTES {
            let most = UnitId::MAX_BYTES;
            let why = format!("with the number of a replica the id has {longest} bytes; at most {most}");
            return Err(refused(why));
        }
        if self.ids.len() >= most_units(self.policy) {
            return Err(too_many());
        }
        Ok(())
    }
}

/// The most units of a plugin.
pub(super) fn most_units(policy: &PluginPolicy) -> usize {
    MAX_DEVICES / usize::try_from(policy.replicas.max(1)).unwrap_or(usize::MAX)
}

pub(super) fn too_many() -> GateRefusal {
    refused(format!("there are more than {MAX_DEVICES} devices, replicas counted (replicas)"))
}
