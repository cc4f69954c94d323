//! What was asked for and not given: the last few, each once.

use super::When;
use devgate_types::words;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The most refusals that are kept. Somebody who asks for something else every time pushes out the oldest, never a count.
const MOST: usize = 32;

/// Who asked, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// A component that the policy does not allow to run.
    Load,
    /// A component, for something of the node that the policy does not grant or the host does not give.
    Capability,
    /// The kubelet, for devices.
    Allocate,
    /// A component, for a write.
    Control,
}

words!(RefusalKind: Load "load", Capability "capability", Allocate "allocate", Control "control");

/// Something that was asked for and not given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What kind of thing.
    pub kind: RefusalKind,
    /// What, and why not.
    pub text: String,
    /// The first time.
    pub first: When,
    /// The last time.
    pub last: When,
    /// How many times.
    pub times: u64,
}

/// The last refusals, and how many of each kind there were.
#[derive(Debug, Default, Clone)]
pub(crate) struct Refusals {
    last: VecDeque<Refusal>,
    counts: BTreeMap<RefusalKind, u64>,
}

impl Refusals {
    /// Notes one; whether it is none of those that are known.
    pub(crate) fn note(&mut self, kind: RefusalKind, text: &str, now: When) -> bool {
        *self.counts.entry(kind).or_default() += 1;
        let is_it = |known: &Refusal| known.kind == kind && known.text == text;
        if let Some(mut again) = self.last.iter().position(is_it).and_then(|n| self.last.remove(n)) {
            again.times += 1;
            again.last = now;
            self.last.push_back(again);
            return false;
        }
        if self.last.len() >= MOST {
            self.last.pop_front();
        }
        self.last.push_back(Refusal {
            kind,
            text: text.to_owned(),
            first: now,
            last: now,
            times: 1,
        });
        true
    }

    /// The last ones, the latest last.
    pub(crate) fn last(&self) -> Vec<Refusal> {
        self.last.iter().cloned().collect()
    }

    /// How many of each kind.
    pub(crate) fn counts(&self) -> BTreeMap<RefusalKind, u64> {
        self.counts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_again_is_counted_and_no_other_one_is_lost() {
        let (mut refusals, now) = (Refusals::default(), When::now());
        assert!(refusals.note(RefusalKind::Allocate, "first", now));
        for _ in 0..1_000 {
            refusals.note(RefusalKind::Capability, "again", now);
        }
        let times: Vec<_> = refusals.last().iter().map(|r| (r.text.clone(), r.times)).collect();
        assert_eq!(times, [("first".to_owned(), 1), ("again".to_owned(), 1_000)]);
        assert_eq!(refusals.counts()[&RefusalKind::Capability], 1_000);
    }

    #[test]
    fn only_the_last_are_kept_and_all_are_counted() {
        let (mut refusals, now) = (Refusals::default(), When::now());
        for n in 0..1_000 {
            assert!(refusals.note(RefusalKind::Capability, &n.to_string(), now));
        }
        let last = refusals.last();
        assert_eq!((last.len(), last[MOST - 1].text.as_str()), (MOST, "999"));
        assert_eq!(refusals.counts()[&RefusalKind::Capability], 1_000);
    }
}
