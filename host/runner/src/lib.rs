//! The boundary between the host and the processes that do something with what a vendor wrote: one that compiles a component and ends,
//! and one for each plugin that runs it. Neither can open, connect, execute or trace anything, and neither is believed.
//!
//! ```text
//! host ── component's bytes ──► devgate-compile ── machine code ──► host, which keeps it (CodeCache)
//! host ── machine code ──► devgate-runner
//! host ── call ──► devgate-runner ── question ──► host ── answer ──► devgate-runner ── the call's answer ──► host
//! ```
//!
//! [`Runners`] is the host's side; [`child`] is what the two programs do, with a sandbox that they bring.
#![forbid(unsafe_code)]

pub mod child;
mod code_cache;
mod compile;
#[doc(hidden)]
pub mod fuzz;
mod memory;
mod message;
mod program;
mod runner;
mod runners;
mod socket;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "functions that only tests call")]
mod tests;

pub use code_cache::{CodeCache, NotCached};
pub use devgate_types::load::LoadRequest;
pub use memory::{COMPILER_MEMORY, HOST_MEMORY, memory_limit, runner_memory};
pub use program::{Program, ProgramError, Programs};
pub use runner::Runner;
pub use runners::{Runners, digest};
pub use socket::{Socket, SocketError};

/// Of which build this is: another for each version of devgate, of the crates that it is made of, and of how the sandbox is set up.
pub const BUILD: &str = env!("DEVGATE_BUILD");
