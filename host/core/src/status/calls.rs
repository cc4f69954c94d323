//! What a component's calls took, and how near they came to its limits.

use super::When;
use devgate_types::component::{CallKind, Cost};
use devgate_types::{CallError, GuestFault, Limit, Limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The upper ends, in microseconds, of the intervals that durations of calls are counted in; the last one has no end.
pub const BUCKETS: [u64; 9] = [50, 100, 250, 1_000, 5_000, 25_000, 100_000, 500_000, 2_500_000];
/// How long ago a call may have come near a limit to be worth a word.
const LATELY: Duration = Duration::from_secs(3_600);

/// The calls of one kind since the host started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStatus {
    /// Which calls.
    #[serde(with = "word")]
    pub call: CallKind,
    /// How many.
    pub count: u64,
    /// How many the component answered with an error of its own.
    pub failed: u64,
    /// How many ended because it broke: a trap, a limit, an answer outside the contract.
    pub guest: u64,
    /// How many the host or the system ended.
    pub host: u64,
    /// How long the last one took, in microseconds.
    pub last_us: u64,
    /// How long the longest one took.
    pub longest_us: u64,
    /// How long all took together.
    pub total_us: u64,
    /// The most memory that one used, in bytes.
    pub memory: u64,
    /// What each may use.
    pub memory_limit: u64,
    /// When the component answered one the last time; nothing where it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<When>,
    /// How many took as long as each of [`BUCKETS`] says and longer than the one before; then those that took longer than all.
    pub buckets: Vec<u64>,
}

/// How near the calls came to one limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The policy's key.
    pub limit: String,
    /// The call that did.
    #[serde(with = "word")]
    pub call: CallKind,
    /// What it used, in the limit's unit: microseconds, bytes, or a count.
    pub used: u64,
    /// What it might have used.
    pub of: u64,
    /// When.
    pub at: When,
}

/// What one call used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    memory: u64,
    memory_limit: u64,
    deadline: u64,
    /// Of limits, by the policy's key: what was used, and what might have been.
    limits: [(&'static str, u64, u64); 3],
}

impl Used {
    /// What was used of these limits.
    pub(crate) fn of(cost: &Cost, limits: &Limits, read: u64) -> Self {
        let (memory, memory_limit) = (cost.memory.0, limits.memory.0);
        Self {
            memory,
            memory_limit,
            deadline: micros(limits.deadline),
            limits: [
                ("limits.memory", memory, memory_limit),
                ("limits.host-calls", cost.host_calls.into(), limits.host_calls.into()),
                ("limits.read", read, limits.read.0),
            ],
        }
    }
}

/// Which call it is, as a word.
mod word {
    use devgate_types::component::CallKind;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(call: &CallKind, to: S) -> Result<S::Ok, S::Error> {
        call.as_str().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<CallKind, D::Error> {
        let word = String::deserialize(from)?;
        let known = CallKind::ALL.into_iter().find(|known| known.as_str() == word);
        known.ok_or_else(|| D::Error::custom(format!("\"{word}\" is no call")))
    }
}

/// All calls of one component.
#[derive(Debug, Default)]
pub(super) struct CallCounts {
    kinds: BTreeMap<CallKind, CallStatus>,
    /// One for each limit and call: bounded by what there is.
    edges: BTreeMap<(&'static str, CallKind), Edge>,
}

impl CallCounts {
    /// Notes a call that ended.
    pub(super) fn note(&mut self, call: CallKind, took: Duration, end: Result<Used, &CallError>) {
        let took = micros(took);
        let counts = self.kinds.entry(call).or_insert_with(|| CallStatus {
            call,
            buckets: vec![0; BUCKETS.len() + 1],
            ..CallStatus::default()
        });
        counts.count += 1;
        counts.last_us = took;
        counts.longest_us = counts.longest_us.max(took);
        counts.total_us = counts.total_us.saturating_add(took);
        let bucket = BUCKETS.iter().position(|most| took <= *most).unwrap_or(BUCKETS.len());
        if let Some(bucket) = counts.buckets.get_mut(bucket) {
            *bucket += 1;
        }
        match end {
            Ok(used) => {
                counts.answered = Some(When::now());
                counts.memory = counts.memory.max(used.memory);
                counts.memory_limit = used.memory_limit;
                let deadline = ("limits.deadline", took, used.deadline);
                for (limit, used, of) in used.limits.into_iter().chain([deadline]) {
                    if is_near(used, of) {
                        self.edge(limit, call, used, of);
                    }
                }
            }
            Err(CallError::Failed(_)) => counts.failed += 1,
            Err(CallError::Guest(fault)) => {
                counts.guest += 1;
                if let GuestFault::Limit(limit) = fault
                    && let Some(key) = limit.key()
                {
                    let all = whole(limit);
                    self.edge(key, call, all, all);
                }
            }
            Err(CallError::Host(_)) => counts.host += 1,
        }
    }

    fn edge(&mut self, limit: &'static str, call: CallKind, used: u64, of: u64) {
        let edge = Edge { limit: limit.to_owned(), call, used, of, at: When::now() };
        self.edges.insert((limit, call), edge);
    }

    /// The calls of every kind that there were.
    pub(super) fn status(&self) -> Vec<CallStatus> {
        self.kinds.values().cloned().collect()
    }

    /// The limits that a call came near within the last hour.
    pub(super) fn near(&self, now: When) -> Vec<Edge> {
        let near = self.edges.values().filter(|edge| edge.at.ago(now) < LATELY);
        near.cloned().collect()
    }
}

/// Whether more than four fifths are used.
fn is_near(used: u64, of: u64) -> bool {
    used.saturating_mul(5) > of.saturating_mul(4)
}

fn whole(limit: &Limit) -> u64 {
    match limit {
        Limit::Cpu(time) | Limit::Deadline(time) => micros(*time),
        Limit::Memory(size) | Limit::Stack(size) | Limit::Transfer(size) | Limit::Read(size) => size.0,
        Limit::TableElements(n) | Limit::Handles(n) | Limit::HostCalls(n) => (*n).into(),
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_types::{ByteSize, Failure, FailureKind, HostFault};

    fn used(memory: u64) -> Used {
        Used {
            memory,
            memory_limit: 1_000,
            deadline: 1_000_000,
            limits: [("limits.memory", memory, 1_000), ("limits.host-calls", 1, 100), ("limits.read", 1, 100)],
        }
    }

    #[test]
    fn every_end_of_a_call_is_counted_by_its_family() {
        let mut counts = CallCounts::default();
        let time = Duration::from_micros;
        counts.note(CallKind::Health, time(60), Ok(used(500)));
        let failure = CallError::Failed(Failure::new(FailureKind::Other, "no"));
        counts.note(CallKind::Health, time(10), Err(&failure));
        let trap = CallError::Guest(GuestFault::contract("no"));
        counts.note(CallKind::Health, time(9_999_999), Err(&trap));
        counts.note(CallKind::Health, time(20), Err(&CallError::Host(HostFault("no".into()))));
        let status = counts.status();
        assert_eq!(status.len(), 1, "only what there was");
        let health = &status[0];
        assert_eq!((health.count, health.failed, health.guest, health.host), (4, 1, 1, 1), "{health:?}");
        assert_eq!((health.last_us, health.longest_us, health.total_us), (20, 9_999_999, 10_000_089));
        assert_eq!((health.memory, health.memory_limit), (500, 1_000));
        assert_eq!(health.buckets, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert!(health.answered <= Some(When::now()) && health.answered.is_some());
        assert_eq!(counts.near(When::now()), []);
    }

    #[test]
    fn a_call_that_fails_was_not_answered() {
        let mut counts = CallCounts::default();
        let trap = CallError::Guest(GuestFault::contract("no"));
        counts.note(CallKind::Enumerate, Duration::from_micros(1), Err(&trap));
        assert_eq!(counts.status()[0].answered, None);
    }

    #[test]
    fn a_call_near_a_limit_is_told_for_an_hour() {
        let mut counts = CallCounts::default();
        counts.note(CallKind::Enumerate, Duration::from_micros(1), Ok(used(800)));
        assert_eq!(counts.near(When::now()), [], "four fifths are no more than that");
        counts.note(CallKind::Enumerate, Duration::from_micros(1), Ok(used(801)));
        let deadline = CallError::Guest(GuestFault::Limit(Limit::Deadline(Duration::from_millis(5))));
        counts.note(CallKind::Allocate, Duration::from_millis(6), Err(&deadline));
        let near = counts.near(When::now());
        let seen: Vec<_> = near.iter().map(|e| (e.limit.as_str(), e.call, e.used, e.of)).collect();
        assert_eq!(
            seen,
            [("limits.deadline", CallKind::Allocate, 5_000, 5_000), ("limits.memory", CallKind::Enumerate, 801, 1_000)]
        );
        let later = When(std::time::SystemTime::now() + LATELY + Duration::from_secs(1));
        assert_eq!(counts.near(later), []);
    }

    #[test]
    fn edges_are_bounded_by_limits_and_kinds() {
        let mut counts = CallCounts::default();
        for n in 0..1_000 {
            counts.note(CallKind::Health, Duration::from_micros(n), Ok(used(900)));
            let limit = CallError::Guest(GuestFault::Limit(Limit::Memory(ByteSize(n))));
            counts.note(CallKind::Health, Duration::from_micros(n), Err(&limit));
        }
        assert_eq!(counts.edges.len(), 1);
    }
}
