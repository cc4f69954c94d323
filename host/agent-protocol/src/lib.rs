//! What the host and its agent say to each other, on a unix socket that the agent listens on: a line of JSON for each message.
//!
//! The host has the devices and no credentials of the cluster's; the agent has a token and nothing of the node. Neither believes the
//! other: the agent writes slices of its own node alone, and the host gives what it has published and its policy grants.
//!
//! ```text
//!  host ── drivers, publish, claim, judged ──► agent ── ResourceSlices, Events, the node's condition ──► API server
//!       ◄── published, claim ────────────────        ◄── ResourceClaim ──
//! ```
#![forbid(unsafe_code)]

mod judged;
mod lines;

pub use judged::{Holds, Judged, Unhealthy, User};
pub use lines::{LineError, Lines, write};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest line of either side, in bytes.
pub const MAX_LINE: usize = 4 << 20;

/// What there is of counters, by set and counter: the names are DNS labels.
pub type Counters = BTreeMap<String, BTreeMap<String, u64>>;

/// A field that an API server may not keep: what keeps pods from devices.
pub const TAINTS: &str = "taints";
/// Another: how many claims a device is for.
pub const SHARES: &str = "shares";
/// Another: what devices take of counters, and what there is.
pub const COUNTERS: &str = "counters";

/// What the host says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ToAgent {
    /// The drivers that there are: slices of this node that the agent has written for others go. The first message of a connection.
    Drivers(Vec<String>),
    /// All devices of a driver, in the order in which they should be taken.
    Publish {
        /// Its name.
        driver: String,
        /// What it has: at most 32 attributes and capacities and 16 taints each.
        devices: Vec<Device>,
        /// What its devices take from: at most 32 counters in a set.
        #[serde(default, skip_serializing_if = "Counters::is_empty")]
        counters: Counters,
    },
    /// Asks for what a claim was given of a driver's devices.
    Claim {
        /// What the answer repeats.
        ask: u64,
        /// The driver.
        driver: String,
        /// The claim's namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its uid: one of the same name with another is another claim.
        uid: String,
    },
    /// How the host is, by its own judgement: all of it, whenever it is another.
    Judged(Judged),
}

/// What the agent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FromAgent {
    /// What became of a driver's devices.
    Published {
        /// The driver.
        driver: String,
        /// The generation of the pool that the API server has, where it has all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<i64>,
        /// Names of fields that the API server did not keep, such as `taints`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<String>,
        /// Why it has not all of it, if so: one line for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The answer to [`ToAgent::Claim`].
    Claim {
        /// As it was asked.
        ask: u64,
        /// What it was given, or why that is not known.
        claim: Claim,
    },
}

/// What is known of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Claim {
    /// It is allocated.
    Allocated {
        /// The devices of the driver that was asked for, on this node. Those of others are left out.
        devices: Vec<Allocated>,
        /// What it and its class say for this driver, in the order in which it counts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parameters: Vec<Parameters>,
    },
    /// There is no such claim of this uid, or it is allocated to nobody.
    Gone,
    /// The API server could not be asked, or said what cannot be: one line for people.
    Unknown(String),
}

/// What a claim or its class says for a driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Parameters {
    /// The requests that it is for, as in [`Allocated`] or without the subrequest; all where none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<String>,
    /// Whether a device class says it, which tenants cannot write, and not the claim.
    pub of_class: bool,
    /// JSON.
    pub json: String,
}

/// One device that a claim was given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Allocated {
    /// The request of the claim, with the subrequest that was taken behind a `/` where it has several.
    pub request: String,
    /// The pool, which is this node's.
    pub pool: String,
    /// The device, as it was published.
    pub device: String,
    /// Which share of it, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    /// Whether it is for who looks after it: others may have it as well.
    #[serde(default)]
    pub admin: bool,
}

/// One device, as schedulers are told of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Device {
    /// A DNS label.
    pub name: String,
    /// By a C identifier of at most 32 characters, which may have a domain and a `/` before it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Value>,
    /// In base units, such as bytes; named as attributes are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, u64>,
    /// What keeps pods away from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// How many claims may have it at once, where that is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<u32>,
    /// What it takes of a set of counters: a whole and a part of it are never had together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<Takes>,
}

/// What a device takes of a set of counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Takes {
    /// A DNS label.
    pub set: String,
    /// By counter.
    pub amounts: BTreeMap<String, u64>,
}

/// An attribute's value, as the API has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// A number.
    Int(i64),
    /// Yes or no.
    Bool(bool),
    /// A text of at most 64 bytes.
    String(String),
    /// A version of semver 2.0, at most 64 bytes.
    Version(String),
}

/// What keeps pods away from a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Taint {
    /// With a domain, such as `devgate.dev/unhealthy`.
    pub key: String,
    /// What it does.
    pub effect: Effect,
}

/// What a taint does, in the API's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// No new pod gets the device.
    NoSchedule,
    /// Pods that have it end, too.
    NoExecute,
}
