//! One line for each allocation, whatever came of it, in the log and for the audit log; and how often at most.

use super::Board;
use crate::allocations::Consumer;
use crate::offer::AllocateError;
use devgate_types::{ResourceName, escape};
use std::time::{Duration, Instant};

/// Lines of one plugin at once, and then for each second. A kubelet asks once for each container; one that asks for the same
/// thing in a loop must not fill the log.
const BURST: u32 = 200;
const EACH_SECOND: u32 = 2;
/// The most characters of the list of ids, which is the kubelet's text.
const MOST_IDS: usize = 1_024;

/// How many lines may be written.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    free: u32,
    since: Instant,
    left_out: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            free: BURST,
            since: Instant::now(),
            left_out: 0,
        }
    }
}

impl Pace {
    /// How many lines were left out before this one, if this one may be written.
    pub(super) fn line(&mut self, now: Instant) -> Option<u64> {
        let seconds = now.saturating_duration_since(self.since).as_secs();
        if seconds > 0 {
            let new = u32::try_from(seconds).unwrap_or(u32::MAX).saturating_mul(EACH_SECOND);
            self.free = self.free.saturating_add(new).min(BURST);
            self.since += Duration::from_secs(seconds);
        }
        let Some(free) = self.free.checked_sub(1) else {
            self.left_out += 1;
            return None;
        };
        self.free = free;
        Some(std::mem::take(&mut self.left_out))
    }
}

/// Notes how an allocation ended, counts it and writes its line.
pub(crate) fn allocation(
    plugin: &str,
    board: &Board,
    who: &Consumer,
    resource: &ResourceName,
    ids: &[String],
    error: Option<&AllocateError>,
) {
    let end = board.allocated(error);
    let Some(left_out) = board.line() else { return };
    let (count, result) = (ids.len(), end.as_str());
    let shown = escape(&ids.join(","), MOST_IDS);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_and_what_was_cut_is_counted() {
        let mut pace = Pace::default();
        let now = pace.since;
        let written = (0..1_000).filter(|_| pace.line(now).is_some()).count();
        assert_eq!(written, 200);
        assert_eq!(pace.line(now + Duration::from_secs(1)), Some(800));
        assert_eq!(pace.line(now + Duration::from_secs(1)), Some(0));
        assert_eq!(pace.line(now + Duration::from_secs(1)), None);
    }
}
