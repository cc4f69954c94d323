//! What a lease is, what is asked for one, and why there is none.

use crate::edits::NodeUnread;
use crate::files::FileError;
use crate::give::NotGiven;
use crate::name::InvalidLeaseName;
use devgate_types::{InvalidName, ResourceName};
use serde::{Deserialize, Serialize};

/// The most devices of one lease: a count is a number that a program may have made of anything.
pub(crate) const MAX_DEVICES: usize = 4_096;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// What it is for: the lease's name.
    pub name: String,
    /// Devices of which resource.
    pub resource: String,
    /// How many; as many as there are ids, or one, where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// Which, among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// For how many seconds; until it is released where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

/// A lease, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// What it was made for.
    pub name: String,
    /// The resource.
    pub resource: String,
    /// The ids of its devices.
    pub ids: Vec<String>,
    /// What a runtime is to be told, such as `podman run --device`; nothing where a container gets nothing by it.
    pub devices: Vec<String>,
    /// For how many seconds still; nothing where it lasts until it is released.
    pub left: Option<u64>,
    /// Why no container gets it, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Why there is no lease.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// It cannot be called so.
    #[error(transparent)]
    Name(#[from] InvalidLeaseName),
    /// The resource cannot be called so.
    #[error(transparent)]
    Resource(#[from] InvalidName),
    /// Nothing offers it.
    #[error("resource {0}: no plugin offers it; {1}")]
    Unknown(ResourceName, String),
    /// More than there ever can be, or none.
    #[error(
        "lease {0}: {1} devices cannot be leased at once; ask for 1 to {MAX_DEVICES}, at least as many as there are ids"
    )]
    Count(String, usize),
    /// The name is taken: by which lease, which has these ids of this resource.
    #[error(
        "lease {0}: has {1} of resource {2} already; release it first (devgate cdi release {0}), or take another name"
    )]
    Taken(String, String, ResourceName),
    /// There is no such lease.
    #[error("lease {0}: there is none of this name; `devgate cdi leases` shows those that there are")]
    None(String),
    /// They were not given.
    #[error(transparent)]
    NotGiven(#[from] NotGiven),
    /// The file could not be made or removed, and what becomes of the lease.
    #[error("lease {0}: {1}; {2}")]
    File(String, Unwritten, &'static str),
}

/// Why a lease has no file.
#[derive(Debug, thiserror::Error)]
pub enum Unwritten {
    /// A node is not there.
    #[error(transparent)]
    Node(#[from] NodeUnread),
    /// The disk, or another program's file.
    #[error(transparent)]
    File(#[from] FileError),
    /// It was given up.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
}
