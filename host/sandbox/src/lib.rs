//! Runs a vendor's component with wasmtime: gives every call a fresh instance with every limit set.
//!
//! The only crate that names wasmtime. It knows nothing of the policy, of the node (capabilities answer through
//! [`devgate_types::component::Capabilities`]) or of the kubelet.
//!
//! ```text
//! bytes ── scan ──► Scan      bytes ── compile ──► code      code ── link ──► Loaded
//! Loaded ── per call: store, all limits, instance, export, answer copied and bounded ──► Answer or CallError
//! ```
//!
//! With the feature `compiler` it reads and compiles components as well; a program that only runs them is built without.
#![deny(unsafe_code)]

mod bindings;
mod brief;
mod call;
mod clocks;
#[cfg(feature = "compiler")]
mod compile;
mod convert;
mod engine;
mod fault;
mod host;
#[cfg(feature = "compiler")]
mod in_process;
mod load;
mod meter;
mod precompiled;
#[cfg(feature = "compiler")]
mod scan;
mod state;
mod stdio;
mod ticker;

#[cfg(feature = "compiler")]
pub use compile::compile;
#[cfg(feature = "compiler")]
pub use devgate_types::load::LoadRequest;
pub use engine::Engine;
#[cfg(feature = "compiler")]
pub use in_process::load;
pub use load::Loaded;
pub use precompiled::Code;
#[cfg(feature = "compiler")]
pub use scan::scan;
