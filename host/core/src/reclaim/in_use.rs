//! What a look says of one unit: whether a container has it, or one of its replicas.

use crate::holders::{Holders, Offered};
use devgate_types::ResourceName;
use std::ops::Bound;

/// Whether a look shows a container with an id or one of its replicas.
pub(super) fn is_seen(resource: &ResourceName, id: &str, holders: &Holders) -> bool {
    is_in(resource, id, |at| holders.seen.range::<Offered, _>(at).next().map(|(key, _)| key))
}

/// Whether a look shows no container with an id or one of its replicas. `known` if this very process has shown one with it.
pub(super) fn is_free(resource: &ResourceName, id: &str, holders: &Holders, known: bool) -> bool {
    if is_seen(resource, id, holders) {
        return false;
    }
    known
        || holders
            .recorded
            .as_ref()
            .is_some_and(|recorded| !is_in(resource, id, |at| recorded.range::<Offered, _>(at).next()))
}

type From = (Bound<Offered>, Bound<Offered>);

/// Whether an id or a replica of it is in a sorted set; `first` is its first entry from a place on.
fn is_in<'a>(resource: &ResourceName, id: &str, first: impl Fn(From) -> Option<&'a Offered>) -> bool {
    let replicas = format!("{id}{}", crate::replica::REPLICA);
    let from = |text: &str| (Bound::Included((resource.clone(), text.to_owned())), Bound::Unbounded);
    let found = |text: &str| first(from(text)).filter(|(of, _)| of == resource);
    found(id).is_some_and(|(_, found)| found == id)
        || found(&replicas).is_some_and(|(_, found)| found.starts_with(&replicas))
}
