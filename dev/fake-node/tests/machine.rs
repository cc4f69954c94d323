//! The kernel of the machine that the tests run on, recorded by another program than this one.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "functions beside the tests count as code"
)]

use devgate_fake_node::RecordedNode;
use devgate_node::Node;
use std::path::Path;
use std::process::Command;

#[path = "../../../tests/src/machine.rs"]
#[allow(dead_code, unreachable_pub, reason = "it is public where it is shared from")]
mod one;

fn machine() -> Option<Node> {
    if Path::new("/sys/devices/virtual/tty").is_dir() {
        return Some(Node::open(Path::new("/")).unwrap());
    }
    eprintln!("skipped: no /sys here");
    None
}

/// Every subsystem that the kernel shows.
fn subsystems() -> Vec<String> {
    let names =
        |path| std::fs::read_dir(path).into_iter().flatten().filter_map(|e| e.ok()?.file_name().into_string().ok());
    let mut all: Vec<String> = names("/sys/class").chain(names("/sys/bus")).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn a_recording_by_umockdev_says_what_the_machine_says() {
    let Some(live) = machine() else { return };
    let _alone = one::alone().unwrap();
    let Ok(output) = Command::new("umockdev-record").arg("--all").output() else {
        eprintln!("skipped: umockdev-record is not installed");
        return;
    };
    if !output.status.success() {
        eprintln!("skipped: umockdev-record: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let recorded = RecordedNode::parse("this machine", &text).unwrap();
    let mut seen = 0;
    for subsystem in subsystems() {
        let devices = live.devices(&subsystem).unwrap();
        assert_eq!(devices, recorded.devices(&subsystem).unwrap(), "{subsystem}");
        for device in devices {
            let facts = |node: &Node| {
                (
                    (node.subsystem(&device), node.devtype(&device), node.driver(&device), node.numa_node(&device)),
                    (node.parent(&device), node.child_devices(&device), node.related(&device, "device")),
                    ["vendor", "class", "idVendor", "size"].map(|path| node.attribute(&device, path, 4096)),
                )
            };
            assert_eq!(facts(&live), facts(&recorded), "{subsystem} {device:?}");
            if let Ok(Some(own)) = live.own_node(&device) {
                assert_eq!(recorded.own_node(&device), Ok(Some(own.clone())));
                assert_eq!(recorded.owner_of(own.number), live.owner_of(own.number));
            }
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen} devices");
}
