//! What reading costs on this machine: `cargo test -p devgate-node --test timing -- --ignored --nocapture`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "functions beside the tests count as code"
)]

use devgate_node::Node;
use std::path::Path;
use std::time::Instant;

#[test]
#[ignore = "prints times, checks nothing that a busy machine could break"]
fn reading_attributes() {
    let node = Node::open(Path::new("/")).unwrap();
    let device = node.devices("tty").unwrap().into_iter().next().unwrap();
    let time = |what: &str, ask: &dyn Fn() -> bool| {
        let mut best = f64::MAX;
        for _ in 0..20 {
            let start = Instant::now();
            for _ in 0..5_000 {
                assert!(ask());
            }
            best = best.min(start.elapsed().as_secs_f64() / 5_000.0 * 1e6);
        }
        println!("{what}: {best:.2} µs");
    };
    println!("{device:?}");
    time("attribute", &|| node.attribute(&device, "dev", 4096).is_ok());
    time("attribute, absent", &|| node.attribute(&device, "absent", 4096).is_err());
    time("std::fs::read", &|| std::fs::read(format!("/sys/devices/{}/dev", device.location())).is_ok());
    time("entries", &|| node.entries(&device, "").is_ok());
    time("subsystem", &|| node.subsystem(&device).is_ok());
    time("exists", &|| node.exists(&device));
    time("own_node", &|| node.own_node(&device).is_ok());
    time("child_devices", &|| node.child_devices(&device).is_ok());
    let all = node.devices("tty").unwrap().len();
    println!("{all} ttys");
    time("devices", &|| node.devices("tty").is_ok());
}
