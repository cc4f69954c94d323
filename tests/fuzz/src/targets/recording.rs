//! Recorded nodes, written by people and by `record`.

use crate::hold;
use devgate_fake_node::{RecordedNode, RecordingError};
use devgate_node::{DevicePath, Node};

/// Measured: what is written out is read again and compared, and each path is gone through from its root.
const COST: hold::Cost = hold::Cost { per_byte: 1 << 15, besides: 8 << 20 };
/// So many devices of a subsystem are asked about.
const DEVICES: usize = 16;

/// A recording is refused with its line, or is a node that can be asked everything, and whose text is that node again.
pub fn recording(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    COST.holds(text.len(), || match RecordedNode::parse("a\n.umockdev", text) {
        Err(error) => hold::message(&error.to_string()),
        Ok(recorded) => {
            ask(recorded.node());
            again(&recorded);
        }
    });
}

fn again(recorded: &RecordedNode) {
    match recorded.written(&[]) {
        Ok(written) => {
            for left in written.unwritten {
                assert!(left.path.contains('='), "{} is not written: {}", left.path.escape_debug(), left.why);
                hold::message(&left.why);
            }
            let read = RecordedNode::parse("again", &written.text).unwrap();
            assert_eq!(read.text().unwrap(), written.text, "the text is that of the same node");
        }
        Err(error) => hold::message(&error.to_string()),
    }
    let removed = |location: &str| -> Result<(), RecordingError> {
        for change in recorded.unplug(location)? {
            recorded.apply(change)?;
        }
        Ok(())
    };
    let before = recorded.text().ok();
    for device in all(recorded.node()).into_iter().take(DEVICES) {
        match removed(device.location()) {
            Err(error) => hold::message(&error.to_string()),
            Ok(()) => assert_eq!(recorded.text().ok(), before, "{} was put back", device.location().escape_debug()),
        }
    }
}

fn all(node: &Node) -> Vec<DevicePath> {
    let subsystems = node.subsystems().unwrap_or_default();
    let devices = subsystems.iter().flat_map(|name| node.devices(name).unwrap_or_default().into_iter().take(DEVICES));
    devices.collect()
}

fn ask(node: &Node) {
    let _ = (node.has_devices(), node.iommu_groups(), node.file("/proc/driver/nvidia/version", 4_096));
    for device in all(node) {
        assert!(node.exists(&device), "{} is listed", device.location().escape_debug());
        let _ = (node.driver(&device), node.numa_node(&device), node.devtype(&device), node.parent(&device));
        let _ =
            (node.child_devices(&device), node.pieces(&device), node.vfio_group(&device), node.iommu_group(&device));
        if let Ok(Some(own)) = node.own_node(&device) {
            assert_eq!(node.number_of(&device), Ok(Some(own.number)), "a node is its device's");
            let _ = (node.check_node(&own), node.owner_of(own.number), node.block_in_use(own.number));
        }
        for entry in node.entries(&device, "").unwrap_or_default().iter().take(64) {
            let _ = (node.attribute(&device, entry, 4_096), node.link(&device, entry), node.related(&device, entry));
        }
    }
}
