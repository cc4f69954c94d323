//! Whole policies: what parses, what is refused and how, and what must hold for all of them.

mod conflicts;
mod decisions;
mod documents;
mod filters;
mod grants;
mod messages;
mod properties;
mod refusals;

use crate::{Policy, PolicyErrors, PolicyFile, parse};

/// Three vendors in one policy: GPUs, network functions and a node that all may share.
pub(super) const SAMPLE: &str = r#"apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  acme:
    component:
      file: acme-gpu.wasm
      sha256: 9f2c0a0000000000000000000000000000000000000000000000000000000001
    resources: [example.com/gpu]
    hardware:
      - {subsystem: pci, vendor: "0x10de", class: ["0x0300", "0x0302"], use: offer}
    host-nodes:
      exclusive: ["/dev/acme[0-9]*"]
      shared: [/dev/acmectl, /dev/acme-uvm, /dev/acme-uvm-tools]
      access: rw
    files: [/proc/driver/acme/version, /proc/driver/acme/gpus/*/information]
    kernel-log: ['^ACME: Fault \(PCI:([0-9a-f:]+)\): ([0-9]+),']
    containers:
      env: {ACME_VISIBLE_DEVICES: "{ids}"}
      cdi: {example.com/gpu: "{ids}"}
    replicas: 1
    except: [{id: GPU-1234}]
    health: {unhealthy-after: 2s, healthy-after: 30s}
    limits: {memory: 16MiB, cpu: 100ms, deadline: 500ms}
    config: {fault: {"94": ignore}}
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

/// A policy with every key of the format.
pub(super) const EVERYTHING: &str = r#"apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  all:
    component: {file: all.wasm, sha256: 9f2c0a0000000000000000000000000000000000000000000000000000000001}
    resources: [v.com/x, "v.com/af-*"]
    hardware:
      - {subsystem: pci, vendor: "0x10de", device: "0x2335", class: "0x03", driver: acme, name: "0000:*"}
      - subsystem: usb
        vendor: "0403"
        product: "6001"
        serial: A1
        attributes: {bcdDevice: "*"}
        use: offer
        nodes: [{subsystem: tty, name: "ttyUSB*", access: r, shared: true, container-path: "/dev/serial/{name}"}]
    host-nodes: {exclusive: "/dev/x[0-9]", shared: [/dev/xctl], access: rwm, container-path: "/dev/v/{name}"}
    files: [/opt/vendor/version, "/opt/vendor/units/*/state"]
    kernel-log: ["^vendor ([0-9]+): failed"]
    control: [{attribute: reset, values: ["1"], moment: [prepare, release]}]
    state: true
    dangerous: [i2c, run]
    containers:
      env: {"{RESOURCE}_IDS": "{ids}", "{RESOURCE}_MODE": [fast, ""], "{RESOURCE}_HINT": any}
      annotations: {"v.com/{RESOURCE}": "{property.mode}"}
      cdi: {v.com/x: "{property.uuid}"}
      mounts:
        lib: {source: /opt/vendor/lib, target: /opt/vendor/lib}
        socket: {source: /run/vendor, target: /run/vendor, writable: true, unchecked: true}
      device-info: true
      release-hook: true
    shares-hardware: false
    partitions: {own: "/dev/x[0-9]", common: [/dev/y]}
    replicas: 1
    placement: packed
    prepare: allocate
    wasi: [clocks, random]
    only: [{id: "a*", resource: v.com/raw, device: "0000:*", property: {mode: [a, b]}}]
    except: [{id: a1}]
    rename: [{resource: v.com/raw, id: "*", device: "*", property: {mode: a}, to: v.com/af-a}]
    exec: {type: x, resource: v.com/x, nodes-only: true}
    labels:
      v.com/x.product: "{property.mode}"
      v.com/x.memory: {value: "{property.memory}", of: min, in: MiB, units: {id: "*"}, values: "[0-9]*"}
    health: {unhealthy-after: 1s, healthy-after: 2s, stale-after: 3s, check-every: 4s, enumerate-every: 5s, new-boot: forgives}
    limits:
      cpu: 1s
      deadline: 2s
      memory: 1MiB
      instances: 2
      memories: 2
      tables: 2
      table-elements: 2
      handles: 32
      transfer: 1MiB
      host-calls: 2
      read: 1MiB
      log: 1KiB
      component-size: 1MiB
      functions: 2
      function-size: 1KiB
    config: {a: [1]}
  pulled:
    component: {oci: "registry.example.com/vendor/gpu:1.2@sha256:9f2c0a0000000000000000000000000000000000000000000000000000000001", signature: {cosign-key: vendor.pem}}
    resources: [v.com/pulled]
    dra:
      driver: pulled.v.com
      attributes: {model: "{property.model}", v.com/rail: {value: "{property.rail}", type: int, required: true, values: "[0-7]"}}
      capacity: {memory: {value: "{property.memory}", required: true, values: "*GiB"}}
      unhealthy: NoExecute
      admin-access: true
      conditions: {row-remap-pending: NoSchedule, narrow-link: None}
      shares: 1
      parameters: component
"#;

pub(super) fn read(text: &str) -> Result<Policy, PolicyErrors> {
    parse(&[PolicyFile { name: "policy.yaml", text }])
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
