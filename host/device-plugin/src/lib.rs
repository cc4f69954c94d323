//! devgate's front end for the kubelet: every offered resource as a device plugin of its own; and what pods have, as the kubelet
//! tells.
//!
//! ```text
//!  Offers ──► front_end ──── Register ───► kubelet.sock ┐
//!                 │                                     ├ kubelet
//!                 └ one socket per resource ◄── dial ───┘
//! ```
//!
//! It knows nothing of components and policies: what it offers comes through [`devgate_core::offer`].
#![forbid(unsafe_code)]

mod allocating;
pub mod front_end;
pub mod pod_resources;

pub use allocating::Allocating;
pub use devgate_kubelet::CHECKPOINT;
pub use front_end::{FrontEndConfig, FrontEndError, FrontEndWatch, Hidden, Phase, RegistrationStatus, serve};
pub use pod_resources::PodResourcesConfig;
