//! Components in OCI registries: pulled by digest, checked at every step, and kept.
//!
//! ```text
//!   Store ──► cache, each entry checked against its digest at every load
//!     └────► devgate-pull ──► registry (HTTPS)
//!              └──► manifests, signatures, the layer: checked as if they came from the cache
//! ```
//!
//! Nothing that a registry or the process that speaks to it sends is believed: a manifest is what its digest says, a layer what its
//! manifest says, a signature what a key of the policy has signed, and all of them have limits. The crate knows neither WebAssembly nor
//! the policy, and opens no connection.
#![forbid(unsafe_code)]

mod archive;
mod authorities;
mod cache;
mod credentials;
mod entry;
mod error;
#[doc(hidden)]
pub mod fuzz;
pub mod manifest;
mod message;
mod progress;
mod puller;
mod registries;
mod signature;
mod store;

pub use error::Error;
pub use manifest::{Descriptor, Manifest, NotUsable, Packed};
pub use progress::Progress;
pub use registries::Registries;
pub use signature::{InvalidKey, MAX_SIGNATURE, PublicKey, check_file, envelope};
pub use store::{Counts, Store, StoreSettings, Wanted};

/// What `devgate-pull` works with: what it is told and answers, and what it looks at of what a registry sends, so as not to fetch what
/// would be refused.
pub mod child {
    pub use crate::cache::MAX_MANIFEST;
    pub use crate::entry::{Next, follow};
    pub use crate::message::{MAX_ORDER, PIECE, wire};
    pub use crate::signature::{ANNOTATION, BUNDLE, MAX_SIGNATURES, NotSigned, PAYLOAD, SIGNS, Signed, check};
}

use devgate_types::Digest;

/// The SHA-256 digest of these bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> Digest {
    use sha2::Digest as _;
    Digest(sha2::Sha256::digest(bytes).into())
}
