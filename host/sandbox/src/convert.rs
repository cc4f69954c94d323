//! The contract's records between what `bindgen!` makes of them and plain data.

use crate::bindings::conditions::exports::devgate::plugin0_1_1::conditions as found;
use crate::bindings::parameters::exports::devgate::plugin0_1_1::parameters;
use crate::bindings::types as wit;
use devgate_types::{
    Condition, DeviceHandle, Edits, Effect, Failure, MountHandle, NodeHandle, Origin, Pool, Property, Setting, Unit,
    Verdict,
};
use wasmtime::component::Resource;

devgate_types::same!(Effect, found::Effect: Inform NoNew Evict);
devgate_types::same!(Origin, parameters::Origin: Class Claim);

pub(crate) fn pools(pools: Vec<wit::Pool>) -> Vec<Pool> {
    pools.into_iter().map(pool).collect()
}

pub(crate) fn verdicts(verdicts: Vec<wit::Verdict>) -> Vec<Verdict> {
    verdicts.into_iter().map(verdict).collect()
}

pub(crate) fn edits(edits: wit::Edits) -> Edits {
    Edits {
        env: properties(edits.env),
        mounts: edits.mounts.iter().map(|mount| MountHandle(mount.rep())).collect(),
        annotations: properties(edits.annotations),
        cdi: edits.cdi,
        properties: properties(edits.properties),
    }
}

pub(crate) fn failure(error: wit::Error) -> Failure {
    Failure::new(error.kind.into(), error.message).with_code(error.code)
}

/// Units as a component is handed them, with own handles.
pub(crate) fn units_for(units: &[Unit]) -> Vec<wit::Unit> {
    let property = |property: &Property| wit::Property { name: property.name.clone(), value: property.value.clone() };
    let unit = |unit: &Unit| wit::Unit {
        id: unit.id.clone(),
        backing: unit.backing.iter().map(|device| Resource::new_own(device.0)).collect(),
        nodes: unit.nodes.iter().map(|node| Resource::new_own(node.0)).collect(),
        properties: unit.properties.iter().map(property).collect(),
    };
    units.iter().map(unit).collect()
}

/// Parameters as a component is handed them.
pub(crate) fn settings(settings: &[Setting]) -> Vec<parameters::Setting> {
    let setting =
        |Setting { origin, json }: &Setting| parameters::Setting { origin: (*origin).into(), json: json.clone() };
    settings.iter().map(setting).collect()
}

pub(crate) fn conditions(lists: Vec<Vec<found::Condition>>) -> Vec<Vec<Condition>> {
    let condition = |found::Condition { key, effect, message }| Condition { key, effect: effect.into(), message };
    lists.into_iter().map(|list| list.into_iter().map(condition).collect()).collect()
}

fn pool(pool: wit::Pool) -> Pool {
    Pool {
        resource: pool.resource,
        units: pool.units.into_iter().map(unit).collect(),
        shared_nodes: nodes(&pool.shared_nodes),
        properties: properties(pool.properties),
    }
}

fn unit(unit: wit::Unit) -> Unit {
    Unit {
        id: unit.id,
        backing: unit.backing.iter().map(|device| DeviceHandle(device.rep())).collect(),
        nodes: nodes(&unit.nodes),
        properties: properties(unit.properties),
    }
}

fn nodes(nodes: &[Resource<NodeHandle>]) -> Vec<NodeHandle> {
    nodes.iter().map(|node| NodeHandle(node.rep())).collect()
}

fn verdict(verdict: wit::Verdict) -> Verdict {
    match verdict {
        wit::Verdict::Healthy => Verdict::Healthy,
        wit::Verdict::Unhealthy(reason) => Verdict::Unhealthy(reason),
        wit::Verdict::Unknown(reason) => Verdict::Unknown(reason),
    }
}

fn properties(properties: Vec<wit::Property>) -> Vec<Property> {
    let property = |property: wit::Property| Property { name: property.name, value: property.value };
    properties.into_iter().map(property).collect()
}
