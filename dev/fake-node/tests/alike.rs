//! Live and recorded nodes give the same answers for the same content, wrong questions included.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "functions beside the tests count as code"
)]

use devgate_fake_node::RecordedNode;
use devgate_node::tree::{Kind, Readers, Tree};
use devgate_node::{DevicePath, Node};
use devgate_types::NodeKind;
use rustix::fs::{CWD, FileType, Mode};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const SMALL: &str = include_str!("testdata/small.umockdev");

/// Writes a tree out as files. Without root, device nodes are left out.
fn write_out(tree: &dyn Tree, path: &str, to: &Path, nodes: bool) {
    for (name, kind) in tree.list(path).unwrap() {
        let inner = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        let to = to.join(&name);
        match kind {
            Kind::Directory => {
                fs::create_dir(&to).unwrap();
                write_out(tree, &inner, &to, nodes);
            }
            Kind::File => {
                fs::write(&to, tree.read(&inner, 0, 1 << 20, Readers::Host).unwrap()).unwrap();
                let for_all = tree.read(&inner, 0, 0, Readers::World).is_ok();
                fs::set_permissions(&to, fs::Permissions::from_mode(if for_all { 0o444 } else { 0o400 })).unwrap();
            }
            Kind::Link => symlink(tree.link(&inner).unwrap(), &to).unwrap(),
            Kind::Node(number) if nodes => {
                let kind =
                    if number.kind == NodeKind::Block { FileType::BlockDevice } else { FileType::CharacterDevice };
                let number = rustix::fs::makedev(number.major, number.minor);
                rustix::fs::mknodat(CWD, &to, kind, Mode::from_raw_mode(0o600), number).unwrap();
            }
            Kind::Node(_) | Kind::Socket | Kind::Other => {}
        }
    }
}

fn can_make_nodes(directory: &Path) -> bool {
    let at = directory.join("probe");
    let mode = Mode::from_raw_mode(0o600);
    let made = rustix::fs::mknodat(CWD, &at, FileType::CharacterDevice, mode, rustix::fs::makedev(1, 3)).is_ok();
    let _ = fs::remove_file(at);
    made
}

/// Everything that can be asked of one device.
fn answers(node: &Node, device: &DevicePath, nodes: bool) -> Vec<String> {
    let mut all = vec![
        format!("{:?} {:?} {:?}", node.subsystem(device), node.devtype(device), node.driver(device)),
        format!("{:?} {:?} {:?}", node.numa_node(device), node.exists(device), node.parent(device)),
        format!("{:?} {:?}", node.child_devices(device), node.iommu_group(device)),
    ];
    if nodes {
        all.push(format!("{:?} {:?}", node.own_node(device), node.vfio_group(device)));
        if let Ok(Some(own)) = node.own_node(device) {
            all.push(format!("{:?} {:?}", node.check_node(&own), node.owner_of(own.number)));
            if own.number.kind == NodeKind::Block {
                all.push(format!("{:?}", node.block_in_use(own.number)));
            }
        }
    }
    let mut paths = node.entries(device, "").unwrap();
    paths.extend(
        [
            "",
            "absent",
            "absent/x",
            "uevent/x",
            "subsystem/x",
            "device/uevent",
            "driver/x/y",
            "iommu_group/type",
            "drm/card0",
            "drm/card0/dev",
            "power/control",
            "power/absent",
            "..",
            "../uevent",
            "power/",
            "/uevent",
            "uevent\0",
        ]
        .map(str::to_owned),
    );
    for path in paths {
        all.push(format!("{path}: {:?}", node.attribute(device, &path, 4096)));
        all.push(format!("{path}: {:?}", node.attribute(device, &path, 3)));
        all.push(format!("{path}: {:?}", node.attribute_at(device, &path, 2, 3)));
        all.push(format!("{path}: {:?}", node.attribute_at(device, &path, u64::MAX, 3)));
        all.push(format!("{path}: {:?} {:?}", node.entries(device, &path), node.link(device, &path)));
        all.push(format!("{path}: {:?} {:?}", node.related(device, &path), node.holder(device, &path)));
    }
    all
}

#[test]
fn live_and_recorded_nodes_give_the_same_answers() {
    let directory = tempfile::tempdir().unwrap();
    let nodes = can_make_nodes(directory.path());
    if !nodes {
        eprintln!("skipped in part: making device nodes needs root");
    }
    let recorded = RecordedNode::parse("small.umockdev", SMALL).unwrap();
    write_out(recorded.tree(), "", directory.path(), nodes);
    for live in [Node::open(directory.path()).unwrap(), Node::open_stepwise(directory.path()).unwrap()] {
        let mut seen = 0;
        for (parent, subsystems) in ["sys/bus", "sys/class"].map(|at| (at, recorded.tree().list(at).unwrap())) {
            for (subsystem, _) in subsystems {
                let devices = recorded.devices(&subsystem).unwrap();
                assert_eq!(live.devices(&subsystem), Ok(devices.clone()), "{parent}/{subsystem}");
                for device in devices {
                    assert_eq!(live.device(&subsystem, device.name()), Ok(device.clone()));
                    let (a, b) = (answers(&live, &device, nodes), answers(&recorded, &device, nodes));
                    for (a, b) in a.iter().zip(&b) {
                        assert_eq!(a, b, "{device:?}");
                    }
                    assert_eq!(a.len(), b.len());
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, SMALL.lines().filter(|line| line.starts_with("P: ")).count());
        for subsystem in ["absent", "", "..", "a/b"] {
            assert_eq!(live.devices(subsystem), recorded.devices(subsystem));
            assert_eq!(live.device("pci", subsystem), recorded.device("pci", subsystem));
        }
        for path in ["/proc/driver/acme/version", "/proc/driver", "/proc/absent", "/proc/", "relative"] {
            assert_eq!(live.file(path, 4096), recorded.file(path, 4096), "{path}");
            assert_eq!(live.file_entries(path), recorded.file_entries(path), "{path}");
        }
        for path in ["/dev/dri", "/dev/absent", "/dev/dri/card0", "/dev/", "/etc"] {
            if nodes {
                assert_eq!(live.node_at(path), recorded.node_at(path), "{path}");
            }
        }
    }
}

#[test]
fn a_recording_that_is_edited_is_read_again_as_a_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.umockdev");
    let with = |value: &str| format!("P: /devices/virtual/misc/fuse\nE: SUBSYSTEM=misc\nA: mode={value}\\n\n");
    std::fs::write(&file, with("old")).unwrap();
    let node = RecordedNode::open(&file).unwrap();
    let clone = node.clone();
    let mode = || clone.attribute(&clone.device("misc", "fuse").unwrap(), "mode", 64).unwrap();
    assert_eq!(mode(), b"old\n");
    std::fs::write(&file, with("new")).unwrap();
    node.reload(&file).unwrap();
    assert_eq!(mode(), b"new\n");
    std::fs::write(&file, "P: nonsense").unwrap();
    assert!(node.reload(&file).is_err());
    assert!(node.reload(dir.path()).is_err());
    assert_eq!(mode(), b"new\n");
}
