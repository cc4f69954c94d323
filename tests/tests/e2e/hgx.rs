//! The recorded eight-GPU server that other tests play on is a machine of that kind.

use devgate_fake_node::RecordedNode;
use devgate_node::{DevicePath, Node};
use devgate_types::{NodeKind, NodeNumber};
use std::collections::BTreeMap;

fn node() -> RecordedNode {
    RecordedNode::parse("hgx-h100", include_str!("../../nodes/hgx-h100.umockdev")).unwrap()
}

fn text(node: &Node, device: &DevicePath, attribute: &str) -> String {
    let bytes = node.attribute(device, attribute, 4096).unwrap();
    String::from_utf8(bytes).unwrap().trim_end().to_owned()
}

/// The functions of a vendor and class.
fn functions(node: &Node, vendor: &str, class: &str) -> Vec<DevicePath> {
    let mut all = node.devices("pci").unwrap();
    all.retain(|d| text(node, d, "vendor") == vendor && text(node, d, "class").starts_with(class));
    all
}

/// The place of the switch that a function hangs below: above its slot and the slot's bridge.
fn switch(function: &DevicePath) -> &str {
    function.location().rsplitn(3, '/').nth(2).unwrap()
}

#[test]
fn each_switch_has_two_gpus_and_two_network_adapters() {
    let node = node();
    let gpus = functions(&node, "0x10de", "0x0302");
    let nics = functions(&node, "0x15b3", "0x0200");
    let is_physical = |nic: &&DevicePath| node.link(nic, "physfn").is_err();
    let mut switches: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for gpu in &gpus {
        switches.entry(switch(gpu)).or_default().0 += 1;
    }
    for nic in nics.iter().filter(is_physical) {
        switches.entry(switch(nic)).or_default().1 += 1;
    }
    assert_eq!(switches.into_values().collect::<Vec<_>>(), [(2, 2); 4]);
    assert_eq!(functions(&node, "0x10de", "0x0680").len(), 4);
    let numa: Vec<_> = gpus.iter().map(|gpu| node.numa_node(gpu)).collect();
    assert_eq!(numa, [0, 0, 0, 0, 1, 1, 1, 1].map(Some));
    for gpu in &gpus {
        assert_eq!(node.driver(gpu).as_deref(), Some("nvidia"));
        assert_eq!(text(&node, gpu, "power/runtime_status"), "active");
        assert!(text(&node, gpu, "aer_dev_fatal").ends_with("TOTAL_ERR_FATAL 0"));
    }
}

/// NVIDIA's driver registers no class: nothing in the tree leads to these nodes.
#[test]
fn the_gpus_nodes_belong_to_no_device() {
    let node = node();
    for minor in 0..8 {
        let gpu = node.node_at(&format!("/dev/nvidia{minor}")).unwrap();
        let number = NodeNumber { kind: NodeKind::Character, major: 195, minor };
        assert_eq!((gpu.number, node.owner_of(number)), (number, None));
    }
}
