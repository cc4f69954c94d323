//! The kernel of the machine that the tests run on.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "functions beside the tests count as code"
)]

use devgate_node::tree::Readers;
use devgate_node::{DevicePath, Node, ReadError};
use devgate_types::NodeKind;
use std::path::Path;

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
fn every_device_is_where_the_kernel_says() {
    let Some(node) = machine() else { return };
    let mut seen = 0;
    for subsystem in subsystems() {
        for device in node.devices(&subsystem).unwrap() {
            let directory = Path::new("/sys/devices").join(device.location());
            // A device may go while it is looked at.
            if !directory.exists() {
                continue;
            }
            assert_eq!(std::fs::canonicalize(&directory).unwrap(), directory, "a place is never through a link");
            assert_eq!(node.device(&subsystem, device.name()).unwrap(), device, "{subsystem}");
            let said = std::fs::read_link(directory.join("subsystem")).unwrap();
            let found = node.subsystem(&device).unwrap().unwrap();
            assert_eq!(said.file_name().unwrap().to_str().unwrap(), found.name);
            let parent = node.parent(&device);
            assert!(parent.is_none_or(|parent| device.is_beneath(&parent)));
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen} devices");
}

#[test]
fn class_attributes_are_no_devices() {
    let Some(node) = machine() else { return };
    for (class, attribute) in [("zram-control", "hot_add"), ("firmware", "timeout"), ("gpio", "export")] {
        if !Path::new("/sys/class").join(class).exists() {
            eprintln!("skipped: no {class} here");
            continue;
        }
        let devices = node.devices(class).unwrap();
        assert!(devices.iter().all(|device| device.name() != attribute), "{class}");
        assert_eq!(node.device(class, attribute), Err(ReadError::NotFound));
    }
}

#[test]
fn own_nodes_are_what_stat_says() {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let Some(node) = machine() else { return };
    let _alone = one::alone().unwrap();
    let mut seen = 0;
    for subsystem in ["misc", "tty", "mem", "block"] {
        for device in node.devices(subsystem).unwrap() {
            let own = match node.own_node(&device) {
                Ok(Some(own)) => own,
                // A container's /dev has few of them, and some of those as links or terminals of its own.
                Ok(None) | Err(ReadError::NotFound | ReadError::NotANode | ReadError::NodeDiffers { .. }) => continue,
                Err(error) => panic!("{device:?}: {error}"),
            };
            let metadata = std::fs::symlink_metadata(&own.path).unwrap();
            let kind = if metadata.file_type().is_block_device() { NodeKind::Block } else { NodeKind::Character };
            assert_eq!((own.number.kind, kind), (kind, if subsystem == "block" { NodeKind::Block } else { kind }));
            let number = rustix::fs::makedev(own.number.major, own.number.minor);
            assert_eq!(number, metadata.rdev(), "{own:?}");
            assert_eq!(node.owner_of(own.number), Some(device));
            assert_eq!(node.check_node(&own), Ok(()));
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn fuse_is_a_virtual_misc_device() {
    let Some(node) = machine() else { return };
    let Ok(fuse) = node.device("misc", "fuse") else {
        eprintln!("skipped: no fuse in this kernel");
        return;
    };
    assert_eq!(fuse.location(), "virtual/misc/fuse");
    assert_eq!(node.attribute(&fuse, "dev", 4096).unwrap(), b"10:229\n");
    assert_eq!(node.link(&fuse, "subsystem").unwrap(), "misc");
    assert_eq!((node.driver(&fuse), node.devtype(&fuse), node.numa_node(&fuse)), (None, None, None));
    assert_eq!(node.parent(&fuse), None);
    let entries = node.entries(&fuse, "").unwrap();
    assert!(["dev", "power", "subsystem", "uevent"].iter().all(|name| entries.contains(&(*name).to_owned())));
    for path in ["subsystem/fuse/dev", "subsystem/../fuse/dev", "../kvm/dev", "/dev/null", "dev/", "power"] {
        let read = node.attribute(&fuse, path, 4096);
        assert!(matches!(read, Err(ReadError::Invalid(_))), "{path}: {read:?}");
    }
    assert_eq!(node.related(&fuse, "subsystem"), Err(ReadError::NotADevice));
}

#[test]
fn links_of_proc_lead_nowhere() {
    let Some(node) = machine() else { return };
    for path in ["/proc/self/status", "/proc/self/root/etc/passwd", "/proc/1/root/etc/passwd", "/proc/1/cwd/x"] {
        let read = node.file(path, 1 << 20);
        assert!(matches!(read, Err(ReadError::Invalid(_) | ReadError::Denied(_))), "{path}: {read:?}");
    }
    for path in ["/proc/self/fd/0", "/dev/fd/0", "/dev/stdin"] {
        assert!(node.node_at(path).is_err(), "{path}");
    }
}

#[test]
fn attributes_of_the_host_are_denied_to_others() {
    let Some(node) = machine() else { return };
    let Some(device) = node.devices("pci").unwrap().into_iter().next() else {
        eprintln!("skipped: no PCI here");
        return;
    };
    // Mode 0200: even root gets nothing out of it.
    for path in ["remove", "rescan"] {
        let read = node.attribute(&device, path, 4096);
        assert!(matches!(read, Err(ReadError::Denied(_) | ReadError::NotFound)), "{path}: {read:?}");
        let whole = device.join(path).and_then(|path| node.tree().read(&path, 0, 4097, Readers::Host));
        assert!(whole.is_err());
    }
    let vendor = node.attribute(&device, "vendor", 4096).unwrap();
    assert!(vendor.starts_with(b"0x"));
    assert_eq!(node.attribute_at(&device, "vendor", 2, 2).unwrap(), vendor[2..4]);
    assert_eq!(node.attribute_at(&device, "config", 0, 4).unwrap().len(), 4);
}

#[test]
fn the_disk_that_the_root_is_on_is_in_use() {
    let Some(node) = machine() else { return };
    let disks: Vec<DevicePath> = node.devices("block").unwrap();
    let used = |disk: &DevicePath| {
        let own = node.own_node(disk).ok()??;
        node.block_in_use(own.number).unwrap()
    };
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let Some(number) = mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        (fields[4] == "/" && !fields[2].starts_with("0:")).then(|| fields[2].to_owned())
    }) else {
        eprintln!("skipped: the root is not on a block device");
        return;
    };
    let root = disks
        .iter()
        .find(|disk| node.attribute(disk, "dev", 32).is_ok_and(|dev| dev == format!("{number}\n").as_bytes()));
    let Some(reason) = root.and_then(used) else {
        assert!(root.is_none_or(|root| node.own_node(root).is_err()), "the root's disk is idle");
        eprintln!("skipped: the root's disk has no node here");
        return;
    };
    assert!(reason.contains(" is mounted on /"), "{reason}");
}

/// `/proc/uptime` counts the same (`CLOCK_BOOTTIME`), in hundredths of a second.
#[test]
fn the_clock_is_the_kernels() {
    let node = Node::open(Path::new("/")).unwrap();
    let uptime = || {
        let text = std::fs::read_to_string("/proc/uptime").unwrap();
        text.split(' ').next().unwrap().replace('.', "").parse::<u64>().unwrap() * 10
    };
    let (before, now, after) = (uptime(), node.now(), uptime());
    assert!(before <= now && now <= after + 10, "{before} {now} {after}");
}
