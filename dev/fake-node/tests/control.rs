//! What a write to a device may act on, and what comes of it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "functions beside the tests count as code"
)]

use devgate_fake_node::RecordedNode;
use devgate_node::ReadError;
use devgate_node::tree::Readers;

/// The most bytes of an attribute's value: a page.
const MAX_VALUE: usize = 4096;

/// Behind one bridge: a GPU with its audio function, which only a bus reset resets, and a function with a reset of its own. A
/// network function with two virtual ones, in a group with its neighbour. Two functions of one slot at the root, one of another.
const NODE: &str = "\
P: /devices/pci0000:00/0000:00:01.0
E: SUBSYSTEM=pci
A: class=0x060400\\n

P: /devices/pci0000:00/0000:00:01.0/0000:01:00.0
E: SUBSYSTEM=pci
R: reset=
A: reset_method=pm bus\\n

P: /devices/pci0000:00/0000:00:01.0/0000:01:00.1
E: SUBSYSTEM=pci

P: /devices/pci0000:00/0000:00:01.0/0000:01:01.0
E: SUBSYSTEM=pci
R: reset=
A: reset_method=flr\\n

P: /devices/pci0000:00/0000:00:02.0
E: SUBSYSTEM=pci
R: reset=
A: reset_method=flr\\n
A: readonly=x\\n
A: sriov_numvfs=2\\n
L: virtfn0=../0000:00:02.1
L: virtfn1=../0000:00:02.2
L: iommu_group=../../../kernel/iommu_groups/7

P: /devices/pci0000:00/0000:00:02.1
E: SUBSYSTEM=pci
R: reset=
L: physfn=../0000:00:02.0

P: /devices/pci0000:00/0000:00:02.2
E: SUBSYSTEM=pci

P: /devices/pci0000:00/0000:00:03.0
E: SUBSYSTEM=pci
L: iommu_group=../../../kernel/iommu_groups/7

P: /devices/pci0000:00/0000:00:04.0
E: SUBSYSTEM=pci
R: reset=

P: /devices/pci0000:00/0000:00:04.1
E: SUBSYSTEM=pci
";

fn node() -> RecordedNode {
    RecordedNode::parse("test", NODE).unwrap()
}

fn acts_on(name: &str) -> Vec<String> {
    let node = node();
    let device = node.device("pci", name).unwrap();
    let found = node.acts_on(&device).unwrap();
    found.iter().map(|device| device.name().to_owned()).collect()
}

#[test]
fn a_reset_of_a_bus_acts_on_all_that_is_on_it() {
    assert_eq!(acts_on("0000:01:00.0"), ["0000:01:00.0", "0000:01:00.1", "0000:01:01.0"]);
    // One that resets itself alone, and one that cannot be reset.
    assert_eq!(acts_on("0000:01:01.0"), ["0000:01:01.0"]);
    assert_eq!(acts_on("0000:01:00.1"), ["0000:01:00.1"]);
}

#[test]
fn at_a_root_a_reset_that_is_not_described_acts_on_the_slot() {
    assert_eq!(acts_on("0000:00:04.0"), ["0000:00:04.0", "0000:00:04.1"]);
}

#[test]
fn virtual_functions_and_the_iommu_group_belong_to_it() {
    assert_eq!(acts_on("0000:00:02.0"), ["0000:00:02.0", "0000:00:02.1", "0000:00:02.2", "0000:00:03.0"]);
    assert_eq!(acts_on("0000:00:02.1"), ["0000:00:02.1"]);
    assert_eq!(acts_on("0000:00:03.0"), ["0000:00:02.0", "0000:00:03.0"]);
}

#[test]
fn what_is_written_is_there_and_nothing_is_made() {
    let node = node();
    let nic = node.device("pci", "0000:00:02.0").unwrap();
    node.write_attribute(&nic, "sriov_numvfs", b"0").unwrap();
    assert_eq!(node.attribute(&nic, "sriov_numvfs", 16).unwrap(), b"0");
    node.write_attribute(&nic, "reset", b"1").unwrap();
    assert!(node.attribute(&nic, "reset", 16).is_err(), "it is still for root alone");
    assert_eq!(node.tree().read(&nic.join("reset").unwrap(), 0, 16, Readers::Host).unwrap(), b"1");
    let write = |path: &str| node.write_attribute(&nic, path, b"1").unwrap_err();
    assert_eq!(write("nothing"), ReadError::NotFound);
    assert!(matches!(write("physfn/reset"), ReadError::NotFound));
    assert!(matches!(write("virtfn0/reset"), ReadError::Invalid(_)));
    assert!(matches!(write("virtfn0"), ReadError::Invalid(_)));
    assert!(matches!(write("../0000:00:03.0/uevent"), ReadError::Invalid(_)));
    assert!(matches!(write(""), ReadError::Invalid(_)));
    let long = node.write_attribute(&nic, "reset", &[b'1'; MAX_VALUE + 1]);
    assert!(matches!(long, Err(ReadError::TooLarge { .. })));
}

#[test]
fn what_nobody_may_write_is_not_written() {
    let node = RecordedNode::parse(
        "test",
        "P: /devices/x/y\nE: SUBSYSTEM=pci\nA: readonly=x\nA: free=x\n\nO: /sys/devices/x/y/readonly=0 0444\n",
    );
    let node = match node {
        Ok(node) => node,
        Err(error) => panic!("{error}"),
    };
    let device = node.device("pci", "y").unwrap();
    assert!(matches!(node.write_attribute(&device, "readonly", b"1"), Err(ReadError::Denied(_))));
    assert_eq!(node.write_attribute(&device, "free", b"1"), Ok(()));
}
