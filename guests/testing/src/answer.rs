//! From the component's types to the host's and back, held to the lengths that the contract documents, as a sandbox holds them.

use devgate_sdk as sdk;
use devgate_sdk::ErrorKind;
use devgate_types::{
    DeviceHandle, Edits, Failure, FailureKind, GuestFault, MountHandle, NodeHandle, Origin, Pool, Property, Setting,
    Unit, Verdict,
};
use std::collections::BTreeSet;

/// Bytes of a string, entries of a list, units of a pool, properties of a unit, and bytes of a property's name.
const STRING: usize = 4_096;
const LIST: usize = 4_096;
const UNITS: usize = 16_384;
const UNIT_PROPERTIES: usize = 32;
const NAME: usize = 128;
/// Bytes of a verdict's reason, an error's message and an error's code, which are cut.
const REASON: usize = 256;
const MESSAGE: usize = 1_024;
const CODE: usize = 64;
/// The property of a pool that is cut as well, between names.
const UNREAD: &str = "devgate.unread";

type Checked<T> = Result<T, GuestFault>;

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

pub(crate) fn pools(pools: Vec<sdk::Pool>) -> Checked<Vec<Pool>> {
    length("the list of pools", pools.len(), LIST)?;
    pools.into_iter().map(pool).collect()
}

fn pool(pool: sdk::Pool) -> Checked<Pool> {
    length("a pool's list of units", pool.units.len(), UNITS)?;
    Ok(Pool {
        resource: text("a pool's resource", pool.resource, STRING)?,
        units: pool.units.into_iter().map(unit).collect::<Checked<_>>()?,
        shared_nodes: nodes("a pool's shared nodes", &pool.shared_nodes)?,
        properties: properties("a pool's properties", pool.properties.into_iter().map(shorter).collect(), LIST)?,
    })
}

/// The names of devices cut to what a property holds, each of them whole.
fn shorter(mut property: sdk::Property) -> sdk::Property {
    if property.name == UNREAD && property.value.len() > STRING {
        // With the byte behind: where that is a space, the name before it is whole.
        let kept = cut(std::mem::take(&mut property.value), STRING + 1);
        property.value = kept.rsplit_once(' ').map_or("", |(names, _)| names).to_owned();
    }
    property
}

fn unit(unit: sdk::Unit) -> Checked<Unit> {
    length("a unit's backing", unit.backing.len(), LIST)?;
    Ok(Unit {
        id: text("a unit's id", unit.id, STRING)?,
        backing: unit.backing.iter().map(|device| DeviceHandle(device.number_of())).collect(),
        nodes: nodes("a unit's nodes", &unit.nodes)?,
        properties: properties("a unit's properties", unit.properties, UNIT_PROPERTIES)?,
    })
}

fn nodes(what: &str, nodes: &[sdk::Node]) -> Checked<Vec<NodeHandle>> {
    length(what, nodes.len(), LIST)?;
    Ok(nodes.iter().map(|node| NodeHandle(node.number_of())).collect())
}

pub(crate) fn verdicts(verdicts: Vec<sdk::Verdict>, asked: usize) -> Checked<Vec<Verdict>> {
    if verdicts.len() != asked {
        return Err(GuestFault::contract(&format!(
            "{} verdicts for {asked} units; give one for each, in their order",
            verdicts.len()
        )));
    }
    let verdict = |verdict| match verdict {
        sdk::Verdict::Healthy => Verdict::Healthy,
        sdk::Verdict::Unhealthy(reason) => Verdict::Unhealthy(cut(reason, REASON)),
        sdk::Verdict::Unknown(reason) => Verdict::Unknown(cut(reason, REASON)),
    };
    Ok(verdicts.into_iter().map(verdict).collect())
}

pub(crate) fn edits(edits: sdk::Edits) -> Checked<Edits> {
    length("edits.mounts", edits.mounts.len(), LIST)?;
    length("edits.cdi", edits.cdi.len(), LIST)?;
    let cdi = edits.cdi.into_iter().map(|name| text("a CDI name", name, STRING));
    Ok(Edits {
        env: properties("edits.env", edits.env, LIST)?,
        mounts: edits.mounts.iter().map(|mount| MountHandle(mount.number_of())).collect(),
        annotations: properties("edits.annotations", edits.annotations, LIST)?,
        cdi: cdi.collect::<Checked<_>>()?,
        properties: properties("edits.properties", edits.properties, LIST)?,
    })
}

pub(crate) fn choice(ids: Vec<String>) -> Checked<Vec<String>> {
    length("the choice", ids.len(), UNITS)?;
    ids.into_iter().map(|id| text("a chosen id", id, STRING)).collect()
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
    Failure::new(kind, cut(error.message, MESSAGE)).with_code(cut(error.code, CODE))
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

fn properties(what: &str, properties: Vec<sdk::Property>, most: usize) -> Checked<Vec<Property>> {
    length(what, properties.len(), most)?;
    let mut seen = BTreeSet::new();
    if let Some(again) = properties.iter().find(|property| !seen.insert(property.name.as_str())) {
        return Err(GuestFault::contract(&format!("{what}: \"{}\" appears twice", again.name)));
    }
    let property = |property: sdk::Property| {
        Ok(Property {
            name: text("a property's name", property.name, NAME)?,
            value: text("a property's value", property.value, STRING)?,
        })
    };
    properties.into_iter().map(property).collect()
}

fn length(what: &str, length: usize, most: usize) -> Checked<()> {
    if length > most {
        let message = format!("{what} has {length} entries; at most {most} are allowed");
        return Err(GuestFault::contract(&message));
    }
    Ok(())
}

fn text(what: &str, text: String, most: usize) -> Checked<String> {
    if text.len() > most {
        let message = format!("{what} has {} bytes; at most {most} are allowed", text.len());
        return Err(GuestFault::contract(&message));
    }
    if text.contains('\0') {
        return Err(GuestFault::contract(&format!("{what} contains a NUL")));
    }
    Ok(text)
}

/// At most `most` bytes, without half a character.
fn cut(mut text: String, most: usize) -> String {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.truncate(end.unwrap_or_default());
    text
}
