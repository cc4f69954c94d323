//! The kubelet's side of the wire: its API, its sockets, and how both sides speak over them.
//!
//! It knows nothing of devices, components and policies: what devgate offers and asks is in the crates above it.
#![forbid(unsafe_code)]

pub mod api;
pub mod file_id;
pub mod flaps;
pub mod gauge;
pub mod latest;
pub mod left_behind;
pub mod served;
pub mod transport;

/// The kubelet's own record of what it gave to whom, in its device-plugin directory.
pub const CHECKPOINT: &str = "kubelet_internal_checkpoint";
