//! devgate's front end for container runtimes that read the Container Device Interface: podman, docker, containerd, CRI-O.
//!
//! A runtime is told names of devices, and looks up in files what a container with one of them gets. Each allocation is a file of its
//! own here, made of the gate's reply alone, which a [`Keeper`] looks after. Who asks for one without a kubelet has a lease ([`Leases`]);
//! a kubelet can be told names for its pods ([`by_name`]), and for its claims ([`Claims`]).
//!
//! ```text
//!  devgate cdi lease ──► Leases ──┬──► Devices (core)
//!  kubelet ───────────► by_name ──┤
//!                                 └──► Keeper ──► /var/run/cdi/devgate-….json ◄── podman --device NAME, containerd
//! ```
//!
//! The rules of the files are those of the CNCF's library, `github.com/cncf-tags/container-device-interface`, at 1.1.0.
#![forbid(unsafe_code)]

mod by_name;
pub mod check;
mod claim;
mod claims;
mod edits;
pub mod exec;
mod files;
#[doc(hidden)]
pub mod fuzz;
mod give;
mod hook;
mod keep;
mod leases;
mod name;
mod named;
mod probe;
mod spec;

pub use by_name::by_name;
pub use claim::{Claim, ClaimError, ClaimTag, GivenDevice, device_name, is_claim_uid};
pub use claims::Claims;
pub use edits::{NodeUnread, file_of};
pub use files::{FileError, LeftBehind, Unwritten, left_behind};
pub use give::NotGiven;
pub use hook::{ReleaseHook, Releases};
pub use keep::{Keeper, KeeperConfig};
pub use leases::{Lease, LeaseError, LeaseRequest, Leases};
pub use name::{InvalidLeaseName, Kind, digest};
pub use probe::probe;

/// How the name of each file of devgate's for a device begins.
pub const PREFIX: &str = "devgate-";

/// Where runtimes look for files that a restart of the machine may take. They read `/etc/cdi`, too, which is the admin's.
pub const DEFAULT_DIR: &str = "/var/run/cdi";

#[cfg(test)]
mod tests;
