//! What was handed out under an id that no plugin lists: its hardware is gone, or the policy or the component calls it
//! something else by now.

use super::{ABSENT, is_free};
use crate::holders::HoldersFeed;
use crate::memory::Memory;
use devgate_model::ResourceName;
use std::collections::HashMap;
use std::time::Instant;

/// Forgets such ids once no pod has them, until it is dropped. Not those that a component would have to release: nobody did,
/// so whoever lists that hardware under another id must not give it away.
pub(crate) async fn forget_orphans(memory: Memory, feed: HoldersFeed) {
    let (born, mut newest) = (Instant::now(), feed.subscribe());
    let mut absent: HashMap<(String, String), u32> = HashMap::new();
    while newest.changed().await.is_ok() {
        let Some(holders) = newest.borrow_and_update().clone() else {
            continue;
        };
        if born.elapsed() < feed.grace() {
            continue;
        }
        let orphans = memory.orphans();
        absent.retain(|key, _| orphans.contains(key));
        let mut free = Vec::new();
        for key in orphans {
            let is_free = match ResourceName::try_new(&key.0) {
                Ok(resource) => is_free(&resource, &key.1, &holders, false),
                // No pod can ask for such a resource.
                Err(_) => true,
            };
            let count = absent.entry(key.clone()).or_insert(0);
            *count = if is_free { *count + 1 } else { 0 };
            if *count > ABSENT {
                free.push(key);
            }
        }
        if !free.is_empty() {
            tracing::info!(
                forgotten = free.len(),
                "{} ids that no plugin lists and no pod has any more are forgotten",
                free.len()
            );
            memory.forget_orphans(&free);
        }
    }
}
