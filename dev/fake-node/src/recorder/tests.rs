use super::*;
use devgate_node::tree::Readers;
use devgate_types::{NodeKind, NodeNumber};
use rustix::io::Errno;
use std::cell::RefCell;

const NODE: &str = "\
P: /devices/pci0/bridge
E: SUBSYSTEM=pci
A: class=0x060400\\n
A: numa_node=1\\n
A: secret_of_bridge=x

P: /devices/pci0/bridge/awake
E: SUBSYSTEM=pci
E: DRIVER=acme
A: vendor=0x1d9b\\n
A: config=registers
A: temperature=40\\n
R: reset=1
A: power/runtime_status=active\\n
L: iommu_group=../../../../kernel/iommu_groups/7

P: /devices/pci0/bridge/awake/acme/acme0
N: acme0
E: SUBSYSTEM=acme
E: MAJOR=240
E: MINOR=0
E: DEVNAME=/dev/acme0
A: mode=fast\\n

P: /devices/pci0/bridge/mate
E: SUBSYSTEM=pci
A: vendor=0x1d9b\\n
A: temperature=40\\n
L: iommu_group=../../../../kernel/iommu_groups/7

P: /devices/pci0/bridge/asleep
E: SUBSYSTEM=pci
A: vendor=0x1d9b\\n
A: temperature=40\\n
A: power/runtime_status=suspended\\n

P: /devices/pci0/bridge/asleep/acme/acme1
N: acme1
E: SUBSYSTEM=acme
E: MAJOR=240
E: MINOR=1
E: DEVNAME=/dev/acme1
A: temperature=40\\n

P: /devices/virtual/block/disk
N: disk
E: SUBSYSTEM=block
E: MAJOR=259
E: MINOR=1
E: DEVNAME=/dev/disk
E: DEVTYPE=disk

P: /devices/virtual/block/disk/disk1
N: disk1
E: SUBSYSTEM=block
E: MAJOR=259
E: MINOR=2
E: DEVNAME=/dev/disk1
E: DEVTYPE=partition

F: /proc/1/mountinfo=30 1 259:2 / /srv/my\\\\040data rw - ext4 /dev/disk1 rw\\n
F: /proc/driver/acme/version=1\\n
I: /opt/link=l ../proc/driver/acme/version
F: /opt/closed=x
O: /opt/closed=0 0600
I: /opt/mine/x=d
O: /opt/mine=1000 0755
I: /opt/sockets/s=s
D: /dev/acmectl=c 195:255
I: /sys/kernel/iommu_groups/7/devices/awake=l ../../../../devices/pci0/bridge/awake
I: /sys/kernel/iommu_groups/7/devices/mate=l ../../../../devices/pci0/bridge/mate
";

fn node() -> RecordedNode {
    RecordedNode::parse("test", NODE).unwrap()
}

/// A copy, and which attributes were asked for.
fn copy(node: &Node, ask: impl FnOnce(&mut Recorder<'_>)) -> (Recording, Vec<String>) {
    let asked = RefCell::new(Vec::new());
    let may_read = |path: &str| {
        asked.borrow_mut().push(path.to_owned());
        if path == "config" { Err("acts on the device") } else { Ok(()) }
    };
    let mut recorder = Recorder::new(node, &may_read);
    ask(&mut recorder);
    let recording = recorder.finish();
    (recording, asked.into_inner())
}

fn left(recording: &Recording) -> Vec<String> {
    recording.unwritten.iter().map(|left| format!("{} {}", left.path, left.why)).collect()
}

#[test]
fn a_device_is_copied_with_what_is_beneath_and_its_place() {
    let node = node();
    let device = node.device("pci", "awake").unwrap();
    let (recording, _) = copy(&node, |recorder| recorder.tree(&device).unwrap());
    assert_eq!(recording.devices, (2, 2));
    let there = &recording.node;
    assert_eq!(there.numa_node(&device), Some(1));
    assert_eq!(there.attribute(&device, "temperature", 9).as_deref(), Ok(&b"40\n"[..]));
    assert_eq!(there.driver(&device), node.driver(&device));
    let acme = there.device("acme", "acme0").unwrap();
    assert_eq!(there.own_node(&acme), node.own_node(&acme));
    assert_eq!(there.iommu_group(&device), node.iommu_group(&device));
    // Of the others only what and where they are.
    for (name, attribute) in [("bridge", "secret_of_bridge"), ("mate", "temperature")] {
        let other = there.device("pci", name).unwrap();
        assert_eq!(there.attribute(&other, attribute, 99), Err(ReadError::NotFound), "{name}");
    }
    assert_eq!(there.device("pci", "asleep"), Err(ReadError::NotFound));
    assert_eq!(
        left(&recording),
        [
            "/sys/devices/pci0/bridge/awake/config acts on the device",
            "/sys/devices/pci0/bridge/awake/reset denied: only root may read it"
        ]
    );
}

#[test]
fn what_cannot_be_read_fails_there_as_here() {
    let text =
        NODE.replace("A: temperature=40\\n\nR: reset=1", "X: temperature=EBUSY\nX: power/energy=EPERM\nR: reset=1");
    let node = RecordedNode::parse("test", &text).unwrap();
    let device = node.device("pci", "awake").unwrap();
    let (recording, _) = copy(&node, |recorder| {
        recorder.device(&device);
        recorder.writable(&device, "temperature");
    });
    for (attribute, error) in [("temperature", Errno::BUSY), ("power/energy", Errno::PERM)] {
        let read = recording.node.attribute(&device, attribute, 9);
        assert_eq!(read, Err(error.into()));
        assert_eq!(read, node.attribute(&device, attribute, 9));
    }
    assert!(!left(&recording).iter().any(|left| left.contains("temperature") || left.contains("energy")));
    // What is written there is what it says from then on, as of any attribute of a recording.
    recording.node.write_attribute(&device, "temperature", b"1").unwrap();
    assert_eq!(recording.node.attribute(&device, "temperature", 9).as_deref(), Ok(&b"1"[..]));
}

#[test]
fn what_sleeps_is_not_asked() {
    let node = node();
    let device = node.device("pci", "asleep").unwrap();
    let (recording, asked) = copy(&node, |recorder| recorder.tree(&device).unwrap());
    assert!(asked.contains(&"vendor".to_owned()) && asked.contains(&"dev".to_owned()), "{asked:?}");
    assert!(!asked.contains(&"temperature".to_owned()), "{asked:?}");
    assert!(left(&recording).iter().all(|left| left.contains("sleeps")) && recording.unwritten.len() == 2);
    let acme = recording.node.device("acme", "acme1").unwrap();
    assert!(recording.node.own_node(&acme).unwrap().is_some());
}

#[test]
fn an_attribute_that_is_written_is_there_without_what_is_in_it() {
    let node = node();
    let device = node.device("pci", "awake").unwrap();
    let (recording, _) = copy(&node, |recorder| {
        recorder.device(&device);
        recorder.writable(&device, "reset");
        recorder.writable(&device, "nothing");
    });
    assert_eq!(
        recording.node.tree().read(&device.join("reset").unwrap(), 0, 9, Readers::Host).as_deref(),
        Ok(&b""[..])
    );
    assert!(!left(&recording).iter().any(|left| left.contains("reset")));
    assert_eq!(
        recording.node.tree().read(&device.join("nothing").unwrap(), 0, 9, Readers::Host),
        Err(ReadError::NotFound)
    );
}

#[test]
fn a_disk_is_in_use_there_as_here() {
    let node = node();
    let (disk, part) = (259, 1);
    let number = |minor| NodeNumber { kind: NodeKind::Block, major: disk, minor };
    let device = node.device("block", "disk1").unwrap();
    let (recording, _) = copy(&node, |recorder| recorder.device(&device));
    assert_eq!(recording.devices, (2, 0), "a part comes with the whole");
    for minor in [part, part + 1] {
        let here = node.block_in_use(number(minor)).unwrap();
        assert!(here.as_ref().is_some_and(|why| why.contains("/srv/my data")), "{here:?}");
        assert_eq!(recording.node.block_in_use(number(minor)).unwrap(), here);
    }
}

#[test]
fn what_is_outside_of_the_tree_answers_as_here() {
    let node = node();
    let sources = ["/opt", "/opt/mine/x", "/opt/sockets", "/opt/link", "/nope/x", "/opt/closed"];
    let (recording, _) = copy(&node, |recorder| {
        recorder.file("/opt/link");
        recorder.file("/opt/closed");
        recorder.file("/nope");
        recorder.node_at("/dev/acmectl");
        recorder.node_at("/dev/nope");
        sources.iter().for_each(|source| recorder.mount_source(source));
    });
    let there = &recording.node;
    for source in sources {
        assert_eq!(there.mount_source(source), node.mount_source(source), "{source}");
    }
    let why = there.mount_source("/opt/mine/x").unwrap_err().to_string();
    assert!(why.ends_with("belongs to user 1000, not to root"), "{why}");
    assert_eq!(there.resolve("/opt/link"), node.resolve("/opt/link"));
    assert_eq!(there.file("/proc/driver/acme/version", 9).as_deref(), Ok(&b"1\n"[..]));
    assert_eq!(there.node_at("/dev/acmectl"), node.node_at("/dev/acmectl"));
    assert_eq!(
        left(&recording),
        ["/dev/nope not found", "/nope not found", "/opt/closed denied: only root may read it"]
    );
}

#[test]
fn two_that_cannot_be_together_are_told() {
    let text = "P: /devices/a/same\nE: SUBSYSTEM=misc\nE: MAJOR=1\nE: MINOR=1\n\nP: /devices/b/other\nE: SUBSYSTEM=misc\nE: MAJOR=1\nE: MINOR=2\n";
    let node = RecordedNode::parse("test", text).unwrap();
    let set = |location: &str| crate::Change::SetAttribute {
        location: location.to_owned(),
        path: "uevent".to_owned(),
        value: b"MAJOR=1\nMINOR=7\n".to_vec(),
    };
    let dev = |location: &str| crate::Change::SetAttribute {
        location: location.to_owned(),
        path: "dev".to_owned(),
        value: b"1:7\n".to_vec(),
    };
    for location in ["a/same", "b/other"] {
        node.apply(set(location)).unwrap();
        node.apply(dev(location)).unwrap();
    }
    let (recording, _) = copy(&node, |recorder| {
        for device in node.devices("misc").unwrap() {
            recorder.device(&device);
        }
    });
    assert!(recording.node.device("misc", "same").is_ok());
    assert_eq!(recording.node.device("misc", "other"), Err(ReadError::NotFound));
    let told = left(&recording);
    assert!(told.contains(&"/sys/devices/b/other another device has the number c 1:7 already".to_owned()), "{told:?}");
    assert!(recording.node.written(&[]).is_ok());
}
