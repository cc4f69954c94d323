//! From what the agent says of a claim to what is asked for: what it cannot have been given is refused.

use crate::config::ClaimName;
use crate::inventory::{Inventory, Listed};
use devgate_agent_protocol::{Allocated, Parameters};
use devgate_cdi::{Claim, ClaimTag};
use devgate_core::{Ask, Mode};
use devgate_types::{Origin, ResourceName, Setting, escape};
use std::collections::{BTreeMap, BTreeSet};

/// The most devices of a claim: the API has fewer.
const MAX_DEVICES: usize = 512;
/// The most characters of what is shown of a name.
const MAX_NAME: usize = 253;
/// The most parameters of a request, and the most bytes of each. The API has no more: 32 of a class, 32 of a claim.
const MAX_SETTINGS: usize = 64;
const MAX_JSON: usize = 10 << 10;

/// Why a claim's devices are not asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAsked {
    #[error("it was given no device of this driver on this node")]
    Nothing,
    #[error("it was given {0} devices, more than there can be")]
    TooMany(usize),
    #[error("device {}: {}", escape(.0, MAX_NAME), .1)]
    Device(String, &'static str),
    #[error("request {}: asks for admin access, which the policy refuses (dra.admin-access)", escape(.0, MAX_NAME))]
    Admin(String),
    #[error("request {}: has {} parameters, more than {MAX_SETTINGS}", escape(.0, MAX_NAME), .1)]
    TooManySettings(String, usize),
    #[error("request {}: has parameters of {} bytes, more than {MAX_JSON}", escape(.0, MAX_NAME), .1)]
    TooLong(String, usize),
}

/// What belongs together in one ask: a request's devices of one resource.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    tag: ClaimTag,
    resource: ResourceName,
}

/// What of it is the same for all devices.
struct Kind<'a> {
    mode: Mode,
    /// With the subrequest that was taken.
    request: &'a str,
}

/// What to ask for, by devices that there are or that the claim has already.
pub(crate) fn asks(
    now: &Inventory,
    held: &[Claim],
    name: &ClaimName,
    allocated: &[Allocated],
    parameters: &[Parameters],
) -> Result<Vec<Ask>, NotAsked> {
    let first = allocated.first().ok_or(NotAsked::Nothing)?;
    if allocated.len() > MAX_DEVICES {
        return Err(NotAsked::TooMany(allocated.len()));
    }
    let mut parts = BTreeMap::<Part, (Kind<'_>, BTreeSet<String>)>::new();
    for device in allocated {
        let refused = |why| NotAsked::Device(device.device.clone(), why);
        let request = device.request.split('/').next().unwrap_or_default().to_owned();
        if device.pool != first.pool {
            return Err(refused("is in another pool than the others"));
        }
        let (resource, id) = find(now, held, &device.device).ok_or_else(|| refused("there is none of this name"))?;
        if device.admin && !now.driver.admin {
            return Err(NotAsked::Admin(request));
        }
        let ClaimName { namespace, name } = name.clone();
        let tag = ClaimTag { request, pool: device.pool.clone(), namespace, name, share: device.share.clone() };
        if !tag.is_good() {
            return Err(refused("the names of its request, pool or share are none of the API's"));
        }
        let mode = if device.admin { Mode::Observe } else { Mode::Hold };
        let kind = Kind { mode, request: &device.request };
        let part = parts.entry(Part { tag, resource }).or_insert_with(|| (kind, BTreeSet::new()));
        if part.0.mode != mode {
            return Err(refused("has admin access, or has none, unlike others of its request"));
        }
        if part.0.request != device.request {
            return Err(refused("is of another subrequest than others of its request"));
        }
        part.1.insert(id);
    }
    let ask = |(Part { tag, resource }, (kind, ids)): (Part, (Kind<'_>, BTreeSet<String>))| {
        Ok(Ask {
            resource,
            ids: ids.into_iter().collect(),
            share: tag.share.clone(),
            mode: kind.mode,
            tag: tag.to_string(),
            settings: settings(parameters, kind.request)?,
        })
    };
    parts.into_iter().map(ask).collect()
}

/// What is meant for a request, in its order.
fn settings(parameters: &[Parameters], request: &str) -> Result<Vec<Setting>, NotAsked> {
    let main = request.split('/').next().unwrap_or_default();
    let is_meant = |of: &&Parameters| {
        let mut requests = of.requests.iter();
        of.requests.is_empty() || requests.any(|name| name == main || name == request)
    };
    let meant: Vec<_> = parameters.iter().filter(is_meant).collect();
    if meant.len() > MAX_SETTINGS {
        return Err(NotAsked::TooManySettings(main.to_owned(), meant.len()));
    }
    let setting = |of: &Parameters| match of.json.len() {
        length if length > MAX_JSON => Err(NotAsked::TooLong(main.to_owned(), length)),
        _ => {
            let origin = if of.of_class { Origin::Class } else { Origin::Claim };
            Ok(Setting { origin, json: of.json.clone() })
        }
    };
    meant.into_iter().map(setting).collect()
}

fn find(now: &Inventory, held: &[Claim], name: &str) -> Option<(ResourceName, String)> {
    if let Some(Listed { resource, id, .. }) = now.device(name) {
        return Some((resource.clone(), id.clone()));
    }
    held.iter().find_map(|claim| {
        let device = claim.devices.iter().find(|device| device.name == name)?;
        Some((claim.resource.clone(), device.id.clone()))
    })
}
