//! One line for each allocation, whatever came of it, in the log and for the audit log; and how often at most.

use super::StatusRecorder;
use crate::allocations::Consumer;
use crate::offer::AllocateError;
use devgate_types::{Bucket, ResourceName, escape};
use std::time::Duration;

/// Lines of one plugin. A kubelet asks once for each container; one that asks for the same thing in a loop must not fill the log.
pub(super) const LINES: Bucket = Bucket::new(200, Duration::from_millis(500));
/// The most characters of the list of ids, which is the kubelet's text.
const MAX_IDS: usize = 1_024;

/// Notes how an allocation ended, counts it and writes its line.
pub(crate) fn allocation(
    plugin: &str,
    recorder: &StatusRecorder,
    who: &Consumer,
    resource: &ResourceName,
    ids: &[String],
    error: Option<&AllocateError>,
) {
    let end = recorder.record_allocation(error);
    let Some(left_out) = recorder.take_line() else { return };
    let (count, result) = (ids.len(), end.as_str());
    let shown = escape(&ids.join(","), MAX_IDS);
    let Some(error) = error else {
        tracing::info!(
            target: "audit", event = "allocate", plugin, %resource, consumer = %who, ids = shown, count, result, left_out,
            "plugin {plugin}: resource {resource}: allocated {shown} to {who}"
        );
        return;
    };
    let family = match error {
        AllocateError::Guest(_) => "guest",
        AllocateError::Host(_) => "host",
        AllocateError::Unknown(_) | AllocateError::Refused(_) | AllocateError::Busy(_) => "refused",
    };
    tracing::warn!(
        target: "audit", event = "allocate", plugin, family, %resource, consumer = %who, ids = shown, count, result, left_out,
        "not allocated: {error}"
    );
}
