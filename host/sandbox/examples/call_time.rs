//! How long one call takes, instance and drop included: `cargo run --release -p devgate-sandbox --example call_time`.
//!
//! A small component allocates one unit without reading from the node; then a component
//! of your own, if its file is named as an argument, is asked the same.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example that prints")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "an example")]

use devgate_sandbox::{LoadRequest, Loaded, load};
use devgate_types::Grant;
use devgate_types::Unit;
use devgate_types::component::{Call, CallKind, Capabilities};
use std::time::{Duration, Instant};

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/sandbox/fake.rs"]
mod fake;
#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/sandbox/guest.rs"]
mod guest;

const CALLS: usize = 5_000;

fn main() {
    let small = guest::Guest::default().component();
    let own = std::env::args().nth(1).map(|path| (std::fs::read(&path).expect("the component's file"), path));
    println!("{:40} {:>10} {:>10} {:>10}", "microseconds a call", "median", "p99", "most");
    measure("small", &small);
    if let Some((bytes, path)) = &own {
        measure(path.rsplit('/').next().unwrap_or(path), bytes);
    }
}

fn measure(what: &str, bytes: &[u8]) {
    let request =
        LoadRequest { plugin: "measured", bytes, sha256: None, limits: fake::patient(), grants: &|_| Grant::Granted };
    let plugin = load(request).unwrap_or_else(|error| panic!("{error}"));
    let unit = Unit { id: "gpu-0".into(), backing: vec![], nodes: vec![], properties: vec![] };
    let mut times: Vec<Duration> =
        (0..CALLS + 100).map(|_| time(&plugin, std::slice::from_ref(&unit))).skip(100).collect();
    times.sort();
    let at =
        |share: usize| times.get(times.len() * share / 100).or(times.last()).map_or(0.0, |t| t.as_secs_f64() * 1e6);
    println!("{what:40} {:10.1} {:10.1} {:10.1}", at(50), at(99), at(100));
}

fn time(plugin: &Loaded, units: &[Unit]) -> Duration {
    let host: Box<dyn Capabilities> = fake::Fake::boxed();
    let started = Instant::now();
    // The answer counts, whatever it is: a component may well refuse a unit without hardware.
    let answer = plugin.call(&Call::about(CallKind::Allocate, "devgate.dev/x", units), host);
    let time = started.elapsed();
    drop(answer);
    time
}
