//! Recorded nodes of any size, and policies that offer all of them.

use std::fmt::Write;

/// One kind of device on a recorded node.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The class that the devices belong to, which names the resource as well: `bench0` gives `devgate.dev/bench0`.
    pub class: u32,
    /// How many there are.
    pub count: u32,
}

impl Kind {
    /// The resource that [`generic_policy`] makes of it.
    #[must_use]
    pub fn resource(self) -> String {
        format!("devgate.dev/bench{}", self.class)
    }
}

/// A node with these devices: each a PCI function with a class device beneath it that has the node.
#[must_use]
pub fn recording(kinds: &[Kind]) -> String {
    let mut text = String::new();
    for Kind { class, count } in kinds {
        for n in 0..*count {
            let (bus, slot, function) = (n / 256 % 256, n / 8 % 32, n % 8);
            let domain = class * 256 + n / 65_536;
            let pci = format!("/devices/pci{domain:04x}:{bus:02x}/{domain:04x}:{bus:02x}:{slot:02x}.{function}");
            let numa = n % 2;
            let major = 240 + class;
            let _ = write!(
                text,
                "P: {pci}\nE: SUBSYSTEM=pci\nE: DRIVER=bench\nA: vendor=0x1d9b\\n\nA: device=0x{class:04x}\\n\nA: class=0x120000\\n\n\
                 A: numa_node={numa}\\n\n\n\
                 P: {pci}/bench{class}/bench{class}-{n}\nN: bench{class}-{n}\nE: SUBSYSTEM=bench{class}\n\
                 E: DEVNAME=/dev/bench{class}-{n}\nE: MAJOR={major}\nE: MINOR={n}\nA: dev={major}:{n}\\n\n\n"
            );
        }
    }
    text
}

/// A policy with one plugin of the component `generic` for each kind.
#[must_use]
pub fn generic_policy(kinds: &[Kind]) -> String {
    let mut text = String::from("apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n");
    for kind in kinds {
        let (class, resource) = (kind.class, kind.resource());
        let _ = write!(
            text,
            "  bench{class}:\n    component: {{file: generic.wasm}}\n    resources: [{resource}]\n    hardware:\n      \
             - {{subsystem: bench{class}, use: offer, nodes: [{{access: rw}}]}}\n    config:\n      devices:\n        \
             - {{resource: {resource}, subsystem: bench{class}}}\n"
        );
    }
    text
}
