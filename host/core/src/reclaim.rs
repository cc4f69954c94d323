//! Finds out what no pod has any more, and gives it back: the API has no call for the end of an allocation, and what is taken for free by
//! mistake is taken from under a running pod. So two looks in a row must not show it, and one more that began after them; and nothing may
//! have happened to it since it was read.

use crate::allocations::Allocations;
use crate::held_units::Reclaimable;
use crate::holders::{Holders, HoldersFeed, Offered};
use crate::registry::Registry;
use devgate_types::ResourceName;
use std::collections::HashMap;
use std::ops::Bound;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Looks in a row that must not see a unit.
const ABSENT: u32 = 2;
/// How long a look may take that is the last word before something is taken for free.
const LAST_LOOK: Duration = Duration::from_secs(20);

/// What the looks so far say of something since it was given.
struct Seen {
    since: Instant,
    /// Which process of the source of holders has seen a container have it, if any.
    by: Option<u64>,
    /// Looks in a row that saw no container have it.
    absent: u32,
}

/// By resource and id.
type All = HashMap<(String, String), Seen>;

/// Gives back what no pod has any more, as long as a source tells who has what.
pub(crate) async fn reclaim(registry: Registry, allocations: Allocations, feed: HoldersFeed) {
    let born = Instant::now();
    let (mut newest, mut seen, mut reclaiming) = (feed.subscribe(), All::new(), JoinSet::new());
    while newest.changed().await.is_ok() {
        while reclaiming.try_join_next().is_some() {}
        let Some(holders) = newest.borrow_and_update().clone() else {
            continue;
        };
        for core in registry.plugins() {
            core.adopt(&|resource, id| is_seen(resource, id, &holders));
        }
        let due = count(&mut seen, held(&registry, &allocations, born), &holders, feed.grace());
        if due.is_empty() {
            continue;
        }
        let Some(last) = feed.look(LAST_LOOK).await else {
            continue;
        };
        let is_free = |held: &Reclaimable| {
            let seen = seen.get(&key(held));
            held.since < last.begun && seen.is_some_and(|seen| seen.is_free(held, &last))
        };
        let free: Vec<_> = due.into_iter().filter(is_free).collect();
        if !free.is_empty() {
            // Components may take their time; what others have is found out meanwhile.
            reclaiming.spawn(give_back(registry.clone(), allocations.clone(), free));
        }
    }
}

/// What such consumers have who never say when they are done. What no plugin lists may have been given just before the host started.
fn held(registry: &Registry, allocations: &Allocations, born: Instant) -> Vec<Reclaimable> {
    let plugins = registry.plugins();
    let listed = plugins.iter().flat_map(|core| core.held());
    let unclaimed = allocations.unclaimed().into_iter().map(|(resource, id)| Reclaimable {
        resource,
        id,
        since: born,
        may_end: true,
        version: None,
    });
    listed.chain(unclaimed).collect()
}

/// Gives these back, but for those that something happened to. Ends when their components have released them.
async fn give_back(registry: Registry, allocations: Allocations, held: Vec<Reclaimable>) {
    let unclaimed: Vec<_> = held.iter().filter(|held| held.version.is_none()).map(key).collect();
    if !unclaimed.is_empty() {
        let forgotten = unclaimed.len();
        tracing::info!(forgotten, "{forgotten} ids that no plugin lists and no pod has any more are forgotten");
        allocations.forget_unclaimed(&unclaimed);
    }
    let mut plugins = JoinSet::new();
    for core in registry.plugins() {
        let is_its = |held: &&Reclaimable| held.version.is_some_and(|(index, _)| index == core.index);
        let its: Vec<_> = held.iter().filter(is_its).cloned().collect();
        if !its.is_empty() {
            plugins.spawn(async move { core.reclaim(&its).await });
        }
    }
    while plugins.join_next().await.is_some() {}
}

/// Counts another look. Returns what was seen with no container often enough, and was not given within `grace`.
fn count(seen: &mut All, held: Vec<Reclaimable>, holders: &Holders, grace: Duration) -> Vec<Reclaimable> {
    let (mut before, mut due) = (std::mem::take(seen), Vec::new());
    for held in held {
        let known = before.remove(&key(&held)).filter(|seen| seen.since == held.since);
        let mut of = known.unwrap_or(Seen { since: held.since, by: None, absent: 0 });
        // A look that began before shows the pod before.
        if holders.begun > held.since && is_seen(&held.resource, &held.id, holders) {
            of.by = Some(holders.process);
        }
        let counts = held.since.elapsed() >= grace && of.is_free(&held, holders);
        of.absent = if counts { of.absent + 1 } else { 0 };
        let is_due = of.absent >= ABSENT && held.may_end;
        seen.insert(key(&held), of);
        if is_due {
            due.push(held);
        }
    }
    due
}

fn key(held: &Reclaimable) -> (String, String) {
    (held.resource.clone(), held.id.clone())
}

impl Seen {
    /// Whether no container has it by this look. One that was never seen in use by this very process may be with a container that the look
    /// does not show: then only the source's own records can say that it is free.
    fn is_free(&self, Reclaimable { resource, id, .. }: &Reclaimable, holders: &Holders) -> bool {
        let recorded = holders.recorded.as_ref();
        let by_records =
            || recorded.is_some_and(|recorded| !is_in(resource, id, |at| recorded.range::<Offered, _>(at).next()));
        !is_seen(resource, id, holders) && (self.by == Some(holders.process) || by_records())
    }
}

/// Whether a look shows a container with an id or one of its replicas.
fn is_seen(resource: &str, id: &str, holders: &Holders) -> bool {
    is_in(resource, id, |at| holders.seen.range::<Offered, _>(at).next().map(|(key, _)| key))
}

type From = (Bound<Offered>, Bound<Offered>);

/// Whether an id or a replica of it is in a sorted set; `first` is its first entry from a place on.
fn is_in<'a>(resource: &str, id: &str, first: impl Fn(From) -> Option<&'a Offered>) -> bool {
    // No pod can ask for a resource of another name.
    let Ok(resource) = ResourceName::try_new(resource) else { return false };
    let replicas = format!("{id}{}", crate::replica::REPLICA);
    let from = |text: &str| (Bound::Included((resource.clone(), text.to_owned())), Bound::Unbounded);
    let found = |text: &str| first(from(text)).filter(|(of, _)| *of == resource);
    found(id).is_some_and(|(_, found)| found == id)
        || found(&replicas).is_some_and(|(_, found)| found.starts_with(&replicas))
}
