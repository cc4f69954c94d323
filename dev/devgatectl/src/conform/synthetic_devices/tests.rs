use super::*;
use devgate_fake_node::{Change, RecordedNode};

const NODE: &str = "\
F: /proc/driver/acme/0000:00:01.0/information=Serial: 0123456789abcdef\\n

P: /devices/pci0000:00/0000:00:01.0
E: SUBSYSTEM=pci
E: PCI_SLOT_NAME=0000:00:01.0
A: serial=0123456789abcdef\\n
A: vendor=0x1234\\n
L: iommu_group=../../../kernel/iommu_groups/7

P: /devices/pci0000:00/0000:00:01.0/disk/disk0
N: disk0
E: SUBSYSTEM=disk
E: DEVNAME=/dev/disk0
E: MAJOR=240
E: MINOR=0
A: dev=240:0\\n

P: /devices/pci0000:00/0000:00:01.0/disk/disk0/disk0p1
E: SUBSYSTEM=disk

P: /devices/pci0000:00/0000:00:11.0
E: SUBSYSTEM=pci
";

#[test]
fn a_copy_is_another_device_of_the_same_kind() {
    let template = Template::of(NODE, "pci0000:00/0000:00:01.0").unwrap();
    insta::assert_snapshot!(template.copies(1), @r"
    F: /proc/driver/acme/4000:00:00.0/information=Serial: 0123456789000000\n
    P: /devices/pci0000:00/4000:00:00.0
    E: SUBSYSTEM=pci
    E: PCI_SLOT_NAME=4000:00:00.0
    A: serial=0123456789000000\n
    A: vendor=0x1234\n
    L: iommu_group=../../../kernel/iommu_groups/1000007

    P: /devices/pci0000:00/4000:00:00.0/disk/disk1001
    N: disk1001
    E: SUBSYSTEM=disk
    E: DEVNAME=/dev/disk1001
    E: MAJOR=240
    E: MINOR=100001
    A: dev=240:100001\n

    P: /devices/pci0000:00/4000:00:00.0/disk/disk1001/disk1001p1
    E: SUBSYSTEM=disk
    ");
}

#[test]
fn all_copies_stand_beside_each_other() {
    let template = Template::of(NODE, "pci0000:00/0000:00:01.0").unwrap();
    let node = RecordedNode::parse("test", NODE).unwrap();
    node.apply(Change::AddDevices(template.copies(1_000))).unwrap();
    assert_eq!(node.devices("pci").unwrap().len(), 1_002);
    assert_eq!(node.devices("disk").unwrap().len(), 2_002);
    assert!(Template::of(NODE, "pci0000:00/0000:00:02.0").is_none());
}
