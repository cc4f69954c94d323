//! Who has units, and so who says when that is over.

use serde::{Deserialize, Serialize};

/// Who has an allocation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Consumer {
    /// Containers of the kubelet's, by the device plugin API. It never says that they are over: that is found out.
    Pods,
    /// A claim of dynamic resource allocation. One uid may come from two of our drivers.
    Claim {
        /// The driver's name.
        driver: String,
        /// The claim's uid.
        uid: String,
    },
    /// An admin, by a name that is one over the whole host.
    Lease {
        /// The name.
        name: String,
    },
    /// A container runtime's network or device plugin, which says when a container's devices are over.
    Request {
        /// What kind of plugin.
        #[serde(rename = "type")]
        kind: String,
        /// The container's id, as that plugin says it.
        id: String,
    },
    /// A kind that only a newer host knows: what it has stays held.
    #[serde(skip)]
    Unknown {
        /// As that host calls it.
        kind: String,
    },
}

impl Consumer {
    /// Whether it says itself that it is done with what it has.
    pub(crate) const fn ends_itself(&self) -> bool {
        matches!(self, Self::Claim { .. } | Self::Lease { .. } | Self::Request { .. })
    }

    /// The driver, where it is a claim.
    #[must_use]
    pub fn driver(&self) -> Option<&str> {
        match self {
            Self::Claim { driver, .. } => Some(driver),
            _ => None,
        }
    }
}

impl std::fmt::Display for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pods => f.write_str("pods"),
            Self::Claim { driver, uid } => write!(f, "claim {uid} of {driver}"),
            Self::Lease { name } => write!(f, "lease {name}"),
            Self::Request { kind, id } => write!(f, "{kind} request {id}"),
            Self::Unknown { kind } => write!(f, "a newer devgate's {kind}"),
        }
    }
}
