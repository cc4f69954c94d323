//! The contract's records as plain data, with numbers in place of handles, so that they can cross a socket as well as a
//! function call. They mirror `wit/`; nothing in them has been checked.

use crate::words;
use std::fmt;

/// A kernel device, by its place in one call's table of handles. Means nothing outside that call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceHandle(pub u32);

/// A device node, by its place in one call's table of handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeHandle(pub u32);

/// A mount source, by its place in one call's table of handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MountHandle(pub u32);

/// One named value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Property {
    /// At most 128 bytes.
    pub name: String,
    /// At most 4,096 bytes.
    pub value: String,
}

/// One thing that a pod can ask for, as a component describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// What the kubelet will know it by.
    pub id: String,
    /// The kernel devices that it is made of.
    pub backing: Vec<DeviceHandle>,
    /// The nodes that an allocation of it hands out.
    pub nodes: Vec<NodeHandle>,
    /// Whatever else is known about it.
    pub properties: Vec<Property>,
}

/// All units of one resource, as a component describes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// The resource's name.
    pub resource: String,
    /// Its units.
    pub units: Vec<Unit>,
    /// Nodes that every allocation of it hands out.
    pub shared_nodes: Vec<NodeHandle>,
    /// Whatever else is known about it.
    pub properties: Vec<Property>,
}

/// What a component adds to an allocation, besides the nodes of its units.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edits {
    /// Environment variables.
    pub env: Vec<Property>,
    /// Mounts.
    pub mounts: Vec<MountHandle>,
    /// Annotations for the container runtime.
    pub annotations: Vec<Property>,
    /// Fully qualified CDI device names.
    pub cdi: Vec<String>,
    /// Kinds of edit that this host does not know, if not empty.
    pub properties: Vec<Property>,
}

/// Who wrote a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Who administers the cluster's device classes.
    Class,
    /// Who made the claim: a tenant.
    Claim,
}

/// Parameters for a driver, as a claim or its class has them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Setting {
    /// Who wrote it.
    pub origin: Origin,
    /// At most 10 KiB.
    pub json: String,
}

/// What a condition of a unit asks for, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// It is there to be read.
    Inform,
    /// No new claim gets the unit.
    NoNew,
    /// Pods that have it end, too.
    Evict,
}

// In the words of Kubernetes, which policies have as well.
words!(Effect: Inform "None", NoNew "NoSchedule", Evict "NoExecute");

/// What is not as it should be with a unit that works.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Condition {
    /// What it is: lower-case letters, digits and dashes, at most 63 bytes.
    pub key: String,
    /// What it asks for.
    pub effect: Effect,
    /// At most 256 bytes.
    pub message: String,
}

/// What a component knows about one unit's health.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It works.
    Healthy,
    /// Do not hand it out, and why.
    Unhealthy(String),
    /// Could not tell, and why.
    Unknown(String),
}

/// Whether a plugin may import an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// Every component may: it gives nothing by itself.
    Always,
    /// The policy grants it to this plugin.
    Granted,
    /// The policy does not grant it to this plugin.
    NotGranted {
        /// The policy's key that would, as it is written: `hardware:`.
        key: &'static str,
    },
    /// The contract has no such interface.
    Unknown,
}

/// What kind of failure one side of the contract reports to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The policy grants this capability, but not for this thing; with code `not-granted` nothing of it, which
    /// the component can do without.
    Denied,
    /// No such attribute, link, file or device.
    NotFound,
    /// It was there when the handle was made and is not any more.
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

/// Why something failed, in the contract's terms. Used in both directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// A short machine-readable refinement, or empty.
    pub code: String,
    /// For people.
    pub message: String,
}

impl Failure {
    /// A failure without a code.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, code: String::new(), message: message.into() }
    }

    /// The same with a code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = code.into();
        self
    }
}

impl fmt::Display for Failure {
    /// The message, escaped and cut: it may come from a component.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", crate::GuestText::new(&self.message))?;
        if !self.code.is_empty() {
            write!(f, " ({})", crate::escape(&self.code, 64))?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}
