//! End to end: the real program, real sockets, real components, this machine's devices and recorded ones.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests, their shared functions included"
)]

mod bad_components;
mod bad_policies;
mod conformance;
mod demo;
mod docs;
mod grants;
mod kubelets;
mod life;
mod nvidia;
mod offers;
mod threats;
mod wat_component;
