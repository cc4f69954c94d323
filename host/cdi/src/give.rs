//! Gives devices of one resource: those that are named, or as many as are asked for, near to each other.

use devgate_core::offer::{AllocateError, Device, Offer};
use devgate_core::{Ask, Consumer, Devices, Granted, Mode};
use devgate_types::{ResourceName, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// So many devices, and so many reasons, are named in an error.
const SHOWN: usize = 4;
/// How often devices are chosen anew where others got them first.
const TRIES: usize = 4;

/// What a consumer is to be given.
pub(crate) struct Wanted<'a> {
    pub(crate) who: &'a Consumer,
    pub(crate) resource: &'a ResourceName,
    pub(crate) count: usize,
    /// Ids that must be among them.
    pub(crate) ids: &'a [String],
    /// NUMA nodes that they should be near to.
    pub(crate) numa: &'a [u32],
    /// How long it lasts, if not until it is released.
    pub(crate) ttl: Option<Duration>,
}

/// Why nothing was given.
#[derive(Debug, thiserror::Error)]
pub enum NotGiven {
    /// There are not so many: of which resource, how many were asked for and could be had, of how many, and why not the others.
    #[error("resource {0}: {1} asked for, {2} of {3} can be had{4}")]
    NotEnough(ResourceName, usize, usize, usize, String),
    /// They could not be had after all.
    #[error(transparent)]
    Allocate(#[from] AllocateError),
}

pub(crate) async fn give(devices: &dyn Devices, wanted: &Wanted<'_>) -> Result<Granted, NotGiven> {
    let (who, resource) = (wanted.who, wanted.resource);
    let is_chosen = wanted.ids.len() != wanted.count;
    let mut tries = 1..TRIES;
    loop {
        let ids = if is_chosen {
            let (available, unavailable) = devices.available(resource, who);
            let Some(chosen) = choose(devices, wanted, &available).await else {
                let (free, why) = (available.len(), reasons(&unavailable));
                let all = free + unavailable.len();
                return Err(NotGiven::NotEnough(resource.clone(), wanted.count, free, all, why));
            };
            chosen
        } else {
            wanted.ids.to_vec()
        };
        let ask = Ask {
            resource: resource.clone(),
            ids,
            share: None,
            mode: Mode::Hold,
            tag: String::new(),
            settings: Vec::new(),
        };
        match devices.allocate(who, &[ask], wanted.ttl).await {
            // Another consumer may have got one of them meanwhile.
            Err(AllocateError::Refused(_) | AllocateError::Busy(_)) if is_chosen && tries.next().is_some() => {}
            Err(error) => return Err(error.into()),
            Ok(granted) => {
                let nothing = || AllocateError::Host(format!("{who}: nothing was given"));
                return Ok(granted.into_iter().next().ok_or_else(nothing)?);
            }
        }
    }
}

/// Which of those that are available to take, near to `numa` first. `None` where there are not so many.
async fn choose(devices: &dyn Devices, wanted: &Wanted<'_>, available: &[String]) -> Option<Vec<String>> {
    let (count, must) = (wanted.count, wanted.ids);
    let offers = Arc::clone(&devices.offers().borrow());
    let offer = offers.iter().find(|offer| offer.resource() == wanted.resource)?;
    let nodes = numa_nodes(devices, wanted.resource);
    let is_near = |id: &&String| {
        let mut its = nodes.get(*id).into_iter().flatten();
        its.any(|node| wanted.numa.contains(node))
    };
    let near: Vec<_> = available.iter().filter(is_near).cloned().collect();
    let chosen = match (near.len() >= count, near.is_empty()) {
        (true, _) if must.is_empty() => offer.choose(&near, must, count).await,
        (false, false) if must.is_empty() => offer.choose(available, &near, count).await,
        _ => offer.choose(available, must, count).await,
    };
    (chosen.len() == count).then_some(chosen)
}

/// The NUMA nodes of a resource's devices, by id.
pub(crate) fn numa_nodes(devices: &dyn Devices, resource: &ResourceName) -> BTreeMap<String, BTreeSet<u32>> {
    let offers = Arc::clone(&devices.offers().borrow());
    let lists = offers.iter().filter(|offer| offer.resource() == resource);
    let of = |offer: &Arc<dyn Offer>| {
        let list = Arc::clone(&offer.devices().borrow());
        let of = |device: &Device| (device.id.clone(), device.numa_nodes.clone());
        list.devices.iter().map(of).collect::<Vec<_>>()
    };
    lists.flat_map(of).collect()
}

/// Why devices cannot be had: most have the same reason.
fn reasons(unavailable: &[(String, String)]) -> String {
    let mut reasons = BTreeMap::<&str, Vec<&str>>::new();
    for (id, why) in unavailable {
        reasons.entry(why).or_default().push(id);
    }
    let named = |ids: &[&str]| match ids.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", ids.get(..SHOWN).unwrap_or_default().join(", ")),
        _ => ids.join(", "),
    };
    let why = reasons.iter().take(SHOWN).map(|(why, ids)| format!("; {}: {why}", escape(&named(ids), 320)));
    why.collect()
}
