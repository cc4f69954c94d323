use super::*;
use crate::RecordedNode;
use crate::{Change, undo};
use proptest::prelude::*;

const HGX: &str = include_str!("../../../../tests/nodes/hgx-h100.umockdev");
const SMALL: &str = include_str!("../../tests/testdata/small.umockdev");

fn world_of(text: &str) -> World {
    let mut world = World::new();
    description::add(&mut world, "test", text).unwrap();
    world
}

const ACME: &str = "P: /devices/pci0000:00/0000:00:02.0
E: SUBSYSTEM=pci
E: DRIVER=acme
E: PCI_ID=1234:5678
A: vendor=0x1234\\n
H: config=00ff0a
R: serial=secret\\\\n
A: power/control=on
L: iommu_group=../../../kernel/iommu_groups/7

P: /devices/pci0000:00/0000:00:02.0/acme/acme0
N: acme/0
E: SUBSYSTEM=acme
E: MAJOR=240
E: MINOR=0
A: state=ok

P: /devices/pci0000:00/0000:00:03.0
E: SUBSYSTEM=pci
L: peer=../0000:00:02.0

P: /devices/soft/nvme-subsys0
E: SUBSYSTEM=nvme
L: subsystem=../../../class/nvme

P: /devices/virtual/block/disk0
E: SUBSYSTEM=block
E: DEVNAME=/dev/disk0
E: MAJOR=259
E: MINOR=1

F: /proc/driver/acme/version=1.2\\n\\303\\244
F: /proc/swaps=none
D: /dev/acmectl=c 195:255
D: /dev/disk0=b 259:1
I: /opt/acme/lib.so=l lib.so.1
I: /opt/acme/empty=d
I: /run/acme.sock=s
I: /sys/kernel/iommu_groups/7/devices/0000:00:02.0=l ../../../../devices/pci0000:00/0000:00:02.0
O: /opt/acme=1000 0775
K: 5140900 acme: hello
U: /devices/pci0000:00/0000:00:02.0
U: /devices/gone/since
";

/// Writes a node, reads it again, and finds the same; the text.
fn there_and_back(before: &World) -> String {
    let written = write(before, &["made up".to_owned()]).unwrap();
    assert_eq!(written.unwritten, [], "{}", written.text);
    let after = world_of(&written.text);
    assert_eq!(*before, after, "{}", written.text);
    assert_eq!(write(&after, &["made up".to_owned()]).unwrap(), written);
    written.text
}

#[test]
fn recorded_nodes_are_the_same_again() {
    for text in [SMALL, ACME, HGX, "", "K: 1 x\nF: /a=b\n"] {
        there_and_back(&world_of(text));
    }
}

/// What umockdev does not know are properties to it.
#[test]
fn a_text_is_umockdevs_but_for_properties_that_mean_nothing_to_it() {
    let text = there_and_back(&world_of(
        "F: /proc/driver/acme=a\\n\nD: /dev/acme0=c 195:0\nI: /opt/acme=d\nI: /opt/l=l acme\nO: /opt/acme=7 0700\nK: 5 acme: x\nT: 7\n\
         P: /devices/a/acme1\nN: acme1\nE: SUBSYSTEM=drm\nE: MAJOR=1\nE: MINOR=2\nE: DEVNAME=/dev/acme1\nA: b/c=\\001d\n\
         A: e=f\\ng\\303\\244\nR: r=s\nX: x=E16\nL: subsystem=../../../bus/drm\nL: driver=../../../bus/drm/drivers/x\n",
    ));
    assert_eq!(
        text,
        "P: /devices/a/acme1\nE: DEVGATE=# made up\nN: acme1\nE: SUBSYSTEM=drm\nE: MAJOR=1\nE: MINOR=2\nE: DEVNAME=/dev/acme1\n\
         H: b/c=0164\nA: dev=1:2\\n\nL: driver=../../../bus/drm/drivers/x\nA: e=f\\ng\\303\\244\nE: DEVGATE=R: r=s\n\
         E: DEVGATE=L: subsystem=../../../bus/drm\nE: DEVGATE=X: x=EBUSY\nE: DEVGATE=# Outside of the device tree:\n\
         E: DEVGATE=D: /dev/acme0=c 195:0\n\
         E: DEVGATE=I: /opt/acme=d\nE: DEVGATE=I: /opt/l=l acme\nE: DEVGATE=F: /proc/driver/acme=a\\n\nE: DEVGATE=O: /opt/acme=7 0700\nE: DEVGATE=K: 5 acme: x\nE: DEVGATE=T: 7\n"
    );
}

#[test]
fn what_cannot_be_said_is_told() {
    let node = RecordedNode::parse("test", SMALL).unwrap();
    let device = node.devices("pci").unwrap().remove(0);
    let location = device.location().to_owned();
    let set =
        |path: &str| Change::SetAttribute { location: location.clone(), path: path.to_owned(), value: b"x".to_vec() };
    for change in [
        set("a=b"),
        set("new\nline"),
        Change::SetLink { location: location.clone(), path: "l".to_owned(), target: "x\ny".to_owned() },
        set("empty/x"),
        Change::RemoveAttribute { location: location.clone(), path: "empty/x".to_owned() },
        Change::SetFile { path: "/opt/a=b".to_owned(), value: Vec::new() },
    ] {
        node.apply(change).unwrap();
    }
    let unwritten = node.written(&[]).unwrap().unwritten;
    let told: Vec<_> = unwritten.iter().map(|one| format!("{:?} {}", base_of(&one.path), one.why)).collect();
    assert_eq!(
        told,
        [
            r#""a=b" has a "=" in its name"#,
            r#""a=b" has a "=" in its name"#,
            r#""empty" is a directory with nothing in it that could be said"#,
            r#""l" has a line break where none can be written"#,
            r#""new\nline" has a line break where none can be written"#,
        ]
    );
}

fn base_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// A change is in the text that is written after it.
#[test]
fn what_has_changed_is_written() {
    let recorded = RecordedNode::parse("test", SMALL).unwrap();
    let say = Change::Say { micros: 99_000_000, text: "acme: broken".to_owned() };
    recorded.apply(say).unwrap();
    let text = recorded.written(&[]).unwrap().text;
    assert!(text.ends_with("E: DEVGATE=K: 99000000 acme: broken\n"), "{text}");
}

#[test]
fn lines_of_a_paragraph_count_once_its_device_is_there() {
    let text = "P: /devices/x\nE: DEVGATE=O: /sys/devices/x/a=5 0600\nE: SUBSYSTEM=misc\nA: a=1\n";
    assert_eq!(world_of(text).look("sys/devices/x/a").unwrap().uid, 5);
    for bad in ["E: DEVGATE=F: /x=1\n", "P: /devices/x\nE: SUBSYSTEM=misc\nE: DEVGATE=Q: y\n"] {
        assert!(description::add(&mut World::new(), "test", bad).is_err(), "{bad}");
    }
}

#[test]
fn changes_are_written_too() {
    let mut world = world_of(ACME);
    let location = || "pci0000:00/0000:00:02.0".to_owned();
    let changes = [
        Change::SetAttribute { location: location(), path: "state".to_owned(), value: b"a\n\xff".to_vec() },
        Change::RemoveAttribute { location: location(), path: "power".to_owned() },
        Change::RemoveAttribute { location: location(), path: "driver".to_owned() },
        Change::RemoveNode("/dev/acme/0".to_owned()),
        Change::SetLink { location: location(), path: "twin".to_owned(), target: "../0000:00:03.0".to_owned() },
        Change::RemoveFile("/proc/driver/acme/version".to_owned()),
        Change::Say { micros: 5_140_901, text: "acme: bye".to_owned() },
    ];
    for change in changes {
        crate::change::apply(&mut world, change).unwrap();
    }
    let again = world_of(&write(&world, &[]).unwrap().text);
    for path in ["state", "serial", "twin", "driver", "power", "acme/acme0/dev"] {
        let path = format!("sys/devices/pci0000:00/0000:00:02.0/{path}");
        assert_eq!(again.get(&path), world.get(&path), "{path}");
    }
    assert_eq!(again.get("dev/acme/0").ok(), None);
    assert_eq!(again.get("proc/driver/acme/version").ok(), None);
    assert_eq!(again.log, world.log);
}

#[test]
fn what_is_removed_comes_back_as_it_was() {
    for (recording, location) in
        [(ACME, "pci0000:00/0000:00:02.0"), (ACME, "virtual/block/disk0"), (HGX, "pci0000:15/0000:15:01.0")]
    {
        let before = world_of(recording);
        let mut world = before.clone();
        let undo = undo::removal(&world, location).unwrap();
        crate::change::apply(&mut world, Change::RemoveDevice(location.to_owned())).unwrap();
        assert!(world.get(&format!("sys/devices/{location}")).is_err());
        for change in undo {
            crate::change::apply(&mut world, change).unwrap();
        }
        assert_eq!(world, before);
    }
}

/// Lines that may stand in a paragraph, and between paragraphs.
fn any_text() -> impl Strategy<Value = String> {
    let name = "[ab.]{1,2}|[a-c]{1,2}/[ab]|driver|dev|subsystem|uevent|z/uevent|z/subsystem";
    let value = "([a-z0-9 =:/\"]|\\\\n|\\\\t|\\\\001|\\\\377){0,6}";
    let inside = prop_oneof![
        (name, value).prop_map(|(n, v)| format!("A: {n}={v}")),
        (name, value).prop_map(|(n, v)| format!("R: {n}={v}")),
        (name, "EBUSY|EPERM|E7|EIO").prop_map(|(n, v)| format!("X: {n}={v}")),
        name.prop_map(|n| format!("H: {n}=00ff")),
        (name, "[a-z./]{1,6}|\\.\\./\\.\\./\\.\\./(bus|class)/(pci|drm)").prop_map(|(n, v)| format!("L: {n}={v}")),
        ("DRIVER|KEY|DEVTYPE|DEVNAME", "[a-z= ]{0,3}").prop_map(|(n, v)| format!("E: {n}={v}")),
        Just("E: MAJOR=1\nE: MINOR=2".to_owned()),
        "[ab]{1,2}".prop_map(|n| format!("N: {n}")),
    ];
    let outside = prop_oneof![
        ("/(sys/class/|sys/bus/pci/|proc/|opt/)[ab/]{1,4}", value).prop_map(|(p, v)| format!("F: {p}={v}")),
        ("/dev/[ab/]{1,3}", 0..3_u8).prop_map(|(p, n)| format!("D: {p}=c 1:{n}")),
        ("/(opt|dev|sys/class)/[ab/]{1,4}", "d|s|l [ab./]{1,4}").prop_map(|(p, v)| format!("I: {p}={v}")),
        ("/(opt/|dev/|sys/devices/)?[ab/]{0,4}", 0..3_u8).prop_map(|(p, n)| format!("O: {p}={n} 0{n}44")),
        (0..9_u8, "[ -~]{0,8}").prop_map(|(n, v)| format!("K: {n} {v}")),
    ];
    let device = ("[ab]{1,2}(/[ab]{1,2}){0,2}", "pci|drm|block|virtio", prop::collection::vec(inside, 0..6)).prop_map(
        |(place, subsystem, lines)| format!("P: /devices/{place}\nE: SUBSYSTEM={subsystem}\n{}\n", lines.join("\n")),
    );
    let paragraph = prop_oneof![device, outside.prop_map(|line| format!("{line}\n"))];
    prop::collection::vec(paragraph, 0..8).prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_was_read_is_written_and_read_again(text in any_text()) {
        // Each paragraph alone may be refused; what is left is a text.
        let mut whole = World::new();
        for part in text.split_inclusive("\n\n") {
            let mut tried = whole.clone();
            if description::add(&mut tried, "test", part).is_ok() {
                whole = tried;
            }
        }
        there_and_back(&whole);
    }
}
