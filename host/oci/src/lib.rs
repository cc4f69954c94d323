//! Components in OCI registries: pulled by digest, checked at every step, and kept.
//!
//! ```text
//!   Store ──► cache, each entry checked against its digest at every load
//!     └────► Registries (HTTPS) ──► manifest ──► layer ──► component
//!                                       └──► signatures, checked against the policy's keys
//! ```
//!
//! Nothing that a registry sends is believed: a manifest is what its digest says, a layer what its manifest says, and every body
//! has a limit. The crate knows neither WebAssembly nor the policy.
#![forbid(unsafe_code)]

mod archive;
mod beside;
mod cache;
mod credentials;
mod entry;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod http;
pub mod manifest;
mod progress;
mod pull;
mod signature;
mod store;
mod tls;

pub use error::Error;
pub use http::{Registries, Replied, Session};
pub use manifest::{Descriptor, Manifest, NotUsable, Packed};
pub use progress::Progress;
pub use pull::wait;
pub use signature::{InvalidKey, MOST_SIGNATURE, PublicKey, check_file};
pub use store::{Counts, Store, StoreSettings, Wanted};

#[cfg(test)]
mod tests;

use devgate_types::Digest;

/// The SHA-256 digest of these bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> Digest {
    use sha2::Digest as _;
    Digest(sha2::Sha256::digest(bytes).into())
}
