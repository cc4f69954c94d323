//! Which devices of a machine the demo offers, and the policy that says so.

use devgate_node::{DevicePath, Node};
use std::fmt::Write;

/// The resource of the component that asks for too much.
pub(super) const OVERREACH: &str = "devgate.dev/overreach";

/// What the demo looks for, in the order in which it tells of it: resource, subsystem, kernel names.
const KNOWN: [(&str, &str, &str); 8] = [
    ("devgate.dev/fuse", "misc", "fuse"),
    ("devgate.dev/tun", "misc", "tun"),
    ("devgate.dev/kvm", "misc", "kvm"),
    ("devgate.dev/loop", "block", "loop*"),
    ("devgate.dev/render", "drm", "renderD*"),
    ("devgate.dev/camera", "video4linux", "video*"),
    ("devgate.dev/usb-serial", "tty", "ttyUSB*"),
    ("devgate.dev/serial", "tty", "ttyS*"),
];

/// A resource that this machine can offer.
#[derive(Debug, Clone)]
pub(super) struct Offered {
    pub(super) resource: String,
    pub(super) subsystem: &'static str,
    pub(super) name: &'static str,
    /// Paths of the nodes, by device name.
    pub(super) nodes: Vec<(String, String)>,
}

/// Everything that the demo knows and this node has, with a node that is there.
pub(super) fn offered(node: &Node) -> Vec<Offered> {
    let mut all = Vec::new();
    for (resource, subsystem, name) in KNOWN {
        let devices = node.devices(subsystem).unwrap_or_default();
        let nodes: Vec<_> =
            devices.iter().filter(|d| matches(name, d.name())).filter_map(|d| usable(node, d)).collect();
        if !nodes.is_empty() {
            all.push(Offered { resource: resource.to_owned(), subsystem, name, nodes });
        }
    }
    all
}

/// The demo's patterns are a name, or a name with `*` at its end.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |stem| name.starts_with(stem))
}

fn usable(node: &Node, device: &DevicePath) -> Option<(String, String)> {
    let own = node.own_node(device).ok()??;
    let idle =
        own.number.kind == devgate_types::NodeKind::Character || matches!(node.block_in_use(own.number), Ok(None));
    idle.then(|| (device.name().to_owned(), own.path))
}

/// The demo's policy, as an admin would write it.
pub(super) fn policy(offered: &[Offered]) -> String {
    let mut text = String::from("apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n");
    text.push_str("  generic:\n    component: {file: generic.wasm}\n    resources:\n");
    for o in offered {
        let _ = writeln!(text, "      - {}", o.resource);
    }
    text.push_str("    hardware:\n");
    for o in offered {
        let (subsystem, name) = (o.subsystem, o.name);
        let _ =
            writeln!(text, "      - {{subsystem: {subsystem}, name: \"{name}\", use: offer, nodes: [{{access: rw}}]}}");
    }
    text.push_str("    config:\n      devices:\n");
    for o in offered {
        let (resource, subsystem, name) = (&o.resource, o.subsystem, o.name);
        let _ = writeln!(text, "        - {{resource: {resource}, subsystem: {subsystem}, name: \"{name}\"}}");
    }
    let _ = write!(
        text,
        "  overreach:\n    component: {{file: overreach.wasm}}\n    resources: [{OVERREACH}]\n    host-nodes:\n      shared: [/dev/null]\n"
    );
    text
}
