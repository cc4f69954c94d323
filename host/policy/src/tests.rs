//! Whole policies: what parses, what is refused and how, and what must hold for all of them.

mod decisions;
mod messages;
mod properties;

use crate::{Policy, PolicyErrors, PolicyFile, parse};

/// Everything that this version serves, in one policy: the design's sample without what comes later.
pub(super) const SAMPLE: &str = r#"apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  nvidia:
    component:
      file: nvidia-gpu.wasm
      sha256: 9f2c0a0000000000000000000000000000000000000000000000000000000001
    resources: [nvidia.com/gpu]
    hardware:
      - {subsystem: pci, vendor: "0x10de", class: ["0x0300", "0x0302"], use: offer}
    host-nodes:
      exclusive: ["/dev/nvidia[0-9]*"]
      shared: [/dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia-uvm-tools]
      access: rw
    containers:
      env: {NVIDIA_VISIBLE_DEVICES: "{ids}"}
    replicas: 1
    health: {unhealthy-after: 2s, healthy-after: 30s}
    limits: {memory: 16MiB, cpu: 100ms, deadline: 500ms}
    config: {xid: {"94": ignore}}
  nics:
    component: {file: sriov-nic.wasm}
    resources: [example.com/vf]
    hardware:
      - {subsystem: pci, vendor: "0x15b3", attributes: {sriov_numvfs: "*"}, use: read}
      - {subsystem: pci, vendor: "0x15b3", device: "0x101e", use: offer, nodes: [{subsystem: vfio}, {subsystem: infiniband_verbs}]}
    containers:
      env: {PCIDEVICE_EXAMPLE_COM_VF: "{property.pci}"}
  fuse:
    component: {file: generic.wasm}
    resources: [devgate.dev/fuse]
    hardware:
      - {subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}
    shares-hardware: true
    replicas: 64
    config: {devices: [{resource: devgate.dev/fuse, subsystem: misc, name: fuse}]}
"#;

pub(super) fn read(text: &str) -> Result<Policy, PolicyErrors> {
    parse(&[PolicyFile {
        name: "policy.yaml",
        text,
    }])
}

/// A policy with one plugin, `p`, that has these lines besides component and resource.
pub(super) fn with(lines: &str) -> String {
    let mut text = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  p:\n".to_owned();
    text += "    component: {file: p.wasm}\n    resources: [v.com/x]\n";
    for line in lines.lines() {
        text += &format!("    {line}\n");
    }
    text
}

pub(super) fn plugin(lines: &str) -> crate::PluginPolicy {
    let mut policy = read(&with(lines)).unwrap_or_else(|errors| panic!("{errors}"));
    policy.plugins.shift_remove("p").unwrap()
}
