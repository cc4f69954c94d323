//! From what the agent says of a claim to what is asked for: what it cannot have been given is refused.

use crate::config::ClaimName;
use crate::inventory::{Inventory, Listed};
use devgate_agent_protocol::Allocated;
use devgate_cdi::{Claim, ClaimTag};
use devgate_core::{Ask, Mode};
use devgate_types::{ResourceName, escape};
use std::collections::{BTreeMap, BTreeSet};

/// The most devices of a claim: the API has fewer.
const MAX_DEVICES: usize = 512;
/// The most characters of what is shown of a name.
const MAX_NAME: usize = 253;

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
}

/// What belongs together in one ask: a request's devices of one resource.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    tag: ClaimTag,
    resource: ResourceName,
}

/// What to ask for, by devices that there are or that the claim has already.
pub(crate) fn asks(
    now: &Inventory,
    held: &[Claim],
    name: &ClaimName,
    allocated: &[Allocated],
) -> Result<Vec<Ask>, NotAsked> {
    let first = allocated.first().ok_or(NotAsked::Nothing)?;
    if allocated.len() > MAX_DEVICES {
        return Err(NotAsked::TooMany(allocated.len()));
    }
    let mut parts = BTreeMap::<Part, (Mode, BTreeSet<String>)>::new();
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
        let part = parts.entry(Part { tag, resource }).or_insert_with(|| (mode, BTreeSet::new()));
        if part.0 != mode {
            return Err(refused("has admin access, or has none, unlike others of its request"));
        }
        part.1.insert(id);
    }
    let ask = |(Part { tag, resource }, (mode, ids)): (Part, (Mode, BTreeSet<String>))| Ask {
        resource,
        ids: ids.into_iter().collect(),
        share: tag.share.clone(),
        mode,
        tag: tag.to_string(),
    };
    Ok(parts.into_iter().map(ask).collect())
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
