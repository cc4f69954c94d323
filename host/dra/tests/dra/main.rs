//! The front end against a kubelet, an agent and devices that are none, over real sockets. A test's name begins with the number of the
//! line in `host/dra/CONFORMANCE.md` that it shows.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test's own functions may fail as a test does"
)]

mod devices;
mod fake_agent;
mod health;
mod judged;
mod leftovers;
mod parameters;
mod prepare;
mod publish;
mod registration;
mod table;
mod unprepare;
mod wire;
mod world;
