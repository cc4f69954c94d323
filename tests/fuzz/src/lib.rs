//! What devgate makes of input that others write, one function for each kind: it returns, or panics where something does not hold.
//!
//! `tests/kept.rs` calls them with the inputs in `corpus/` and with seeded changes of those; the wrappers in `libfuzzer/` let
//! cargo-fuzz find others. An input that broke something stays in `corpus/`, by the name of what it broke.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a target panics where something does not hold"
)]

mod component;
mod hold;
pub mod mutate;
mod node;
pub mod targets;

use targets::{cdi, compile, journal, kubelet, load, oci, policy, recording, runner, state};

/// A target: its name, which is that of its directory in `corpus/`, what it does, and what its input is made of.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Reads an input.
    pub run: fn(&[u8]),
    /// How inputs are changed besides byte by byte.
    pub form: mutate::Form,
    /// Files of the repository that are inputs as well: directories and how names end in them.
    pub also: &'static [(&'static str, &'static str)],
    /// The most changed inputs in one run of the tests: what they cost together is bounded.
    pub runs: u32,
}

use mutate::Form::{Bytes, Frames, Message, Text};

/// All of them.
pub const TARGETS: [Target; 15] = [
    target("policy", policy::policy, Text, &[("deploy/policies", ".yaml"), ("guests", "policy.yaml")], 2_000),
    target("recording", recording::recording, Text, &[("dev/fake-node/tests/testdata", ".umockdev")], 600),
    target("component", load::component, Bytes, &[], 20_000),
    target("runner", runner::runner, Frames(1), &[], 3_000),
    target("host", runner::host, Frames(0), &[], 3_000),
    target("compiler", compile::compiler, Frames(0), &[], 500),
    target("kubelet", kubelet::call, Message(1), &[], 5_000),
    target("pods", kubelet::pods, Message(0), &[], 5_000),
    target("checkpoint", kubelet::checkpoint, Text, &[], 5_000),
    target("journal", journal::journal, Text, &[], 1_000),
    target("state", state::state, Text, &[("tests/fixtures/0.1.0/state", ".json")], 1_000),
    target("cdi", cdi::cdi, Text, &[], 2_000),
    target("manifest", oci::manifest, Text, &[], 5_000),
    target("layer", oci::layer, Bytes, &[], 2_000),
    target("signature", oci::signature, Text, &[("host/oci/src/signature", ".sigstore.json")], 2_000),
];

const fn target(
    name: &'static str,
    run: fn(&[u8]),
    form: mutate::Form,
    also: &'static [(&'static str, &'static str)],
    runs: u32,
) -> Target {
    Target { name, run, form, also, runs }
}
