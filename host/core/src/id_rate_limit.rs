//! A bound on how fast ids may change: an id is stable as long as the hardware is, and who makes up new ones all the time
//! fills the logs and the memories of everybody who keeps one.

use devgate_types::UnitId;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long new ids are counted together.
const WINDOW: Duration = Duration::from_secs(3_600);
/// New ids within a window, besides as many as the longest list in it had: every device may be replaced once.
const MAX_NEW: usize = 1_024;

/// The ids that a plugin listed lately.
#[derive(Default)]
pub(crate) struct IdRateLimit {
    since: Option<Instant>,
    seen: HashSet<UnitId>,
    /// Ids that were new since the window began; not those that it began with.
    new: usize,
    longest: usize,
}

impl IdRateLimit {
    /// Takes a list of ids and returns those that are one new id too many.
    pub(crate) fn beyond<'a>(&mut self, ids: impl Iterator<Item = &'a UnitId>, now: Instant) -> HashSet<UnitId> {
        let ids: Vec<_> = ids.collect();
        let over = self.since.is_none_or(|since| now.duration_since(since) >= WINDOW);
        if over {
            // What a window begins with is what there is.
            *self = Self {
                since: Some(now),
                seen: ids.iter().map(|id| (*id).clone()).collect(),
                longest: ids.len(),
                ..Self::default()
            };
            return HashSet::new();
        }
        let mut beyond = HashSet::new();
        for id in &ids {
            if self.seen.contains(*id) {
                continue;
            }
            if self.new >= MAX_NEW + self.longest {
                beyond.insert((*id).clone());
            } else {
                self.new += 1;
                self.seen.insert((*id).clone());
            }
        }
        self.longest = self.longest.max(ids.len() - beyond.len());
        beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(range: std::ops::Range<usize>) -> Vec<UnitId> {
        range.map(|n| UnitId::try_new(&format!("unit-{n}")).unwrap()).collect()
    }

    #[test]
    fn what_there_is_and_what_replaces_it_once_is_let_through() {
        let (mut id_rate_limit, now) = (IdRateLimit::default(), Instant::now());
        let (first, second) = (ids(0..5_000), ids(5_000..10_000));
        assert!(id_rate_limit.beyond(first.iter(), now).is_empty());
        assert!(id_rate_limit.beyond(first.iter(), now).is_empty());
        assert!(id_rate_limit.beyond(second.iter(), now).is_empty());
        assert!(id_rate_limit.beyond(first.iter(), now).is_empty(), "they are known");
    }

    #[test]
    fn ids_that_never_end_are_stopped_until_the_window_does() {
        let (mut id_rate_limit, now) = (IdRateLimit::default(), Instant::now());
        let mut stopped = 0;
        for round in 0..400 {
            let list = ids(round * 8..round * 8 + 8);
            stopped += id_rate_limit.beyond(list.iter(), now).len();
        }
        assert_eq!(stopped, 400 * 8 - 8 - (MAX_NEW + 8));
        let list = ids(1_000_000..1_000_008);
        assert_eq!(id_rate_limit.beyond(list.iter(), now).len(), 8);
        assert!(id_rate_limit.beyond(list.iter(), now + WINDOW).is_empty());
        assert!(id_rate_limit.seen.len() <= 8);
    }
}
