//! The front end against the stand-in, line by line of the conformance list in `host/device-plugin/tests/conformance/README.md`: a test's name starts
//! with the number of the line that it shows.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test's own functions may fail as a test does"
)]

mod allocate;
mod fake;
mod flapping;
mod harness;
mod life;
mod listing;
mod pod_resources;
mod preferred;
mod registration;
mod table;
mod wire;
