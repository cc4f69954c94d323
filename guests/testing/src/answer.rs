//! From the component's types to the host's and back.

use devgate_sdk as sdk;
use devgate_sdk::ErrorKind;
use devgate_types::{
    Condition, DeviceHandle, Edits, Effect, Failure, FailureKind, MountHandle, NodeHandle, Origin, Pool, Property,
    Setting, Unit, Verdict,
};

/// Units as the component gets them, with own handles. In a call.
pub(crate) fn lend(units: &[Unit]) -> Vec<sdk::Unit> {
    let unit = |unit: &Unit| sdk::Unit {
        id: unit.id.clone(),
        backing: unit.backing.iter().map(|device| sdk::Device::of_number(device.0)).collect(),
        nodes: unit.nodes.iter().map(|node| sdk::Node::of_number(node.0)).collect(),
        properties: unit.properties.iter().map(|p| sdk::Property::new(&p.name, &p.value)).collect(),
    };
    units.iter().map(unit).collect()
}

/// Parameters as the component gets them.
pub(crate) fn settings(settings: &[Setting]) -> Vec<sdk::Setting> {
    let setting = |Setting { origin, json }: &Setting| sdk::Setting {
        origin: match origin {
            Origin::Class => sdk::Origin::Class,
            Origin::Claim => sdk::Origin::Claim,
        },
        json: json.clone(),
    };
    settings.iter().map(setting).collect()
}

pub(crate) fn pools(pools: Vec<sdk::Pool>) -> Vec<Pool> {
    let pool = |pool: sdk::Pool| Pool {
        resource: pool.resource,
        units: pool.units.into_iter().map(unit).collect(),
        shared_nodes: nodes(&pool.shared_nodes),
        properties: properties(pool.properties),
    };
    pools.into_iter().map(pool).collect()
}

fn unit(unit: sdk::Unit) -> Unit {
    Unit {
        id: unit.id,
        backing: unit.backing.iter().map(|device| DeviceHandle(device.number_of())).collect(),
        nodes: nodes(&unit.nodes),
        properties: properties(unit.properties),
    }
}

fn nodes(nodes: &[sdk::Node]) -> Vec<NodeHandle> {
    nodes.iter().map(|node| NodeHandle(node.number_of())).collect()
}

pub(crate) fn verdicts(verdicts: Vec<sdk::Verdict>) -> Vec<Verdict> {
    let verdict = |verdict| match verdict {
        sdk::Verdict::Healthy => Verdict::Healthy,
        sdk::Verdict::Unhealthy(reason) => Verdict::Unhealthy(reason),
        sdk::Verdict::Unknown(reason) => Verdict::Unknown(reason),
    };
    verdicts.into_iter().map(verdict).collect()
}

pub(crate) fn conditions(lists: Vec<Vec<sdk::Condition>>) -> Vec<Vec<Condition>> {
    let condition = |sdk::Condition { key, effect, message }| {
        let effect = match effect {
            sdk::Effect::Inform => Effect::Inform,
            sdk::Effect::NoNew => Effect::NoNew,
            sdk::Effect::Evict => Effect::Evict,
        };
        Condition { key, effect, message }
    };
    lists.into_iter().map(|list| list.into_iter().map(condition).collect()).collect()
}

pub(crate) fn edits(edits: sdk::Edits) -> Edits {
    Edits {
        env: properties(edits.env),
        mounts: edits.mounts.iter().map(|mount| MountHandle(mount.number_of())).collect(),
        annotations: properties(edits.annotations),
        cdi: edits.cdi,
        properties: properties(edits.properties),
    }
}

fn properties(properties: Vec<sdk::Property>) -> Vec<Property> {
    let property = |sdk::Property { name, value }| Property { name, value };
    properties.into_iter().map(property).collect()
}

/// What the component says went wrong.
pub(crate) fn failure(error: sdk::Error) -> Failure {
    let kind = match error.kind {
        ErrorKind::Denied => FailureKind::Denied,
        ErrorKind::NotFound => FailureKind::NotFound,
        ErrorKind::Gone => FailureKind::Gone,
        ErrorKind::Invalid => FailureKind::Invalid,
        ErrorKind::Io => FailureKind::Io,
        ErrorKind::Limit => FailureKind::Limit,
        ErrorKind::Busy => FailureKind::Busy,
        ErrorKind::Unsupported => FailureKind::Unsupported,
        ErrorKind::Other => FailureKind::Other,
    };
    Failure::new(kind, error.message).with_code(error.code)
}

/// What the host says went wrong.
pub(crate) fn error(failure: Failure) -> sdk::Error {
    let kind = match failure.kind {
        FailureKind::Denied => ErrorKind::Denied,
        FailureKind::NotFound => ErrorKind::NotFound,
        FailureKind::Gone => ErrorKind::Gone,
        FailureKind::Invalid => ErrorKind::Invalid,
        FailureKind::Io => ErrorKind::Io,
        FailureKind::Limit => ErrorKind::Limit,
        FailureKind::Busy => ErrorKind::Busy,
        FailureKind::Unsupported => ErrorKind::Unsupported,
        FailureKind::Other => ErrorKind::Other,
    };
    sdk::Error::new(kind, failure.message).with_code(failure.code)
}
