//! What was asked for and not given: the last few, each once.

use super::{PluginStatus, When};
use devgate_types::words;
use serde::{Deserialize, Serialize};

/// The most refusals that are kept. A caller that asks for something else every time pushes out the oldest, never a count.
const MAX_REFUSALS: usize = 32;

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

impl PluginStatus {
    /// Notes one; whether it is none of those that are known.
    pub(super) fn note_refusal(&mut self, kind: RefusalKind, text: &str, now: When) -> bool {
        *self.refused.entry(kind).or_default() += 1;
        let is_it = |known: &Refusal| known.kind == kind && known.text == text;
        let known = self.refusals.iter().position(is_it);
        if known.is_none() && self.refusals.len() >= MAX_REFUSALS {
            self.refusals.remove(0);
        }
        let before = known.map(|n| self.refusals.remove(n));
        self.refusals.push(Refusal {
            kind,
            text: text.to_owned(),
            first: before.as_ref().map_or(now, |before| before.first),
            last: now,
            times: before.map_or(0, |before| before.times) + 1,
        });
        known.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_again_is_counted_and_no_other_one_is_lost() {
        let (mut status, now) = (PluginStatus::default(), When::now());
        assert!(status.note_refusal(RefusalKind::Allocate, "first", now));
        for _ in 0..1_000 {
            status.note_refusal(RefusalKind::Capability, "again", now);
        }
        let times: Vec<_> = status.refusals.iter().map(|r| (r.text.clone(), r.times)).collect();
        assert_eq!(times, [("first".to_owned(), 1), ("again".to_owned(), 1_000)]);
        assert_eq!(status.refused[&RefusalKind::Capability], 1_000);
    }

    #[test]
    fn only_the_last_are_kept_and_all_are_counted() {
        let (mut status, now) = (PluginStatus::default(), When::now());
        for n in 0..1_000 {
            assert!(status.note_refusal(RefusalKind::Capability, &n.to_string(), now));
        }
        let last = &status.refusals;
        assert_eq!((last.len(), last[MAX_REFUSALS - 1].text.as_str()), (MAX_REFUSALS, "999"));
        assert_eq!(status.refused[&RefusalKind::Capability], 1_000);
    }
}
