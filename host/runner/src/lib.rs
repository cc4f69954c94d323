//! What is done with a vendor's component apart from the host, in a process that has a limit and an end: so far, compiling it.
//!
//! A compiler is a large program that a component can do things to. A process of its own ends with its limit, and whatever it
//! needed is given back; what it made is kept ([`Kept`]), so that a component is compiled once and not at each start.
//!
//! ```text
//! host ── component's bytes ──► devgate-compile (this program, called so; confined) ── machine code ──► host, Kept
//! ```
#![deny(unsafe_code)]

mod compile;
mod kept;

pub use compile::{ChildCompiler, called};
pub use kept::{Kept, NotKept};
