//! What can happen to allocations, as a journal has it.

use super::allocation::{AllocationId, Ask, State};
use super::consumer::Consumer;
use super::expiry::Expiry;
use super::journal::Kind;
use super::record::AllocatedUnit;
use super::unverified::Ids;
use super::{Key, StoredReply, Unverified};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Allocations of one consumer begin, all of them or none.
    Acquire(Acquire),
    /// Allocations go on to another state.
    Commit(Commit),
    /// What units are made of is known better.
    Amend(Amend),
    /// An allocation is over, or has fewer units.
    Release(Release),
    /// Units have to be released before they are given again.
    Dirty(Dirty),
    /// Units were released.
    Clean(Ids),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Acquire {
    pub(super) consumer: Consumer,
    pub(super) allocations: BTreeMap<AllocationId, Ask>,
    /// What those units are made of that no consumer had, or that are known better.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) units: Units,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Commit {
    pub(super) allocations: BTreeSet<AllocationId>,
    pub(super) state: State,
    /// What their consumer was told, where that was not known before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) replies: BTreeMap<AllocationId, StoredReply>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Amend {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) units: Units,
    /// Allocations that end by themselves at another time, or do not any more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) expires: BTreeMap<AllocationId, Option<Expiry>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Release {
    pub(super) allocation: AllocationId,
    /// These of its units; all of them where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) units: Option<BTreeSet<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Dirty {
    /// Takes the place of all that was known.
    Is(Unverified),
    /// These were away while they were released.
    Away(Ids),
}

impl Amend {
    /// What units are made of.
    pub(super) const fn of(units: Units) -> Self {
        let expires = BTreeMap::new();
        Self { units, expires }
    }
}

/// Records of units, by resource and id.
pub(super) type Units = BTreeMap<String, BTreeMap<String, AllocatedUnit>>;

/// Puts one among them.
pub(super) fn with((resource, id): &Key, record: AllocatedUnit, units: &mut Units) {
    units.entry(resource.clone()).or_default().insert(id.clone(), record);
}

impl Change {
    /// As an entry has it.
    pub(super) fn to_entry(&self) -> (Kind, Vec<u8>) {
        // Maps with names for keys and numbers: nothing that JSON could not say.
        let json = |kind, bytes: serde_json::Result<Vec<u8>>| (kind, bytes.unwrap_or_default());
        match self {
            Self::Acquire(what) => json(Kind::ACQUIRE, serde_json::to_vec(what)),
            Self::Commit(what) => json(Kind::COMMIT, serde_json::to_vec(what)),
            Self::Amend(what) => json(Kind::AMEND, serde_json::to_vec(what)),
            Self::Release(what) => json(Kind::RELEASE, serde_json::to_vec(what)),
            Self::Dirty(what) => json(Kind::DIRTY, serde_json::to_vec(what)),
            Self::Clean(what) => json(Kind::CLEAN, serde_json::to_vec(what)),
        }
    }

    /// What an entry says; nothing where its kind is a newer host's.
    pub(super) fn of_entry(kind: Kind, bytes: &[u8]) -> Result<Option<Self>, serde_json::Error> {
        let change = match kind {
            Kind::ACQUIRE => Self::Acquire(serde_json::from_slice(bytes)?),
            Kind::COMMIT => Self::Commit(serde_json::from_slice(bytes)?),
            Kind::AMEND => Self::Amend(serde_json::from_slice(bytes)?),
            Kind::RELEASE => Self::Release(serde_json::from_slice(bytes)?),
            Kind::DIRTY => Self::Dirty(serde_json::from_slice(bytes)?),
            Kind::CLEAN => Self::Clean(serde_json::from_slice(bytes)?),
            _ => return Ok(None),
        };
        Ok(Some(change))
    }
}
