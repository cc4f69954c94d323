//! What the kubelet tells of pods, without its socket and its file: what `tests/fuzz` calls, and nothing else.

use super::{merge, record};
use devgate_core::{Holder, Offered, Records};
use devgate_kubelet::api::pods::ListPodResourcesResponse;
use prost::Message as _;
use std::collections::BTreeMap;

/// Who has what by an answer of the kubelet's; nothing where it is none.
#[must_use]
pub fn holders(answer: &[u8]) -> Option<BTreeMap<Offered, Vec<Holder>>> {
    ListPodResourcesResponse::decode(answer).ok().map(merge)
}

/// What the kubelet gave away by its checkpoint; nothing where it is none.
#[must_use]
pub fn records(checkpoint: &[u8]) -> Option<Records> {
    record::parse(checkpoint).ok().map(|(ids, _)| ids)
}
