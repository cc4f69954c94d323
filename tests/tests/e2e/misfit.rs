//! The component that does wrong what its configuration says.

/// With which it does nothing wrong.
pub(crate) const POLICY: &str = r#"apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  racks:
    component: {file: misfit.wasm}
    resources: [example.com/rack]
    hardware: [{subsystem: rack, use: offer, nodes: [{access: rw}]}]
    host-nodes: {shared: [/dev/rackctl]}
    files: [/proc/misfit/*/information]
    kernel-log: ['^rack ([0-9]+): broken']
    control: [{attribute: armed, values: ["0", "1"], moment: [prepare, release]}]
    state: true
    config: {fault: none}
"#;
