//! End to end: the real program, real sockets, real components, this machine's devices and recorded ones.
#![forbid(unsafe_code)]

mod bad_components;
mod bad_policies;
mod demo;
mod docs;
mod kubelets;
mod life;
mod offers;
mod wat_component;
