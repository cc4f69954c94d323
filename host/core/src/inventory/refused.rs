//! What the gate does not let through, and why.

use super::{MAX_DEVICES, MAX_PROPERTIES, PROPERTY_NAME_BYTES};
use crate::device_info::NoFunction;
use crate::units::MAX_PART_NODES;
use devgate_node::ReadError;
use devgate_types::{ResourceName, UnitId};

/// Why a pool or a unit is not let through. Texts of the component's are escaped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GateRefusal {
    /// Its name or id is none.
    #[error("{0}")]
    Name(&'static str),
    #[error("the policy does not grant this name (resources); add it there, or list another")]
    Resource,
    #[error("the same resource was listed before; one pool for each")]
    SameResource,
    #[error("no rename matches it, and its own name is not granted (resources, rename)")]
    Rename,
    #[error("the same id was listed before; take what no other unit has, such as a serial number")]
    SameId,
    #[error("it would be offered as {offered}, which is made of the component's {other}")]
    Mixed { offered: ResourceName, other: ResourceName },
    #[error("with the number of a replica the id has {0} bytes; at most {most}", most = UnitId::MAX_BYTES)]
    LongId(usize),
    #[error("there are more than {MAX_DEVICES} devices, replicas counted (replicas)")]
    Many,
    #[error("is a part of a device (partitions) and has {0} exclusive nodes; at most {MAX_PART_NODES}")]
    ManyNodes(usize),
    #[error("a {0} handle was never handed out in this call")]
    Handle(&'static str),
    #[error("device {0} is granted for reading only (hardware: use: offer would let it be offered)")]
    ReadOnly(String),
    #[error("device {0} is not granted any more")]
    NotGranted(String),
    #[error("cannot tell which hardware {device} is of: {error}")]
    Pieces { device: String, error: ReadError },
    #[error("node {0} opens an iommu group: it belongs to the units that are made of it")]
    Group(String),
    #[error("node {0} is not marked shared by the policy")]
    NotShared(String),
    #[error("has {0} properties; at most {MAX_PROPERTIES}")]
    ManyProperties(usize),
    #[error("a property's name must have 1 to {PROPERTY_NAME_BYTES} bytes")]
    PropertyName,
    #[error("property {0} is listed twice")]
    Property(String),
    /// Its nodes, or the name of its file, are not fit to be given.
    #[error("{0}")]
    Unfit(String),
    #[error(transparent)]
    NoFunction(#[from] NoFunction),
}
