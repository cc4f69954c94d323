//! What was handed out under an id that no plugin lists: its hardware is gone, or the policy or the component calls it
//! something else by now.

use super::free::{is_free, is_seen};
use super::{ABSENT, LAST_LOOK};
use crate::allocations::Memory;
use crate::holders::{Holders, HoldersFeed};
use devgate_types::ResourceName;
use std::collections::HashMap;
use std::time::Instant;

/// What is known of an id for as long as no plugin lists it: nothing can hand it out meanwhile, so what is seen counts.
#[derive(Default)]
struct Orphan {
    /// Looks in a row that saw nobody have it.
    absent: u32,
    /// Which process of the source of holders has seen somebody have it, if any.
    seen_by: Option<u64>,
}

/// Forgets such ids once no pod has them, until it is dropped. Not those that a component would have to release: nobody did,
/// so whoever lists that hardware under another id must not give it away.
pub(crate) async fn forget_orphans(memory: Memory, feed: HoldersFeed) {
    let (born, mut newest) = (Instant::now(), feed.subscribe());
    let mut orphans: HashMap<Key, Orphan> = HashMap::new();
    while newest.changed().await.is_ok() {
        let Some(holders) = newest.borrow_and_update().clone() else {
            continue;
        };
        let keys = memory.orphans();
        orphans.retain(|key, _| keys.contains(key));
        let mut due = Vec::new();
        for key in keys {
            let orphan = orphans.entry(key.clone()).or_default();
            if is_seen_at(&key, &holders) {
                orphan.seen_by = Some(holders.process);
            }
            // What was handed out just before the host started may not be shown yet.
            let counts = born.elapsed() >= feed.grace() && orphan.is_free(&key, &holders);
            orphan.absent = if counts { orphan.absent + 1 } else { 0 };
            if orphan.absent >= ABSENT {
                due.push(key);
            }
        }
        if due.is_empty() {
            continue;
        }
        let Some(last) = feed.look(LAST_LOOK).await else {
            continue;
        };
        due.retain(|key| orphans.get(key).is_some_and(|orphan| orphan.is_free(key, &last)));
        if !due.is_empty() {
            tracing::info!(
                forgotten = due.len(),
                "{} ids that no plugin lists and no pod has any more are forgotten",
                due.len()
            );
            memory.forget_orphans(&due);
        }
    }
}

/// Resource and id.
type Key = (String, String);

impl Orphan {
    fn is_free(&self, (resource, id): &Key, holders: &Holders) -> bool {
        match ResourceName::try_new(resource) {
            Ok(resource) => is_free(&resource, id, holders, self.seen_by == Some(holders.process)),
            // No pod can ask for such a resource.
            Err(_) => true,
        }
    }
}

fn is_seen_at((resource, id): &Key, holders: &Holders) -> bool {
    ResourceName::try_new(resource).is_ok_and(|resource| is_seen(&resource, id, holders))
}
