//! Runs vendors' components with wasmtime: refuses what the policy does not grant before anything is compiled, and gives
//! every call a fresh instance with every limit set.
//!
//! The only crate that names wasmtime. It knows nothing of the policy (a closure says what is granted), of the node
//! (capabilities answer through [`devgate_types::component::Capabilities`]) or of the kubelet.
//!
//! ```text
//! bytes ── size, digest, magic ── static limits ── imports against grants ── compile ── link ──► Loaded
//! Loaded ── per call: store, all limits, instance, export, answer copied and bounded ──► Answer or CallError
//! ```
#![deny(unsafe_code)]

mod answer;
mod bindings;
mod brief;
mod call;
mod clocks;
mod engine;
mod fault;
mod host;
mod limiter;
mod load;
mod meter;
mod precompiled;
mod state;
mod stdio;
mod ticker;
mod turns;

pub use devgate_types::Grant;
pub use engine::{Engine, EngineError};
pub use load::{
    Contents, Counts, Import, Inspection, LoadError, LoadRequest, Loaded, Need, Refusal, RefusedImport, digest, hex,
    inspect, load,
};
pub use precompiled::{Compiler, InProcess, Source, compile};
