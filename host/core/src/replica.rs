//! What the replicas of a unit are called.

use devgate_types::UnitId;

/// Separates a unit's id from the number of one of its replicas.
pub(crate) const REPLICA: &str = "::";

/// The ids of one unit's replicas, or its own where there is only one.
pub(crate) fn replica_ids(id: &UnitId, replicas: u32) -> impl Iterator<Item = String> + '_ {
    (0..replicas.max(1)).map(move |n| replica_id(id, replicas, n))
}

/// The id of one of a unit's replicas, or its own where there is only one.
pub(crate) fn replica_id(id: &UnitId, replicas: u32, number: u32) -> String {
    if replicas > 1 { format!("{id}{REPLICA}{number}") } else { id.to_string() }
}

/// The unit's id and the number of its replica, where there can be such a replica.
pub(crate) fn split_replica(id: &str, replicas: u32) -> Option<(&str, u32)> {
    match id.rsplit_once(REPLICA) {
        None => (replicas <= 1).then_some((id, 0)),
        Some((base, number)) => {
            let known = number.parse().ok().filter(|n: &u32| *n < replicas && n.to_string() == number);
            Some((base, known.filter(|_| replicas > 1)?))
        }
    }
}
