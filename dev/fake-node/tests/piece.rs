//! Which piece of hardware a device's node reaches.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "functions beside the tests count as code"
)]

use devgate_fake_node::RecordedNode;
use devgate_node::{DevicePath, Node};

const PCI: &str = "pci0000:00/0000:00:02.0";

/// A node with these devices, each with its subsystem and further lines.
fn node(devices: &[(&str, &str, &[&str])]) -> RecordedNode {
    let device = |(place, subsystem, more): &(&str, &str, &[&str])| {
        let more: String = more.iter().map(|line| format!("{line}\n")).collect();
        format!("P: /devices/{place}\nE: SUBSYSTEM={subsystem}\n{more}\n")
    };
    let text: String = devices.iter().map(device).collect();
    RecordedNode::parse("pieces", &text).unwrap()
}

fn place(location: &str) -> DevicePath {
    DevicePath::at(&format!("sys/devices/{location}")).unwrap()
}

fn pieces(node: &Node, location: &str) -> Vec<String> {
    let pieces = node.pieces(&place(location)).unwrap();
    pieces.iter().map(|piece| piece.location().to_owned()).collect()
}

/// Whether two devices cannot go to two.
fn conflict(node: &Node, a: &str, b: &str) -> bool {
    let all = |at: &str| [vec![place(at)], node.pieces(&place(at)).unwrap()].concat();
    let touches = |a: &DevicePath, b: &DevicePath| a == b || a.is_beneath(b) || b.is_beneath(a);
    all(a).iter().any(|a| all(b).iter().any(|b| touches(a, b)))
}

#[test]
fn siblings_of_one_piece_of_hardware_are_one() {
    let hid = "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/0003:046D:C52B.0001";
    let receiver = format!("{hid}/hidraw/hidraw0");
    let child = format!("{hid}/0003:046D:4013.0002");
    let scsi = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0";
    let at = |prefix: &str, rest: &str| format!("{prefix}/{rest}");
    let usb = "pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0";
    let nvme = "pci0000:00/0000:00:05.0/nvme/nvme0";
    let head = "virtual/nvme-subsystem/nvme-subsys1";
    let ib = "pci0000:00/0000:00:06.0";
    let places: Vec<(String, &str, Vec<String>)> = [
        (PCI.to_owned(), "pci", vec![]),
        (at(PCI, "drm/card0"), "drm", vec![]),
        (at(PCI, "drm/renderD128"), "drm", vec![]),
        (at(PCI, "graphics/fb0"), "graphics", vec![]),
        (at(PCI, "sound/card1"), "sound", vec![]),
        (at(PCI, "sound/card1/controlC1"), "sound", vec![]),
        (at(PCI, "sound/card1/pcmC1D0p"), "sound", vec![]),
        (at(PCI, "sound/card2"), "sound", vec![]),
        (at(PCI, "sound/card2/controlC2"), "sound", vec![]),
        (usb.to_owned(), "usb", vec![]),
        (at(usb, "video4linux/video0"), "video4linux", vec![]),
        (at(usb, "media0"), "media", vec![]),
        (hid.rsplit_once('/').unwrap().0.to_owned(), "usb", vec![]),
        (at(hid.rsplit_once('/').unwrap().0, "usbmisc/hiddev0"), "usbmisc", vec![]),
        (hid.to_owned(), "hid", vec![]),
        (receiver.clone(), "hidraw", vec![]),
        (child.clone(), "hid", vec![]),
        (at(&child, "input/input5"), "input", vec![]),
        (at(&child, "input/input5/event5"), "input", vec![]),
        (at(&child, "input/input5/mouse0"), "input", vec![]),
        (at(&child, "hidraw/hidraw1"), "hidraw", vec![]),
        (scsi.to_owned(), "scsi", vec![]),
        (at(scsi, "block/sda"), "block", vec![]),
        (at(scsi, "block/sda/sda1"), "block", vec!["E: DEVTYPE=partition".into()]),
        (at(scsi, "block/sda/sda2"), "block", vec!["E: DEVTYPE=partition".into()]),
        (at(scsi, "scsi_generic/sg0"), "scsi_generic", vec![]),
        (at(scsi, "bsg/0:0:0:0"), "bsg", vec![]),
        (nvme.to_owned(), "nvme", vec![]),
        (at(nvme, "nvme0n1"), "block", vec![]),
        (at(nvme, "nvme0n1/nvme0n1p1"), "block", vec!["E: DEVTYPE=partition".into()]),
        (at(nvme, "nvme0n1/nvme0n1p2"), "block", vec!["E: DEVTYPE=partition".into()]),
        (at(nvme, "nvme0n2"), "block", vec![]),
        (at(nvme, "ng0n1"), "nvme-generic", vec![]),
        ("pci0000:00/0000:00:07.0/nvme/nvme1".into(), "nvme", vec![]),
        (head.to_owned(), "nvme-subsystem", vec!["L: nvme1=../../../pci0000:00/0000:00:07.0/nvme/nvme1".into()]),
        (at(head, "nvme1n1"), "block", vec![]),
        (at(head, "ng1n1"), "nvme-generic", vec![]),
        (ib.to_owned(), "pci", vec![]),
        (at(ib, "infiniband_verbs/uverbs0"), "infiniband_verbs", vec!["A: ibdev=acme0\\n".into()]),
        (at(ib, "infiniband_mad/umad0"), "infiniband_mad", vec!["A: ibdev=acme0\\n".into(), "A: port=1\\n".into()]),
        (at(ib, "infiniband_mad/umad1"), "infiniband_mad", vec!["A: ibdev=acme0\\n".into(), "A: port=2\\n".into()]),
        (at(ib, "sf.1"), "auxiliary", vec![]),
        (at(ib, "sf.1/infiniband_verbs/uverbs1"), "infiniband_verbs", vec!["A: ibdev=acme1\\n".into()]),
        (at(PCI, "dvb/dvb0.frontend0"), "dvb", vec![]),
        (at(PCI, "dvb/dvb0.demux0"), "dvb", vec![]),
        (at(PCI, "dvb/dvb1.frontend0"), "dvb", vec![]),
        (at(PCI, "mtd/mtd0"), "mtd", vec![]),
        (at(PCI, "mtd/mtd0ro"), "mtd", vec![]),
        (at(PCI, "mtd/mtd1"), "mtd", vec![]),
        ("virtual/input/input9".into(), "input", vec![]),
        ("virtual/input/input9/event9".into(), "input", vec![]),
        ("virtual/input/input9/js0".into(), "input", vec![]),
        ("virtual/misc/fuse".into(), "misc", vec![]),
        ("virtual/video4linux/video8".into(), "video4linux", vec![]),
        ("virtual/video4linux/video9".into(), "video4linux", vec![]),
        ("platform/modem".into(), "platform", vec![]),
        ("platform/modem/wwan/wwan0".into(), "wwan", vec![]),
        ("platform/modem/wwan/wwan0/wwan0at0".into(), "wwan", vec![]),
        ("platform/modem/wwan/wwan0/wwan0qmi0".into(), "wwan", vec![]),
        ("platform/tpm".into(), "platform", vec![]),
        ("platform/tpm/tpm/tpm0".into(), "tpm", vec![]),
        ("platform/tpm/tpmrm/tpmrm0".into(), "tpmrm", vec![]),
        ("pci0000:00/0000:00:09.0".into(), "pci", vec![]),
        ("pci0000:00/0000:00:09.0/comedi/comedi0".into(), "comedi", vec![]),
        ("pci0000:00/0000:00:09.0/comedi/comedi0_subd0".into(), "comedi", vec![]),
        ("platform/firmware:optee".into(), "platform", vec![]),
        ("platform/firmware:optee/tee/tee0".into(), "tee", vec![]),
        ("platform/firmware:optee/tee/teepriv0".into(), "tee", vec![]),
        ("pci0000:00/0000:00:14.0/usb1/1-3/1-3:1.0/ttyUSB0".into(), "usb-serial", vec![]),
        ("pci0000:00/0000:00:14.0/usb1/1-3/1-3:1.0/ttyUSB0/tty/ttyUSB0".into(), "tty", vec![]),
        ("pci0000:00/0000:00:14.0/usb1/1-3/1-3:1.1/ttyUSB1".into(), "usb-serial", vec![]),
        ("pci0000:00/0000:00:14.0/usb1/1-3/1-3:1.1/ttyUSB1/tty/ttyUSB1".into(), "tty", vec![]),
    ]
    .into();
    let lines: Vec<Vec<&str>> = places.iter().map(|(_, _, more)| more.iter().map(String::as_str).collect()).collect();
    let devices: Vec<_> = places
        .iter()
        .zip(&lines)
        .map(|((at, subsystem, _), more)| (at.as_str(), *subsystem, more.as_slice()))
        .collect();
    let node = node(&devices);
    let find = |name: &str| {
        let found = places.iter().find(|(at, _, _)| at.ends_with(&format!("/{name}")));
        found.unwrap_or_else(|| panic!("{name}")).0.clone()
    };
    let one = [
        ("card0", "renderD128"),
        ("card0", "fb0"),
        ("controlC1", "pcmC1D0p"),
        ("video0", "media0"),
        ("hidraw1", "event5"),
        ("event5", "mouse0"),
        ("hidraw0", "event5"),
        ("hidraw0", "hiddev0"),
        ("sda", "sg0"),
        ("sda1", "sg0"),
        ("sg0", "bsg/0:0:0:0"),
        ("nvme0n1", "ng0n1"),
        ("nvme0n1p1", "ng0n1"),
        ("nvme0", "ng0n1"),
        ("nvme1n1", "ng1n1"),
        ("nvme1", "nvme1n1"),
        ("nvme1", "ng1n1"),
        ("uverbs0", "umad0"),
        ("uverbs0", "umad1"),
        ("dvb0.frontend0", "dvb0.demux0"),
        ("mtd0", "mtd0ro"),
        ("event9", "js0"),
        ("wwan0at0", "wwan0qmi0"),
        ("tpm0", "tpmrm0"),
        ("comedi0", "comedi0_subd0"),
        ("tee0", "teepriv0"),
    ];
    for (a, b) in one {
        let (a, b) = (find(a), find(b));
        assert!(conflict(&node, &a, &b), "{a} {:?}, {b} {:?}", pieces(&node, &a), pieces(&node, &b));
    }
    let apart = [
        ("sda1", "sda2"),
        ("nvme0n1", "nvme0n2"),
        ("nvme0n1p1", "nvme0n1p2"),
        ("ng0n1", "nvme0n2"),
        ("umad0", "umad1"),
        ("uverbs0", "uverbs1"),
        ("controlC1", "controlC2"),
        ("dvb0.frontend0", "dvb1.frontend0"),
        ("mtd0ro", "mtd1"),
        ("tty/ttyUSB0", "tty/ttyUSB1"),
        ("video8", "video9"),
        ("video0", "hidraw0"),
        ("event5", "event9"),
    ];
    for (a, b) in apart {
        let (a, b) = (find(a), find(b));
        assert!(!conflict(&node, &a, &b), "{a} {:?}, {b} {:?}", pieces(&node, &a), pieces(&node, &b));
    }
    assert_eq!(pieces(&node, "virtual/misc/fuse"), [""; 0]);
    assert_eq!(pieces(&node, &find("video8")), [""; 0]);
}

#[test]
fn a_name_that_leads_elsewhere_is_no_place() {
    let verbs = format!("{PCI}/infiniband_verbs/uverbs0");
    let node = node(&[(PCI, "pci", &[]), (&verbs, "infiniband_verbs", &["A: ibdev=../../../etc\\n"])]);
    assert_eq!(pieces(&node, &verbs), [PCI]);
}
