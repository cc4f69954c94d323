//! Which devices are taken where only their number is asked for, and why there are not so many.

use devgate_core::{Consumer, Devices};
use devgate_types::{ResourceName, escape};
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many devices, and so many reasons, are named in an error.
const SHOWN: usize = 4;

/// Which `count` of `available` to take, among them all of `must`; those near to `numa` first. Nothing where that cannot be done.
pub(crate) async fn choose(
    devices: &dyn Devices,
    resource: &ResourceName,
    available: &[String],
    must: &[String],
    count: usize,
    numa: &[u32],
) -> Option<Vec<String>> {
    let offers = Arc::clone(&devices.offers().borrow());
    let offer = offers.iter().find(|offer| offer.resource() == resource)?;
    let list = Arc::clone(&offer.devices().borrow());
    let is_near = |id: &&String| {
        let mut same = list.devices.iter().filter(|device| device.id == **id);
        same.any(|device| device.numa_nodes.iter().any(|node| numa.contains(node)))
    };
    let near: Vec<_> = available.iter().filter(is_near).cloned().collect();
    let chosen = match (near.len() >= count, near.is_empty()) {
        (true, _) if must.is_empty() => offer.choose(&near, must, count).await,
        (false, false) if must.is_empty() => offer.choose(available, &near, count).await,
        _ => offer.choose(available, must, count).await,
    };
    (chosen.len() == count).then_some(chosen)
}

/// Why there are not more that somebody could have: text for people, to go on with.
pub(crate) fn why_not_enough(devices: &dyn Devices, resource: &ResourceName, who: &Consumer) -> String {
    // Most have the same reason.
    let unavailable = devices.unavailable(resource, who);
    let mut reasons = BTreeMap::<&str, Vec<&str>>::new();
    for (id, why) in &unavailable {
        reasons.entry(why).or_default().push(id);
    }
    let named = |ids: &[&str]| match ids.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", ids.get(..SHOWN).unwrap_or_default().join(", ")),
        _ => ids.join(", "),
    };
    let why = reasons
        .iter()
        .take(SHOWN)
        .map(|(why, ids)| format!("; {}: {why}", escape(&named(ids), 320)));
    why.collect()
}
