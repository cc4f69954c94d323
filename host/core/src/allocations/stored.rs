//! What a consumer was told, kept with its allocation: a claim is prepared anew after the host or the node was started again, and gets no
//! more than it had.

use crate::offer::{MountEdit, NodeEdit, Reply};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The largest that is kept, in bytes: an answer that is larger is refused before anybody has it.
pub(crate) const MOST_BYTES: usize = 64 << 10;

/// A reply as the journal has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StoredReply {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<StoredNode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mounts: Vec<StoredMount>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    cdi: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredNode {
    container: String,
    host: String,
    /// Such as `rw`.
    access: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredMount {
    container: String,
    host: String,
    read_only: bool,
}

impl StoredReply {
    /// A reply to be kept, unless it is too large for that.
    pub(crate) fn of(reply: &Reply) -> Option<Self> {
        let node = |node: &NodeEdit| StoredNode {
            container: node.container_path.clone(),
            host: node.host_path.clone(),
            access: node.access.to_string(),
        };
        let mount = |mount: &MountEdit| StoredMount {
            container: mount.container_path.clone(),
            host: mount.host_path.clone(),
            read_only: mount.read_only,
        };
        let stored = Self {
            env: reply.env.clone(),
            nodes: reply.nodes.iter().map(node).collect(),
            mounts: reply.mounts.iter().map(mount).collect(),
            annotations: reply.annotations.clone(),
            cdi: reply.cdi.clone(),
        };
        let bytes = serde_json::to_vec(&stored).ok()?;
        (bytes.len() <= MOST_BYTES).then_some(stored)
    }

    /// Whether it is not known yet what is told, or nothing is.
    pub(super) fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// The reply; what cannot be read of it is left out, as one that gives less.
    pub(crate) fn to_reply(&self) -> Reply {
        let node = |node: &StoredNode| {
            Some(NodeEdit {
                container_path: node.container.clone(),
                host_path: node.host.clone(),
                access: node.access.parse().ok()?,
            })
        };
        let mount = |mount: &StoredMount| MountEdit {
            container_path: mount.container.clone(),
            host_path: mount.host.clone(),
            read_only: mount.read_only,
        };
        Reply {
            env: self.env.clone(),
            nodes: self.nodes.iter().filter_map(node).collect(),
            mounts: self.mounts.iter().map(mount).collect(),
            annotations: self.annotations.clone(),
            cdi: self.cdi.clone(),
        }
    }
}
