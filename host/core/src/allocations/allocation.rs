//! One allocation: who has which units, and how far that is.

use super::consumer::Consumer;
use super::expiry::Expiry;
use super::{Key, is_default};
use crate::offer::Reply;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

/// Names an allocation. None is ever used twice, also not after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AllocationId(pub(super) u64);

impl std::fmt::Display for AllocationId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// One allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) consumer: Consumer,
    pub(crate) ask: Ask,
}

/// What it takes, and how far that is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    /// The resource, as it is offered.
    pub(crate) resource: String,
    /// Units of it, and what of each.
    pub(crate) take: BTreeSet<Take>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) mode: Mode,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) state: State,
    /// When it was acquired, in seconds since 1970, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<u64>,
    /// In which boot it was acquired, of a claim: what was made ready for it is not so in another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) boot: Option<String>,
    /// What its consumer calls it, among several.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) tag: String,
    /// What its consumer was told. The kubelet keeps pods' answers, unless they are names that are looked up in files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reply: Option<StoredReply>,
    /// When it is over by itself, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<Expiry>,
}

/// A unit, and what of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Take {
    pub(crate) unit: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) slot: Slot,
}

/// What of a unit is taken. Different ones of the same unit are beside each other, but for the whole of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Slot {
    /// All of it.
    #[default]
    Whole,
    /// One of several ids that stand for it.
    Replica(u32),
    /// A share that a scheduler counts.
    Share(String),
}

/// Whether others are kept from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// No other consumer has it meanwhile.
    #[default]
    Hold,
    /// It is looked at: its consumer keeps it, and it is not made ready.
    Observe,
}

/// How far an allocation is. What is not in the journal yet is reserved, and no allocation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// On the disk, and nothing was done outside.
    Recorded,
    /// Its consumer has it.
    #[default]
    Active,
    /// Its consumer does not have it any more, and it is not clean.
    Releasing,
}

impl Allocation {
    /// Whether its consumer keeps the paths of the nodes that it was told. All others look up what their devices are whenever a container
    /// starts.
    pub(super) fn keeps_paths(&self) -> bool {
        match self.consumer {
            Consumer::Pods => self.ask.reply.is_none(),
            Consumer::Lease { .. } | Consumer::Claim { .. } => false,
            Consumer::Request { .. } | Consumer::Unknown { .. } => true,
        }
    }
}

impl Ask {
    /// Units of a resource, held by whom they were given to.
    pub(crate) fn of(resource: &str, take: impl IntoIterator<Item = Take>) -> Self {
        Self { resource: resource.to_owned(), take: take.into_iter().collect(), ..Self::default() }
    }

    /// The same, acquired now.
    pub(crate) fn acquired_now(self) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self { since: now.ok().map(|now| now.as_secs()), ..self }
    }

    /// Whether its consumer has it: it is not over.
    pub(super) fn is_live(&self) -> bool {
        self.state != State::Releasing
    }

    /// The units that it keeps others from, or looks at.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.take.iter().map(|take| (self.resource.clone(), take.unit.clone()))
    }
}

impl Take {
    /// Whether two consumers cannot have both.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        self.unit == other.unit && self.slot.excludes(&other.slot)
    }

    /// All of a unit.
    pub(crate) fn whole(unit: &str) -> Self {
        Self { unit: unit.to_owned(), slot: Slot::Whole }
    }
}

impl Slot {
    /// Whether two consumers cannot have both of one unit.
    pub(super) fn excludes(&self, other: &Self) -> bool {
        // Replicas and shares are of two policies, neither of which counts the other's.
        let are_of_one =
            matches!((self, other), (Self::Replica(_), Self::Replica(_)) | (Self::Share(_), Self::Share(_)));
        self == other || !are_of_one
    }
}

/// The largest that is kept, in bytes: an answer that is larger is refused before anybody has it.
pub(crate) const MAX_BYTES: usize = 64 << 10;

/// A reply as the journal has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StoredReply(Reply);

impl StoredReply {
    /// A reply to be kept, unless it is too large for that.
    pub(crate) fn of(reply: &Reply) -> Option<Self> {
        let bytes = serde_json::to_vec(reply).ok()?;
        (bytes.len() <= MAX_BYTES).then(|| Self(reply.clone()))
    }

    /// Whether it is not known yet what is told, or nothing is.
    pub(super) fn is_unknown(&self) -> bool {
        is_default(self)
    }

    /// The reply.
    pub(crate) fn to_reply(&self) -> Reply {
        self.0.clone()
    }
}
