//! The words that every part of devgate shares: names, handles, the records that cross the contract, limits, the three families of
//! error, and the seam between the host and whatever runs a component.
//!
//! Plain data only. This crate opens nothing, knows neither WebAssembly nor gRPC nor the policy's file format, and
//! depends on nothing but `thiserror`, so that every other crate can depend on it.
#![forbid(unsafe_code)]

pub mod answer;
pub mod component;
pub mod load;

mod attribute;
mod contract;
mod fault;
mod limits;
mod name;
mod node;
mod reference;
mod sync;
mod text;
mod throttle;
mod words;

pub use attribute::AttributeValue;
pub use contract::{
    Condition, DeviceHandle, Edits, Effect, Failure, FailureKind, Grant, MountHandle, NodeHandle, Origin, Pool,
    Property, Setting, Unit, Verdict,
};
pub use fault::{CallError, GuestFault, HostFault, Limit};
pub use limits::{ByteSize, InvalidSize, Limits};
pub use name::{InvalidName, PluginName, ResourceName, UnitId};
pub use node::{Access, InvalidAccess, NodeKind, NodeNumber};
pub use reference::{Digest, InvalidReference, PinnedReference, Reference, Repository};
pub use sync::Mutex;
pub use text::{GuestText, escape};
pub use throttle::{Again, Bucket, LogThrottle};
