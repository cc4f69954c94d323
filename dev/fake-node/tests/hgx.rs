//! What the host finds on the recorded eight-GPU server that other tests play on: groups of vfio, and disks in use.
#![allow(clippy::unwrap_used, reason = "functions beside the tests count as code")]

use devgate_fake_node::RecordedNode;
use devgate_types::{NodeKind, NodeNumber};

fn node() -> RecordedNode {
    RecordedNode::parse("hgx-h100", include_str!("../../../tests/nodes/hgx-h100.umockdev")).unwrap()
}

#[test]
fn one_virtual_function_is_bound_to_vfio_and_alone_in_its_group() {
    let node = node();
    let function = node.device("pci", "0000:1c:00.2").unwrap();
    let (group, members) = node.iommu_group(&function).unwrap().unwrap();
    assert_eq!((group.as_str(), members), ("142", vec![function.clone()]));
    let opened = node.vfio_group(&function).unwrap().unwrap();
    assert_eq!((opened.group.as_str(), opened.node.path.as_str()), ("142", "/dev/vfio/142"));
    let own = node.device("vfio-dev", "vfio0").unwrap();
    assert!(own.is_beneath(&function));
    assert_eq!(node.own_node(&own).unwrap().unwrap().path, "/dev/vfio/devices/vfio0");
    let other = node.device("pci", "0000:1c:00.1").unwrap();
    assert_eq!(node.vfio_group(&other).unwrap(), None);
}

#[test]
fn the_boot_disk_is_in_use_and_the_others_are_not() {
    let node = node();
    let disk = |minor| NodeNumber { kind: NodeKind::Block, major: 259, minor };
    assert!(node.block_in_use(disk(0)).unwrap().is_some());
    for minor in [8, 16, 24, 32] {
        assert_eq!(node.block_in_use(disk(minor)).unwrap(), None, "{minor}");
    }
}

/// Other ways to a disk than its own node: its controller's, its namespace's generic one, and those of a namespace that
/// several controllers share.
#[test]
fn nvme_nodes_are_as_much_in_use_as_the_disks_behind_them() {
    let text = "\
P: /devices/pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme0/ng0n1
N: ng0n1
E: SUBSYSTEM=nvme-generic
E: DEVNAME=/dev/ng0n1
A: dev=241:0\\n

P: /devices/virtual/nvme-subsystem/nvme-subsys7
E: SUBSYSTEM=nvme-subsystem
L: nvme7=../../../pci0000:00/0000:00:1e.0/nvme/nvme7

P: /devices/pci0000:00/0000:00:1e.0/nvme/nvme7
N: nvme7
E: SUBSYSTEM=nvme
E: DEVNAME=/dev/nvme7
A: dev=240:7\\n

P: /devices/virtual/nvme-subsystem/nvme-subsys7/nvme7n1
N: nvme7n1
E: SUBSYSTEM=block
E: DEVTYPE=disk
E: DEVNAME=/dev/nvme7n1
A: dev=259:70\\n
";
    let whole = format!("{}\n{text}", include_str!("../../../tests/nodes/hgx-h100.umockdev"));
    let node = RecordedNode::parse("nvme", &whole).unwrap();
    let used = |class: &str, name: &str| {
        let device = node.device(class, name).unwrap();
        node.nvme_in_use(&device).unwrap()
    };
    for (class, name) in [("nvme", "nvme0"), ("nvme-generic", "ng0n1")] {
        let why = used(class, name);
        assert!(why.is_some_and(|why| why.contains("is mounted on /")), "{name}");
    }
    assert_eq!(used("nvme", "nvme1"), None, "a disk that is not used");
    assert_eq!(used("nvme", "nvme7"), None);
    assert_eq!(used("block", "nvme0n1"), None, "disks themselves are judged by their number");
    node.apply(devgate_fake_node::Change::SetAttribute {
        location: "virtual/nvme-subsystem/nvme-subsys7/nvme7n1".to_owned(),
        path: "holders/md0".to_owned(),
        value: "".into(),
    })
    .unwrap();
    assert_eq!(used("nvme", "nvme7").as_deref(), Some("nvme7n1 is held by md0"));
}
