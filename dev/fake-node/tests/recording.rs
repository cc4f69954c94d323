//! A recorded node answers as the kernel would, and changes as it would.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "functions beside the tests count as code"
)]

#[path = "recording/any_text.rs"]
mod any_text;
#[path = "recording/mistakes.rs"]
mod mistakes;

use devgate_fake_node::{Change, Opened, RecordedNode, RecordingError};
use devgate_node::tree::Readers;
use devgate_node::{DeviceNode, DevicePath, Node, NodeChanged, NodeError, ReadError};
use devgate_types::{NodeKind, NodeNumber};
use rustix::io::Errno;
use std::path::Path;

fn small() -> RecordedNode {
    RecordedNode::parse("small.umockdev", include_str!("testdata/small.umockdev")).unwrap()
}

fn device(node: &Node, subsystem: &str, name: &str) -> DevicePath {
    node.device(subsystem, name).unwrap()
}

fn names(devices: &[DevicePath]) -> Vec<&str> {
    devices.iter().map(DevicePath::name).collect()
}

fn own(node: &Node, subsystem: &str, name: &str) -> Option<String> {
    let own = node.own_node(&device(node, subsystem, name)).unwrap();
    own.map(|DeviceNode { path, number }| format!("{path} {number}"))
}

fn block(major: u32, minor: u32) -> NodeNumber {
    NodeNumber { kind: NodeKind::Block, major, minor }
}

#[test]
fn a_root_is_a_directory_or_a_recording() {
    let directory = tempfile::tempdir().unwrap();
    let open = |path: &Path| devgate_fake_node::open(path).map(Opened::into_node);
    let root = directory.path();
    let of_node = |path: &Path| match open(path) {
        Err(RecordingError::Node(error)) => error,
        _ => panic!("{}", path.display()),
    };
    assert!(matches!(of_node(&root.join("absent")), NodeError::Open { .. }));
    assert!(matches!(of_node(Path::new("/dev/null")), NodeError::NotARoot { .. }));
    assert!(!open(root).unwrap().is_recorded());
    assert!(matches!(RecordedNode::open(root), Err(RecordingError::NotARecording { .. })));
    let fifo = root.join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(matches!(of_node(&fifo), NodeError::NotARoot { .. }));
    assert!(matches!(RecordedNode::open(&fifo), Err(RecordingError::NotARecording { .. })));
    let recording = root.join("r.umockdev");
    std::fs::write(&recording, "P: /devices/x\nE: SUBSYSTEM=misc\n").unwrap();
    assert!(open(&recording).unwrap().is_recorded());
    std::fs::write(&recording, b"\n\nE: NAME=\xff\n").unwrap();
    let error = open(&recording).err().unwrap().to_string();
    assert!(error.starts_with("recording r.umockdev, line 3: not UTF-8"), "{error}");
}

#[test]
fn devices_are_listed_by_bus_and_class_sorted_by_place() {
    let node = small();
    assert!(node.is_recorded());
    let pci = node.devices("pci").unwrap();
    let bridge = "pci0000:3a/0000:3a:00.0";
    let locations: Vec<_> = pci.iter().map(DevicePath::location).collect();
    assert_eq!(
        locations,
        [
            bridge,
            "pci0000:3a/0000:3a:00.0/0000:3b:00.0",
            "pci0000:5d/0000:5d:00.0",
            "pci0000:5d/0000:5d:00.1",
            "pci0000:80/0000:80:00.0"
        ]
    );
    assert_eq!(names(&node.devices("misc").unwrap()), ["fuse", "kvm", "tun"]);
    assert_eq!(names(&node.devices("block").unwrap()), ["vdb", "vdb1", "vdb2", "nvme0n1"]);
    assert_eq!(names(&node.devices("usb").unwrap()), ["usb1", "1-1", "1-1:1.0"]);
    assert_eq!(node.devices("infiniband").unwrap(), []);
    let subsystem = |device| node.subsystem(device).unwrap().map(|s| (s.name, s.is_bus));
    assert_eq!(subsystem(&pci[0]), Some(("pci".to_owned(), true)));
    assert_eq!(subsystem(&device(&node, "tty", "ttyUSB0")), Some(("tty".to_owned(), false)));
}

#[test]
fn a_gpu_has_attributes_links_and_drm_children() {
    let node = small();
    let gpu = device(&node, "pci", "0000:3b:00.0");
    assert_eq!(node.attribute(&gpu, "vendor", 4096).unwrap(), b"0x1002\n");
    assert_eq!(node.attribute_at(&gpu, "config", 2, 2).unwrap(), [0x0f, 0x74]);
    assert!(matches!(node.attribute(&gpu, "reset", 4096), Err(ReadError::Denied(_))));
    assert_eq!(node.tree().read(&gpu.join("reset").unwrap(), 0, 4096, Readers::Host).unwrap(), b"");
    assert_eq!(node.entries(&gpu, "drm").unwrap(), ["card0", "renderD128"]);
    assert_eq!(node.driver(&gpu).as_deref(), Some("acmegpu"));
    assert_eq!(node.link(&gpu, "iommu_group").unwrap(), "17");
    assert_eq!(node.related(&gpu, "iommu_group"), Err(ReadError::NotADevice));
    assert_eq!(names(&node.child_devices(&gpu).unwrap()), ["card0", "renderD128"]);
    let card = device(&node, "drm", "card0");
    assert_eq!(node.related(&card, "device").unwrap(), gpu);
    assert_eq!(node.parent(&card), Some(gpu.clone()));
    assert_eq!(names(&node.child_devices(&card).unwrap()), ["card0-DP-1"]);
    assert!(card.is_beneath(&gpu));
    // The root of the bus is no device.
    let bridge = node.parent(&gpu).unwrap();
    assert_eq!((bridge.name(), node.parent(&bridge)), ("0000:3a:00.0", None));
}

#[test]
fn an_attribute_belongs_to_the_nearest_device() {
    let node = small();
    let bridge = device(&node, "pci", "0000:3a:00.0");
    let gpu = device(&node, "pci", "0000:3b:00.0");
    assert_eq!(node.holder(&bridge, "vendor").unwrap(), bridge);
    assert_eq!(node.holder(&bridge, "0000:3b:00.0/vendor").unwrap(), gpu);
    assert_eq!(node.holder(&bridge, "0000:3b:00.0/power/control").unwrap(), gpu);
    assert_eq!(node.holder(&gpu, "power/control").unwrap(), gpu);
    assert_eq!(node.holder(&gpu, "drm/card0/dev").unwrap(), device(&node, "drm", "card0"));
}

#[test]
fn numa_nodes_come_from_the_device_or_above() {
    let node = small();
    assert_eq!(node.numa_node(&device(&node, "pci", "0000:3b:00.0")), Some(1));
    assert_eq!(node.numa_node(&device(&node, "drm", "card0")), Some(1));
    assert_eq!(node.numa_node(&device(&node, "block", "nvme0n1")), Some(1));
    assert_eq!(node.numa_node(&device(&node, "pci", "0000:5d:00.1")), None);
    assert_eq!(node.numa_node(&device(&node, "misc", "fuse")), None);
}

#[test]
fn nodes_have_the_kernels_names_and_types() {
    let node = small();
    for (subsystem, name, expected) in [
        ("misc", "fuse", Some("/dev/fuse c 10:229")),
        ("misc", "tun", Some("/dev/net/tun c 10:200")),
        ("drm", "renderD128", Some("/dev/dri/renderD128 c 226:128")),
        ("drm", "card0-DP-1", None),
        ("block", "vdb1", Some("/dev/vdb1 b 254:17")),
        ("block", "nvme0n1", Some("/dev/nvme0n1 b 259:0")),
        ("nvme", "nvme0", Some("/dev/nvme0 c 241:0")),
        ("usb", "1-1", Some("/dev/bus/usb/001/002 c 189:1")),
        ("usb", "1-1:1.0", None),
        ("tty", "ttyUSB0", Some("/dev/ttyUSB0 c 188:0")),
        ("net", "ens1f0np0", None),
        ("pci", "0000:3b:00.0", None),
        ("acmecard", "acmecard!0", Some("/dev/acmecard/0 c 237:0")),
    ] {
        assert_eq!(own(&node, subsystem, name).as_deref(), expected, "{subsystem} {name}");
    }
    let device = device(&node, "block", "vdb1");
    assert_eq!(node.devtype(&device).as_deref(), Some("partition"));
    assert_eq!(node.owner_of(block(254, 17)), Some(device));
    assert_eq!(node.owner_of(NodeNumber { kind: NodeKind::Character, ..block(254, 17) }), None);
    assert_eq!(node.node_at("/dev/acmectl").unwrap().number.to_string(), "c 195:255");
    assert_eq!(node.owner_of(node.node_at("/dev/acmectl").unwrap().number), None);
    assert_eq!(node.node_at("/dev/dri"), Err(ReadError::NotANode));
    assert_eq!(node.node_at("/dev/dri/by-path/pci-0000:3b:00.0-card"), Err(ReadError::NotFound));
    assert!(node.file("/proc/driver/acme/version", 4096).unwrap().starts_with(b"ACME version"));
}

#[test]
fn a_group_node_is_that_of_devices_on_vfio() {
    let node = small();
    let of = |name| {
        let found = node.vfio_group(&device(&node, "pci", name)).unwrap();
        found.map(|found| (found.group, found.name, found.node.path, found.device.is_some()))
    };
    let expected = |class| Some(("42".to_owned(), "42".to_owned(), "/dev/vfio/42".to_owned(), class));
    assert_eq!(of("0000:5d:00.1"), expected(true));
    assert_eq!(of("0000:3b:00.0"), None, "in a group, and on another driver");
    let function = device(&node, "pci", "0000:5d:00.1");
    let (group, members) = node.iommu_group(&function).unwrap().unwrap();
    assert_eq!((group.as_str(), members), ("42", vec![function.clone()]));
    assert_eq!(node.iommu_group(&device(&node, "misc", "fuse")).unwrap(), None);

    // A kernel without the class.
    node.apply(Change::RemoveDevice("virtual/vfio/42".to_owned())).unwrap();
    assert_eq!(of("0000:5d:00.1"), None);
    let number = NodeNumber { kind: NodeKind::Character, major: 239, minor: 1 };
    node.apply(Change::AddNode { path: "/dev/vfio/42".to_owned(), number }).unwrap();
    assert_eq!(of("0000:5d:00.1"), expected(false));
    // A function of the same group.
    let neighbour = "pci0000:5d/0000:5d:00.0";
    let target = "../../../kernel/iommu_groups/42".to_owned();
    node.apply(Change::SetLink { location: neighbour.to_owned(), path: "iommu_group".to_owned(), target }).unwrap();
    let (_, members) = node.iommu_group(&function).unwrap().unwrap();
    assert_eq!(names(&members), ["0000:5d:00.0", "0000:5d:00.1"]);
    assert_eq!(node.group_members("42").unwrap(), members);
    assert_eq!(node.group_members("43").unwrap(), []);
    // The kernel's own list counts where it is there.
    let listed = "I: /sys/kernel/iommu_groups/42/devices/0000:5d:00.1=l ../../../../devices/pci0000:5d/0000:5d:00.1\n";
    node.apply(Change::AddDevices(listed.to_owned())).unwrap();
    assert_eq!(node.group_members("42").unwrap(), [function]);
}

#[test]
fn a_group_without_an_iommu_says_so() {
    let text = include_str!("testdata/small.umockdev").replace("vfio/42", "vfio/noiommu-42");
    let node = RecordedNode::parse("small.umockdev", &text).unwrap();
    let found = node.vfio_group(&device(&node, "pci", "0000:5d:00.1")).unwrap().unwrap();
    assert_eq!((found.group.as_str(), found.name.as_str()), ("42", "noiommu-42"));
    assert_eq!(found.node.path, "/dev/vfio/noiommu-42");
}

#[test]
fn an_attribute_that_cannot_be_read_says_what_the_kernel_says() {
    let node = small();
    let gpu = device(&node, "pci", "0000:5d:00.1");
    let (location, path) = (gpu.location().to_owned(), "busy".to_owned());
    let fail =
        |error: &str| Change::FailAttribute { location: location.clone(), path: path.clone(), error: error.to_owned() };
    for errno in [Errno::BUSY, Errno::IO, Errno::PERM, Errno::XFULL] {
        node.apply(fail(&devgate_node::errno_name(errno))).unwrap();
        assert_eq!(node.attribute(&gpu, "busy", 9), Err(ReadError::from(errno)));
        assert!(node.entries(&gpu, "").unwrap().contains(&path));
    }
    assert!(node.apply(fail("BUSY")).unwrap_err().to_string().contains("an error of the kernel"));
    // One that only root may read is not read at all.
    node.apply(Change::AddDevices("O: /sys/devices/".to_owned() + &location + "/busy=0 0600")).unwrap();
    assert_eq!(node.attribute(&gpu, "busy", 9), Err(devgate_node::tree::NOT_FOR_ALL));
    node.apply(Change::SetAttribute { location, path, value: b"1\n".to_vec() }).unwrap();
    node.apply(Change::RemoveDevice(gpu.location().to_owned())).unwrap();
    assert_eq!(node.attribute(&gpu, "busy", 9), Err(ReadError::Gone));
}

#[test]
fn a_clock_goes_on_from_what_a_recording_says() {
    let of = |lines: &str| RecordedNode::parse("r", lines).unwrap();
    for (lines, from) in
        [("", 0), ("K: 5140900 x\n", 5_140), ("T: 99000\nK: 5140900 x\n", 99_000), ("T: 1\nK: 5140900 x\n", 5_140)]
    {
        let begun = std::time::Instant::now();
        let node = of(lines);
        let now = node.now();
        assert!(now >= from && u128::from(now - from) <= begun.elapsed().as_millis(), "{lines:?} {now}");
    }
    let node = of("T: 7\n");
    node.stop_clock(0);
    assert_eq!(node.now(), 7);
    node.apply(Change::Clock(5)).unwrap();
    assert_eq!(node.now(), 7, "never back");
    node.apply(Change::Clock(5_000)).unwrap();
    assert_eq!((node.now(), of(&node.text().unwrap()).now() >= 5_000), (5_000, true));
    node.apply(Change::Say { micros: 6_000_999, text: "x".to_owned() }).unwrap();
    assert_eq!(node.now(), 6_000);
}

#[test]
fn block_devices_in_use_are_told() {
    let set = |path: &str, value: &str| Change::SetFile { path: path.to_owned(), value: value.into() };
    let attribute = |location: &str, path: &str, value: &str| Change::SetAttribute {
        location: location.to_owned(),
        path: path.to_owned(),
        value: value.into(),
    };
    let vdb = "pci0000:00/0000:00:05.0/virtio2/block/vdb";
    let mount = "30 1 254:17 / /var/lib/my\\040data rw,relatime shared:1 - ext4 /dev/vdb1 rw\n";
    let btrfs = "31 1 0:40 / /srv rw - btrfs /dev/vdb1 rw,space_cache\n";
    let swaps = "Filename\tType\tSize\tUsed\tPriority\n/dev/vdb1   partition\t1024\t0\t-2\n";
    let ways = [
        (set("/proc/1/mountinfo", mount), "vdb1 is mounted on /var/lib/my data"),
        (set("/proc/1/mountinfo", btrfs), "vdb1 is mounted on /srv"),
        (set("/proc/swaps", swaps), "vdb1 is used as swap"),
        (set("/sys/fs/xfs/vdb1/log", ""), "vdb1 is mounted as xfs"),
        (set("/sys/fs/btrfs/6f7e/devices/vdb1/x", ""), "vdb1 is mounted as btrfs"),
        (attribute(&format!("{vdb}/vdb1"), "holders/dm-0", ""), "vdb1 is held by dm-0"),
    ];
    for (change, reason) in ways {
        let node = small();
        assert_eq!(node.block_in_use(block(254, 17)), Ok(None));
        node.apply(change).unwrap();
        // The partition itself, and the disk that it is on; not the other partition, nor another disk.
        assert_eq!(node.block_in_use(block(254, 17)).unwrap().as_deref(), Some(reason));
        assert_eq!(node.block_in_use(block(254, 16)).unwrap().as_deref(), Some(reason));
        assert_eq!(node.block_in_use(block(254, 18)), Ok(None), "{reason}");
        assert_eq!(node.block_in_use(block(259, 0)), Ok(None), "{reason}");
    }
    // The whole disk: every partition of it.
    let node = small();
    node.apply(attribute(vdb, "holders/md0", "")).unwrap();
    for minor in 16..=18 {
        assert_eq!(node.block_in_use(block(254, minor)).unwrap().as_deref(), Some("vdb is held by md0"));
    }
    // A loop device with a file, and the disk that it is attached to.
    let node = small();
    let text = "P: /devices/virtual/block/loop0\nN: loop0\nE: MAJOR=7\nE: MINOR=0\nE: SUBSYSTEM=block\n";
    node.apply(Change::AddDevices(text.to_owned())).unwrap();
    assert_eq!(node.block_in_use(block(7, 0)), Ok(None));
    node.apply(attribute("virtual/block/loop0", "loop/backing_file", "/dev/nvme0n1\n")).unwrap();
    assert_eq!(node.block_in_use(block(7, 0)).unwrap().as_deref(), Some("loop0 is a loop device of /dev/nvme0n1"));
    assert_eq!(node.block_in_use(block(259, 0)).unwrap().as_deref(), Some("nvme0n1 is attached to loop0"));
    // What cannot be told is no permission.
    node.apply(Change::RemoveFile("/proc/1/mountinfo".to_owned())).unwrap();
    assert!(matches!(node.block_in_use(block(254, 18)), Err(ReadError::Denied(_))));
    assert_eq!(node.block_in_use(block(1, 1)), Err(ReadError::NotFound));
    assert_eq!(node.block_in_use(NodeNumber { kind: NodeKind::Character, ..block(254, 17) }), Err(ReadError::NotFound));
}

#[test]
fn a_device_that_goes_takes_its_children_links_and_nodes_along() {
    let node = small();
    let clone = node.clone();
    let gpu = device(&node, "pci", "0000:3b:00.0");
    let card = node.own_node(&device(&node, "drm", "card0")).unwrap().unwrap();
    assert_eq!(node.check_node(&card), Ok(()));
    clone.apply(Change::RemoveDevice(gpu.location().to_owned())).unwrap();
    assert!(!node.exists(&gpu));
    assert_eq!(node.attribute(&gpu, "vendor", 4096), Err(ReadError::Gone));
    assert_eq!(node.own_node(&gpu), Err(ReadError::Gone));
    assert_eq!(node.devices("drm").unwrap(), []);
    assert_eq!(node.device("pci", "0000:3b:00.0"), Err(ReadError::NotFound));
    assert_eq!(node.check_node(&card), Err(NodeChanged::Missing));
    assert_eq!(node.owner_of(card.number), None);
    assert!(matches!(node.apply(Change::RemoveDevice(gpu.location().to_owned())), Err(RecordingError::Change { .. })));
    // It comes back, as something else.
    let text = "P: /devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0\nE: SUBSYSTEM=pci\nA: vendor=0x10de\\n\n";
    node.apply(Change::AddDevices(text.to_owned())).unwrap();
    assert_eq!(node.attribute(&gpu, "vendor", 4096).unwrap(), b"0x10de\n");
}

#[test]
fn a_node_that_is_not_what_the_kernel_says_is_told() {
    let node = small();
    let fuse = device(&node, "misc", "fuse");
    let own = node.own_node(&fuse).unwrap().unwrap();
    let number = NodeNumber { kind: NodeKind::Character, major: 1, minor: 1 };
    node.apply(Change::AddNode { path: "/dev/fuse".to_owned(), number }).unwrap();
    assert_eq!(node.check_node(&own), Err(NodeChanged::Differs(number)));
    let error = node.own_node(&fuse).unwrap_err();
    assert_eq!(error.to_string(), "/dev/fuse is c 1:1, but the kernel says c 10:229");
    node.apply(Change::RemoveNode("/dev/fuse".to_owned())).unwrap();
    assert_eq!(node.own_node(&fuse), Err(ReadError::NotFound));
    assert!(node.apply(Change::RemoveNode("/dev/fuse".to_owned())).is_err());
}

#[test]
fn a_change_is_made_as_a_whole_or_not_at_all() {
    let node = small();
    let text = "P: /devices/virtual/misc/new\nE: SUBSYSTEM=misc\n\nP: /devices/virtual/misc/fuse\nE: SUBSYSTEM=misc\n";
    let error = node.apply(Change::AddDevices(text.to_owned())).unwrap_err();
    assert_eq!(error.to_string(), "recording of a change, line 4: the device is described twice");
    assert_eq!(node.device("misc", "new"), Err(ReadError::NotFound));
    let outside = Change::SetAttribute { location: "../../etc".to_owned(), path: "x".to_owned(), value: Vec::new() };
    assert!(matches!(node.apply(outside), Err(RecordingError::Change { .. })));
    let set = |path: &str| Change::SetFile { path: path.to_owned(), value: Vec::new() };
    for path in ["relative", "/dev/x", "/sys/devices/x", "/proc/../dev/x"] {
        assert!(matches!(node.apply(set(path)), Err(RecordingError::Change { .. })), "{path}");
    }
}

#[test]
fn what_umockdev_record_writes_is_understood() {
    // The output of umockdev-record 0.17 for /dev/fuse, /dev/net/tun and /dev/ttyS0.
    let text = include_str!("testdata/umockdev-record.umockdev");
    let node = RecordedNode::parse("umockdev-record.umockdev", text).unwrap();
    assert_eq!(own(&node, "misc", "tun").as_deref(), Some("/dev/net/tun c 10:200"));
    assert_eq!(own(&node, "tty", "ttyS0").as_deref(), Some("/dev/ttyS0 c 4:64"));
    let tty = device(&node, "tty", "ttyS0");
    let port = node.related(&tty, "device").unwrap();
    assert_eq!(node.parent(&tty), Some(port.clone()));
    assert_eq!(node.driver(&port).as_deref(), Some("port"));
    assert!(node.subsystem(&port).unwrap().unwrap().is_bus);
    let pnp = device(&node, "pnp", "00:00");
    assert_eq!(node.attribute(&pnp, "resources", 4096).unwrap(), b"state = active\nirq 26\nio 0x3f8-0x3ff\n");
    assert!(tty.is_beneath(&pnp));
}

#[test]
fn older_recordings_have_no_line_ends_in_attributes() {
    let text = "P: /devices/x/event12\nN: input/event12\nS: input/by-path/y\nE: DEVNAME=/dev/input/event12\n\
                E: NAME=\"SynPS/2 = Synaptics\"\nE: MAJOR=13\nE: MINOR=69\nE: SUBSYSTEM=input\nA: dev=13:69\n\
                A: uniq=\nL: device=../../input12\r\n\r\n\n\n";
    let node = RecordedNode::parse("old", text).unwrap();
    assert_eq!(own(&node, "input", "event12").as_deref(), Some("/dev/input/event12 c 13:69"));
    let event = device(&node, "input", "event12");
    assert_eq!(node.link(&event, "device").unwrap(), "input12");
    assert_eq!(node.attribute(&event, "uniq", 10).unwrap(), b"");
    let uevent = String::from_utf8(node.attribute(&event, "uevent", 4096).unwrap()).unwrap();
    assert_eq!(uevent, "MAJOR=13\nMINOR=69\nDEVNAME=input/event12\nNAME=\"SynPS/2 = Synaptics\"\n");
}
