//! The protocol of 2017: a program that is asked `VERSION, INFO, ADD, DEL` (the Container Device Interface, version 0.0.2). It hands out
//! paths of nodes and nothing else. The program is a thin client ([`call`]) of the host, which gives and takes ([`Requests`]).
//!
//! Where the proposal is at odds with itself, docs/cdi.md says what is done.

pub mod call;
mod serve;

pub use serve::{Requests, RequestsConfig, Served, leave_note};

use serde::{Deserialize, Serialize};

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

/// What the host says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// How many work, given away or not: the schedulers of that time subtract by themselves.
    Amount(usize),
    /// Nodes of the machine, sorted, and the NUMA nodes of their devices.
    Added {
        /// Absolute paths.
        devices: Vec<String>,
        /// Sorted.
        numa: Vec<u32>,
    },
    /// It is done.
    Deleted,
    /// It is not.
    Failed(Failure),
}

/// An error of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({number}): {details}")]
pub struct Failure {
    /// 0 to 99 are the protocol's, the others devgate's.
    pub number: u32,
    /// What it is, in the protocol's own words where it has some.
    pub message: String,
    /// More of it.
    pub details: String,
}

/// The errors that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Version,
    ConfigVersion,
    Command,
    Spec,
    UnknownId,
    Malformed,
    Config,
    NotEnough,
    Taken,
    Late,
    NotReleased,
    NoHost,
    Failed,
}

impl Fault {
    pub(crate) fn because(self, details: impl Into<String>) -> Failure {
        let (number, message) = match self {
            Self::Version => (1, "Incompatible CDI version"),
            Self::ConfigVersion => (2, "Incompatible CDI version of the configuration"),
            Self::Command => (3, "Command unsupported"),
            Self::Spec => (4, "resource-spec unsupported"),
            Self::UnknownId => (5, "Unknown request ID"),
            Self::Malformed => (100, "Malformed request"),
            Self::Config => (101, "Configuration cannot be used"),
            Self::NotEnough => (102, "Not enough devices"),
            Self::Taken => (103, "Request ID is used otherwise"),
            Self::Late => (104, "Busy or too late"),
            Self::NotReleased => (105, "Devices are not released yet"),
            Self::NoHost => (106, "devgate does not run"),
            Self::Failed => (107, "devgate failed"),
        };
        Failure {
            number,
            message: message.to_owned(),
            details: details.into(),
        }
    }
}
