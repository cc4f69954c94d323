//! What of an answer the policy does not allow, naming the policy's key.

use crate::grants::MountDenied;
use devgate_policy::Expected;
use devgate_types::Access;

/// Why there is no reply. Texts are escaped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("edit \"{0}\" is not known to this host")]
    Edit(String),
    #[error("the mount at {0} is not granted any more (containers.mounts)")]
    Mount(String),
    #[error("the mount at {path} is not given any more: {why}")]
    Source { path: String, why: MountDenied },
    #[error("two edits would both be {0} in the container (containers.mounts)")]
    TwoMounts(String),
    #[error("nodes {one} and {other} would both be {path} in the container (container-path)")]
    TwoNodes { one: String, other: String, path: String },
    #[error("node {0} is not one of its nodes any more")]
    Node(String),
    #[error("node {path} was given with access {before}, and the policy grants {today} now")]
    Access {
        path: String,
        before: Access,
        today: Access,
    },
    #[error("CDI device of {kind}: the policy expects {expected}")]
    CdiMade { kind: String, expected: Box<Expected> },
    #[error("CDI device \"{0}\" (containers.cdi) is not a name that CDI allows")]
    CdiName(String),
    #[error("CDI device \"{0}\" is not a name such as vendor.com/class=name")]
    NoCdiName(String),
    #[error("CDI device \"{0}\" is not granted (containers.cdi)")]
    Cdi(String),
    #[error("CDI device \"{name}\" is named, but the policy expects {expected}")]
    CdiOther { name: String, expected: String },
    #[error("annotation {0} names CDI devices, which the component has to name in the edit \"cdi\"")]
    CdiAnnotation(String),
    #[error("{what} {key}: the policy expects {expected}")]
    Made {
        what: &'static str,
        key: String,
        expected: Box<Expected>,
    },
    #[error("{what} {key} is not granted ({of})")]
    Value {
        what: &'static str,
        key: String,
        of: &'static str,
    },
    #[error("{what} {key} has the value \"{value}\", but the policy expects {expected}")]
    Other {
        what: &'static str,
        key: String,
        value: String,
        expected: Box<Expected>,
    },
    #[error("{what} {key} is set twice")]
    Twice { what: &'static str, key: String },
}
