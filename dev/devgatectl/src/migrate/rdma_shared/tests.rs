use super::super::find;
use super::*;

#[test]
fn all_devices_are_one_unit_that_many_containers_have() {
    let mut draft = Draft::default();
    let text = r#"{"periodicUpdateInterval": 300, "configList": [
        {"resourceName": "hca", "rdmaHcaMax": 1000, "selectors": {"vendors": ["15b3"], "deviceIDs": ["1017", "101b"],
            "linkTypes": ["ether"]}},
        {"resourceName": "many", "resourcePrefix": "example.com", "rdmaHcaMax": 9999, "selectors": {"drivers": ["mlx5_core"]}},
        {"resourceName": "names", "rdmaHcaMax": 10, "devices": ["ib0"]},
        {"resourceName": "none"}]}"#;
    for found in find::in_file("f", text, &mut draft).unwrap() {
        take_over(&found, &mut draft);
    }
    let (policy, _) = draft.said();
    insta::assert_snapshot!(policy, @r#"
    # Made by `devgatectl migrate`: read it before a node does. Pin components by `sha256`.
    # Not carried over:
    #   f: configList[1] (example.com/many): rdmaHcaMax 9999: at most 4096 containers share a unit
    #   f: configList[2] (rdma/names): ifNames, devices: the policy names PCI functions (`name`) or RDMA devices (`config: {devices: …}`), not interfaces; left out
    #   f: configList[3]: missing field `rdmaHcaMax`
    apiVersion: devgate.dev/v1alpha1
    kind: Policy
    plugins:
      rdma-shared:
        component: {file: rdma.wasm}
        resources: [rdma/hca]
        hardware:
          # umad sends management datagrams to the whole fabric: take it out where containers need none.
          - {subsystem: pci, class: "0x02", vendor: "0x15b3", device: ["0x1017", "0x101b"], use: offer, nodes: [{subsystem: infiniband_verbs, shared: true}, {subsystem: infiniband_mad, name: "umad*", shared: true}]}
        host-nodes: {shared: [/dev/infiniband/rdma_cm]}
        files: [/proc/uptime, /proc/sys/kernel/random/boot_id]
        state: true
        # Each container gets all of them; without `together` each gets one.
        replicas: 1000
        config: {resource: rdma/hca, link-layers: [ethernet], together: true}
      rdma-shared-2:
        component: {file: rdma.wasm}
        resources: [example.com/many]
        hardware:
          # umad sends management datagrams to the whole fabric: take it out where containers need none.
          - {subsystem: pci, class: "0x02", driver: mlx5_core, use: offer, nodes: [{subsystem: infiniband_verbs, shared: true}, {subsystem: infiniband_mad, name: "umad*", shared: true}]}
        host-nodes: {shared: [/dev/infiniband/rdma_cm]}
        files: [/proc/uptime, /proc/sys/kernel/random/boot_id]
        state: true
        # Each container gets all of them; without `together` each gets one.
        replicas: 4096
        config: {resource: example.com/many, together: true}
    "#);
}
