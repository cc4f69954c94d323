//! The protocol of 2017: a program that is asked `VERSION, INFO, ADD, DEL` (the Container Device Interface, version 0.0.2). It hands out
//! paths of nodes and nothing else. The program is a thin client ([`call`]) of the host, which gives and takes ([`Requests`]).
//! Where the proposal is at odds with itself, docs/cdi.md says what is done.

pub mod call;
mod serve;

pub use serve::{Requests, Served, leave_note};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The versions that are spoken, oldest first; there is no difference.
pub const VERSIONS: [&str; 2] = ["0.0.1", "0.0.2"];

/// What the host is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// How many there are.
    Info {
        /// Of this type.
        kind: String,
    },
    /// Gives devices.
    Add {
        /// Of this type.
        kind: String,
        /// For whom.
        id: String,
        /// How many.
        amount: u32,
        /// NUMA nodes that they should be near to; nothing where that was not asked.
        numa: Option<Vec<u32>>,
    },
    /// Takes what was given.
    Del {
        /// Of this type; where the caller's configuration cannot be read, of the only type that gave anything to the id.
        kind: Option<String>,
        /// For whom.
        id: String,
    },
}

/// What the host says: an object that is printed with the version, or null where nothing is.
pub type Answer = Result<Value, Failure>;

/// An error: numbers up to 99 are the protocol's, with its own words, and the others devgate's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({number}): {details}")]
pub struct Failure {
    pub(crate) number: u32,
    pub(crate) message: String,
    pub(crate) details: String,
}

/// Whether a request can be called so; it is part of a file's name.
pub(crate) fn is_id(id: &str) -> bool {
    id.len() <= 64
        && id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// An error that there is: its number, and what it is called.
#[derive(Clone, Copy)]
pub(crate) struct Fault(pub(crate) u32, &'static str);

impl Fault {
    pub(crate) const VERSION: Self = Self(1, "Incompatible CDI version");
    pub(crate) const CONFIG_VERSION: Self = Self(2, "Incompatible CDI version of the configuration");
    pub(crate) const COMMAND: Self = Self(3, "Command unsupported");
    pub(crate) const SPEC: Self = Self(4, "resource-spec unsupported");
    pub(crate) const UNKNOWN_ID: Self = Self(5, "Unknown request ID");
    pub(crate) const MALFORMED: Self = Self(100, "Malformed request");
    pub(crate) const CONFIG: Self = Self(101, "Configuration cannot be used");
    pub(crate) const NOT_ENOUGH: Self = Self(102, "Not enough devices");
    pub(crate) const TAKEN: Self = Self(103, "Request ID is used otherwise");
    pub(crate) const LATE: Self = Self(104, "Busy or too late");
    pub(crate) const NOT_RELEASED: Self = Self(105, "Devices are not released yet");
    pub(crate) const NO_HOST: Self = Self(106, "devgate does not run");
    pub(crate) const FAILED: Self = Self(107, "devgate failed");

    pub(crate) fn because(self, details: impl Into<String>) -> Failure {
        Failure { number: self.0, message: self.1.to_owned(), details: details.into() }
    }
}
