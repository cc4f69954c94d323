//! The contract's records, as `wit-bindgen` makes them for a component.

use super::{Device, MountSource, Node};
use std::fmt;

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The policy grants this capability, but not for this thing; with code `not-granted` nothing of it, which
    /// the component can do without.
    Denied,
    /// No such attribute, link, file or device.
    NotFound,
    /// The device was there when the handle was made and is not any more.
    Gone,
    /// An argument is malformed.
    Invalid,
    /// The kernel answered with an error.
    Io,
    /// A size, count or rate limit of this call was reached.
    Limit,
    /// Not now; the same call may succeed later.
    Busy,
    /// Not something this host or this component does.
    Unsupported,
    /// Anything else; see the code.
    Other,
}

/// Why something failed.
#[derive(Debug, Clone)]
pub struct Error {
    /// What kind of failure.
    pub kind: ErrorKind,
    /// A short machine-readable refinement, or empty.
    pub code: String,
    /// For people.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Error {}

/// One named value.
#[derive(Debug, Clone)]
pub struct Property {
    /// At most 128 bytes; once in a list.
    pub name: String,
    /// At most 4,096 bytes.
    pub value: String,
}

/// Which kind of device node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeKind {
    /// A character device.
    Character,
    /// A block device.
    Block,
}

/// What the component knows about one unit's health.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// It may be handed out.
    Healthy,
    /// Do not hand it out, and why.
    Unhealthy(String),
    /// Could not tell, and why: the last verdict stands.
    Unknown(String),
}

/// One thing that a pod can ask for.
#[derive(Debug)]
pub struct Unit {
    /// Unique on the node, at most 63 bytes, stable as long as the hardware is.
    pub id: String,
    /// The hardware that it is made of.
    pub backing: Vec<Device>,
    /// The nodes that an allocation of this unit hands out.
    pub nodes: Vec<Node>,
    /// Whatever else is to be known about it. At most 32.
    pub properties: Vec<Property>,
}

/// All units of one resource.
#[derive(Debug)]
pub struct Pool {
    /// Such as `vendor.com/gpu`.
    pub resource: String,
    /// The units.
    pub units: Vec<Unit>,
    /// Nodes that every allocation of this pool hands out.
    pub shared_nodes: Vec<Node>,
    /// Names that start with `devgate.` are read by the host.
    pub properties: Vec<Property>,
}

/// What a container gets besides the nodes of its units.
#[derive(Debug)]
pub struct Edits {
    /// Environment variables.
    pub env: Vec<Property>,
    /// Mounts.
    pub mounts: Vec<MountSource>,
    /// Annotations.
    pub annotations: Vec<Property>,
    /// Fully qualified CDI device names.
    pub cdi: Vec<String>,
    /// Room for kinds of edit that do not exist yet.
    pub properties: Vec<Property>,
}

/// Who wrote a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Who administers the cluster's device classes.
    Class,
    /// Who made the claim: a tenant.
    Claim,
}

/// Parameters of a claim or its class, as they were written.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Who wrote it.
    pub origin: Origin,
    /// At most 10 KiB.
    pub json: String,
}

/// What a condition asks for, as far as the policy lets it go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It is there to be read.
    Inform,
    /// No new claim gets the unit, unless it tolerates that.
    NoNew,
    /// Pods that have it end, too.
    Evict,
}

/// What is not as it should be with a unit that works.
#[derive(Debug, Clone)]
pub struct Condition {
    /// Lower-case letters, digits and dashes, at most 63 bytes: the same for the same, whichever unit has it.
    pub key: String,
    /// What it asks for.
    pub effect: Effect,
    /// For people, of at most 256 bytes.
    pub message: String,
}
