//! Nothing outside of the root or a device's directory can be read, whatever is asked and whatever lies in the way; with
//! `openat2` and without.

mod any_path;
mod listing;

use crate::tree::Readers;
use crate::{DevicePath, Node, NodeChanged, ReadError};
use proptest::prelude::*;
use rustix::fs::{CWD, Mode};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

const DEVICE: &str = "sys/devices/pci0000:00/0000:00:01.0";
const CANARY: &[u8] = b"canary";

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A node's root with one PCI device, and canaries in every place that must not be reached.
fn world() -> TempDir {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("root");
    let device = root.join(DEVICE);
    fs::create_dir_all(device.join("power")).unwrap();
    for directory in ["sys/bus/pci/devices", "sys/class/odd/real", "sys/devices/virtual/misc", "dev", "proc"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::write(outer.path().join("canary"), CANARY).unwrap();
    fs::write(root.join("canary"), CANARY).unwrap();
    fs::write(root.join("sys/devices/canary"), CANARY).unwrap();
    fs::write(root.join("sys/devices/pci0000:00/canary"), CANARY).unwrap();
    for (path, content) in [("uevent", "DRIVER=x\n"), ("vendor", "0x10de\n"), ("power/control", "auto\n")] {
        fs::write(device.join(path), content).unwrap();
    }
    fs::create_dir_all(root.join("sys/bus/pci")).unwrap();
    symlink("../../../bus/pci", device.join("subsystem")).unwrap();
    for (name, target) in [
        ("0000:00:01.0", "../../../devices/pci0000:00/0000:00:01.0"),
        ("absolute", "/sys/devices/pci0000:00/0000:00:01.0"),
        ("escape", "../../../../../canary"),
        ("outside", "../../../class/odd/real"),
        ("not-a-device", "../../../devices/pci0000:00"),
        ("dangling", "../../../devices/pci0000:00/0000:00:02.0"),
    ] {
        symlink(target, root.join("sys/bus/pci/devices").join(name)).unwrap();
    }
    fs::write(root.join("sys/class/odd/export"), "").unwrap();
    for (name, target) in [
        ("to-canary", "../canary"),
        ("to-outer", "../../../../../canary"),
        ("to-root", "/"),
        ("to-proc", "/proc/self/root"),
        ("to-self", "vendor"),
        ("to-dir", "power"),
        ("bus", "../../../bus/pci"),
        ("peer", "../0000:00:01.0"),
    ] {
        symlink(target, device.join(name)).unwrap();
    }
    outer
}

fn both(outer: &TempDir) -> [Node; 2] {
    let root = outer.path().join("root");
    [Node::open(&root).unwrap(), Node::open_stepwise(&root).unwrap()]
}

/// An attribute that only root may read.
fn root_attribute(node: &Node, device: &DevicePath, path: &str, most: usize) -> Result<Vec<u8>, ReadError> {
    node.tree().read(&device.join(path)?, 0, most, Readers::Host)
}

fn device(node: &Node) -> DevicePath {
    node.device("pci", "0000:00:01.0").unwrap()
}

fn device_directory(outer: &TempDir) -> std::path::PathBuf {
    outer.path().join("root").join(DEVICE)
}

#[test]
fn plain_attributes_are_read() {
    let outer = world();
    for node in both(&outer) {
        let device = device(&node);
        assert_eq!(node.attribute(&device, "vendor", 4096).unwrap(), b"0x10de\n");
        assert_eq!(node.attribute(&device, "power/control", 4096).unwrap(), b"auto\n");
        assert_eq!(node.attribute_at(&device, "vendor", 2, 3).unwrap(), b"10d");
        assert_eq!(node.attribute_at(&device, "vendor", 100, 3).unwrap(), b"");
        assert!(matches!(node.attribute_at(&device, "vendor", u64::MAX, 3), Err(ReadError::Invalid(_))));
        assert_eq!(node.attribute(&device, "absent", 4096), Err(ReadError::NotFound));
        assert_eq!(node.attribute(&device, "vendor/x", 4096), Err(ReadError::NotFound));
    }
}

#[test]
fn paths_that_are_not_plain_are_refused() {
    let outer = world();
    let long = "power/".repeat(1000) + "control";
    let long_name = "x".repeat(256);
    // Short enough by itself, too long below the device.
    let long_below = "x/".repeat(2040) + "x";
    for node in both(&outer) {
        let device = device(&node);
        for path in [
            "",
            "/",
            "vendor/",
            "power/control/",
            "power//control",
            "./vendor",
            "power/./control",
            "..",
            "../canary",
            "power/../vendor",
            "power/../../canary",
            "../../../../../canary",
            "/canary",
            "/etc/passwd",
            "/proc/self/root/etc/passwd",
            "vendor\0",
            "vendor\0/../x",
            "\0",
            &long,
            &long_name,
            &long_below,
        ] {
            for refused in [
                node.attribute(&device, path, 4096).map(drop),
                node.attribute_at(&device, path, 0, 10).map(drop),
                root_attribute(&node, &device, path, 10).map(drop),
                node.link(&device, path).map(drop),
                node.related(&device, path).map(drop),
                node.holder(&device, path).map(drop),
                if path.is_empty() { Err(ReadError::Invalid("")) } else { node.entries(&device, path).map(drop) },
            ] {
                assert!(matches!(refused, Err(ReadError::Invalid(_))), "{path:?}: {refused:?}");
            }
        }
    }
}

#[test]
fn no_link_is_followed() {
    let outer = world();
    for node in both(&outer) {
        let device = device(&node);
        for path in [
            "to-canary",
            "to-outer",
            "to-root/canary",
            "to-root/etc/passwd",
            "to-proc/etc/passwd",
            "to-self",
            "to-dir/control",
            "bus/devices/0000:00:01.0/vendor",
            "peer/vendor",
        ] {
            let read = node.attribute(&device, path, 4096);
            assert!(matches!(read, Err(ReadError::Invalid(_))), "{path}: {read:?}");
        }
        for path in ["to-root", "to-proc", "to-dir", "bus", "bus/devices", "peer"] {
            let listed = node.entries(&device, path);
            assert!(matches!(listed, Err(ReadError::Invalid(_))), "{path}: {listed:?}");
        }
        for path in ["to-dir/x", "bus/devices/0000:00:01.0", "peer/to-self"] {
            let link = node.link(&device, path);
            assert!(matches!(link, Err(ReadError::Invalid(_))), "{path}: {link:?}");
        }
    }
}

#[test]
fn links_are_read_and_lead_to_devices_or_nowhere() {
    let outer = world();
    for node in both(&outer) {
        let device = device(&node);
        assert_eq!(node.link(&device, "subsystem").unwrap(), "pci");
        assert_eq!(node.link(&device, "to-outer").unwrap(), "canary");
        assert_eq!(node.related(&device, "peer").unwrap(), device);
        for link in ["subsystem", "to-outer", "to-root", "to-proc", "to-self", "to-dir", "to-canary"] {
            assert_eq!(node.related(&device, link), Err(ReadError::NotADevice), "{link}");
        }
        assert!(matches!(node.link(&device, "to-root"), Err(ReadError::Invalid(_))));
        assert!(matches!(node.link(&device, "vendor"), Err(ReadError::Invalid(_))));
        assert!(matches!(node.link(&device, "power"), Err(ReadError::Invalid(_))));
        assert_eq!(node.link(&device, "absent"), Err(ReadError::NotFound));
    }
}

#[test]
fn a_class_link_that_leads_out_of_the_device_tree_is_no_device() {
    let outer = world();
    for node in both(&outer) {
        let names: Vec<_> = node.devices("pci").unwrap().iter().map(|d| d.location().to_owned()).collect();
        // The kernel makes no link to what is no device; those here are only seen not to be one when asked about.
        assert_eq!(names, ["pci0000:00", "pci0000:00/0000:00:01.0", "pci0000:00/0000:00:02.0"]);
        for name in ["absolute", "escape", "outside", "not-a-device", "dangling"] {
            assert_eq!(node.device("pci", name), Err(ReadError::NotADevice), "{name}");
        }
        assert_eq!(node.device("pci", "absent"), Err(ReadError::NotFound));
        assert_eq!(node.devices("odd").unwrap(), []);
        assert_eq!(node.device("odd", "real"), Err(ReadError::NotFound));
        assert_eq!(node.device("odd", "export"), Err(ReadError::NotFound));
        assert_eq!(node.devices("absent").unwrap(), []);
        for name in ["", ".", "..", "pci/devices", "../class/odd", "a\0", "/sys"] {
            assert!(matches!(node.devices(name), Err(ReadError::Invalid(_))), "{name:?}");
            assert!(matches!(node.device("pci", name), Err(ReadError::Invalid(_))), "{name:?}");
        }
    }
}

#[test]
fn what_is_no_regular_file_is_refused_without_blocking() {
    let outer = world();
    let directory = device_directory(&outer);
    rustix::fs::mknodat(CWD, directory.join("fifo"), rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o666), 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(directory.join("socket")).unwrap();
    for node in both(&outer) {
        let device = device(&node);
        assert_eq!(node.attribute(&device, "fifo", 4096), Err(ReadError::Invalid("not a regular file")));
        assert_eq!(node.attribute(&device, "power", 4096), Err(ReadError::Invalid("a directory")));
        assert!(node.attribute(&device, "socket", 4096).is_err());
        assert_eq!(node.entries(&device, "vendor"), Err(ReadError::NotFound));
        assert_eq!(node.entries(&device, "fifo"), Err(ReadError::NotFound));
    }
}

#[test]
fn nodes_are_told_by_type_and_number() {
    let outer = world();
    let dev = outer.path().join("root/dev");
    let device_node = rustix::fs::makedev(1, 3);
    let mode = Mode::from_raw_mode(0o666);
    let made = rustix::fs::mknodat(CWD, dev.join("null"), rustix::fs::FileType::CharacterDevice, mode, device_node);
    if made.is_err() {
        eprintln!("skipped: making a device node needs root");
        return;
    }
    let in_device = device_directory(&outer).join("null");
    rustix::fs::mknodat(CWD, &in_device, rustix::fs::FileType::CharacterDevice, mode, device_node).unwrap();
    symlink("null", dev.join("link")).unwrap();
    fs::write(dev.join("file"), "").unwrap();
    for node in both(&outer) {
        let null = node.node_at("/dev/null").unwrap();
        assert_eq!(null.number.to_string(), "c 1:3");
        assert_eq!(node.check_node(&null), Ok(()));
        let device = device(&node);
        assert_eq!(node.attribute(&device, "null", 10), Err(ReadError::Invalid("not a regular file")));
        for path in ["/dev/link", "/dev/file"] {
            assert_eq!(node.node_at(path), Err(ReadError::NotANode), "{path}");
        }
        assert_eq!(node.node_at("/dev/absent"), Err(ReadError::NotFound));
        for path in ["", "/", "dev/null", "/dev", "/dev/", "/dev/null/", "/dev/../dev/null", "/devnull", "/sys/x"] {
            assert!(matches!(node.node_at(path), Err(ReadError::Invalid(_))), "{path}");
        }
        let other = crate::DeviceNode { number: devgate_types::NodeNumber { minor: 5, ..null.number }, ..null.clone() };
        assert_eq!(node.check_node(&other), Err(NodeChanged::Differs(null.number)));
        let link = crate::DeviceNode { path: "/dev/link".to_owned(), ..null.clone() };
        assert_eq!(node.check_node(&link), Err(NodeChanged::NotANode));
        let absent = crate::DeviceNode { path: "/dev/absent".to_owned(), ..null };
        assert_eq!(node.check_node(&absent), Err(NodeChanged::Missing));
    }
}

#[test]
fn files_outside_the_tree_are_read_by_plain_absolute_paths() {
    let outer = world();
    fs::create_dir_all(outer.path().join("root/proc/driver/x")).unwrap();
    fs::write(outer.path().join("root/proc/driver/x/version"), "1\n").unwrap();
    symlink("/proc/driver", outer.path().join("root/proc/link")).unwrap();
    for node in both(&outer) {
        assert_eq!(node.file("/proc/driver/x/version", 10).unwrap(), b"1\n");
        assert_eq!(node.file("/proc/driver/x/version", 1), Err(ReadError::TooLarge { most: 1 }));
        assert_eq!(node.file_entries("/proc/driver").unwrap(), ["x"]);
        assert!(matches!(node.file("/proc/link/x/version", 10), Err(ReadError::Invalid(_))));
        assert!(matches!(node.file_entries("/proc/link"), Err(ReadError::Invalid(_))));
        for path in ["", "/", "proc/driver/x/version", "//proc", "/proc/../canary", "/canary/"] {
            assert!(matches!(node.file(path, 10), Err(ReadError::Invalid(_))), "{path}");
        }
    }
}

#[test]
fn a_root_is_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(Node::open(&directory.path().join("absent")), Err(crate::NodeError::Open { .. })));
    assert!(matches!(Node::open(Path::new("/dev/null")), Err(crate::NodeError::NotARoot { .. })));
    let fifo = directory.path().join("fifo");
    rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    assert!(matches!(Node::open(&fifo), Err(crate::NodeError::NotARoot { .. })));
    assert!(!Node::open(directory.path()).unwrap().is_recorded());
    let recording = directory.path().join("r.umockdev");
    fs::write(&recording, "P: /devices/x\nE: SUBSYSTEM=misc\n").unwrap();
    assert!(matches!(Node::open(&recording), Err(crate::NodeError::IsFile { .. })));
}

/// One write to a file that is there: no link, no FIFO, no directory, nothing new, nothing cut off.
#[test]
fn only_a_regular_file_that_is_there_is_written() {
    let outer = world();
    let device_dir = outer.path().join("root").join(DEVICE);
    fs::write(device_dir.join("reset"), "abc").unwrap();
    symlink("vendor", device_dir.join("alias")).unwrap();
    symlink("../../../../canary", device_dir.join("out")).unwrap();
    symlink("power", device_dir.join("way")).unwrap();
    rustix::fs::mknodat(CWD, device_dir.join("fifo"), rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
        .unwrap();
    for (name, node) in ["openat2", "stepwise"].into_iter().zip(both(&outer)) {
        let device = device(&node);
        let write = |path: &str, value: &[u8]| node.write_attribute(&device, path, value);
        assert_eq!(write("reset", b"1"), Ok(()), "{name}");
        assert_eq!(fs::read(device_dir.join("reset")).unwrap(), b"1bc", "{name}: not truncated");
        assert_eq!(write("power/control", b"auto\n"), Ok(()), "{name}");
        for link in ["alias", "out", "way/control", "subsystem"] {
            assert!(matches!(write(link, b"1"), Err(ReadError::Invalid(_))), "{name}: {link}");
        }
        for odd in ["fifo", "power", "../canary", "", "a//b"] {
            assert!(matches!(write(odd, b"1"), Err(ReadError::Invalid(_))), "{name}: {odd}");
        }
        // One that has a reader can be opened, and is no more of a file for that.
        let mut reader = fs::OpenOptions::new().read(true).write(true).open(device_dir.join("fifo")).unwrap();
        assert!(matches!(write("fifo", b"1"), Err(ReadError::Invalid(_))), "{name}: read");
        reader.write_all(b"x").unwrap();
        let mut first = [0];
        reader.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"x", "{name}: nothing was written to it");
        drop(reader);
        assert_eq!(write("nothing", b"1"), Err(ReadError::NotFound), "{name}");
        assert!(!device_dir.join("nothing").exists(), "{name}");
        assert_eq!(fs::read(outer.path().join("root/canary")).unwrap(), CANARY);
        if !is_root() {
            fs::set_permissions(device_dir.join("vendor"), fs::Permissions::from_mode(0o444)).unwrap();
            assert!(matches!(write("vendor", b"1"), Err(ReadError::Denied(_))), "{name}");
        }
        fs::write(device_dir.join("reset"), "abc").unwrap();
    }
}
