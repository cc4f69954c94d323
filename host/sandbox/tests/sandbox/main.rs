//! The sandbox against components of every kind, most of them hostile, written as text.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "functions that only tests call"
)]

mod fake;
mod guest;

mod about;
mod calls;
mod capabilities;
mod conditions;
mod files;
mod hostile;
mod inspecting;
mod instances;
mod later;
mod lifecycle;
mod limits;
mod loading;
mod optional;
mod parameters;
mod preference;
mod wasi;
