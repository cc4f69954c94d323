//! devgate's front end for the kubelet: every offered resource as a device plugin of its own, and a stand-in that plays
//! the kubelet's side.
//!
//! ```text
//!  Offers ──► front_end ──── Register ───► kubelet.sock ┐
//!                 │                                     ├ kubelet, or standin::StandIn
//!                 └ one socket per resource ◄── dial ───┘
//! ```
//!
//! This is the only crate that names the kubelet's services. It knows nothing of components and policies: what it offers
//! comes through [`devgate_core::offer`].
#![forbid(unsafe_code)]

pub mod api;
pub mod front_end;
mod gauge;
pub mod pod_resources;
pub mod standin;
mod transport;

pub use front_end::{FrontEndConfig, FrontEndError, FrontEndWatch, Hidden, Phase, RegistrationStatus, serve};
pub use pod_resources::PodResourcesConfig;
