use super::super::find;
use super::*;

/// What becomes of a file, and what does not.
fn migrated(text: &str) -> (String, String) {
    let mut draft = Draft::default();
    let found = find::in_file("f", text, &mut draft).unwrap();
    let (flags, configs): (Vec<_>, Vec<_>) = found.iter().partition(|one| one.what == find::What::SriovFlags);
    configs.iter().for_each(|one| take_over(one, &flags, &mut draft));
    draft.said()
}

fn pools(policy: &str) -> String {
    policy.split_once("      pools:\n").map(|(_, pools)| pools.to_owned()).unwrap_or_default()
}

fn one(resource: &str) -> (String, String) {
    migrated(&format!(r#"{{"resourceList": [{resource}]}}"#))
}

#[test]
fn each_resource_is_a_pool_with_the_functions_that_it_means() {
    let (policy, lost) = migrated(
        r#"{"resourceList": [
        {"resourceName": "netdevice", "selectors": {"vendors": ["8086"], "devices": ["154c"], "drivers": ["iavf"]}},
        {"resourceName": "dpdk", "resourcePrefix": "example.com", "deviceType": "netDevice", "selectors": [
            {"vendors": ["8086"], "drivers": ["vfio-pci"], "pfNames": ["ens2f0#0-3,7"]},
            {"drivers": ["vfio-pci"], "rootDevices": ["0000:3b:00.1"], "linkTypes": ["ether"]}]},
        {"resourceName": "rdma", "selectors": {"vendors": ["15b3"], "pciAddresses": ["0000:3b:00.2"], "isRdma": true,
            "needVhostNet": true}}]}"#,
    );
    assert_eq!(lost, "");
    insta::assert_snapshot!(policy, @r#"
    # Made by `devgatectl migrate`: read it before a node does. Pin components by `sha256`.
    apiVersion: devgate.dev/v1alpha1
    kind: Policy
    plugins:
      sriov:
        component: {file: sriov-nic.wasm}
        resources: [intel.com/netdevice, example.com/dpdk, intel.com/rdma]
        hardware:
          # The physical functions: to look at, not to give away.
          - {subsystem: pci, class: "0x02", attributes: {sriov_numvfs: "*"}}
          # What names no vendor and device reaches every network function: name them, where you know them.
          - {subsystem: pci, class: "0x02", vendor: "0x8086", device: "0x154c", driver: iavf, use: offer}
          - {subsystem: pci, class: "0x02", vendor: "0x8086", driver: vfio-pci, use: offer, nodes: [{subsystem: vfio}]}
          - {subsystem: pci, class: "0x02", driver: vfio-pci, use: offer, nodes: [{subsystem: vfio}]}
          - {subsystem: pci, class: "0x02", vendor: "0x15b3", name: "0000:3b:00.2", use: offer, nodes: [{subsystem: vfio}, {subsystem: infiniband_verbs}, {subsystem: infiniband_mad, name: "umad*"}]}
        host-nodes: {shared: [/dev/vfio/vfio, /dev/infiniband/rdma_cm, /dev/vhost-net, /dev/net/tun]}
        containers:
          # For Multus.
          device-info: true
          # A `-` in a resource's name is `_` in its variable. Where containers need the description in JSON as well, add
          # `PCIDEVICE_{RESOURCE}_INFO: any` here, and `info: true` to the pool.
          env: {"PCIDEVICE_{RESOURCE}": "{ids}"}
        health: {unhealthy-after: 2s, healthy-after: 10s}
        config:
          # The first that means a function has it. A physical function's link decides about health: `link: ignore` for how it was.
          pools:
            - {resource: intel.com/netdevice, select: [{vendors: ["8086"], devices: ["154c"], drivers: [iavf]}]}
            - {resource: example.com/dpdk, select: [{vendors: ["8086"], drivers: [vfio-pci], pf-names: ["ens2f0#0-3,7"]}, {drivers: [vfio-pci], pf-names: ["0000:3b:00.1"], link-types: [ether]}]}
            - {resource: intel.com/rdma, rdma: true, vhost-net: true, select: [{vendors: ["15b3"], pci-addresses: ["0000:3b:00.2"]}]}
    "#);
}

#[test]
fn what_narrows_and_cannot_be_told_leaves_its_selector_out() {
    let (policy, lost) = one(r#"{"resourceName": "a", "selectors": [{"vendors": ["8086"], "ddpProfiles": ["GTP"]},
        {"vendors": ["15b3"], "ddpProfiles": [], "drivers": ["igb_uio", "vfio-pci"]}]}"#);
    assert_eq!(
        pools(&policy),
        "        - {resource: intel.com/a, select: [{vendors: [\"15b3\"], drivers: [vfio-pci]}]}\n"
    );
    insta::assert_snapshot!(lost, @r"
    f: resourceList[0] (intel.com/a): selectors[0]: ddpProfiles: it is known by devlink alone; the selector is left out
    f: resourceList[0] (intel.com/a): selectors[1]: drivers igb_uio: no iommu is behind it; bind vfio-pci
    ");
    for gone in [
        r#"{"resourceName": "a", "selectors": {"vdpaType": "vhost"}}"#,
        r#"{"resourceName": "a", "selectors": {"drivers": ["igb_uio"]}}"#,
        r#"{"resourceName": "a", "selectors": {"vendors": "8086"}}"#,
        r#"{"resourceName": "a", "deviceType": "accelerator"}"#,
        r#"{"resourceName": 7}"#,
        r#"{"selectors": {}}"#,
    ] {
        let (policy, lost) = one(gone);
        assert!(!policy.contains("component:") && lost.contains("f: resourceList[0]"), "{gone}: {lost}");
    }
}

#[test]
fn what_is_not_carried_over_is_named_and_the_pool_stays() {
    let (policy, lost) = one(
        r#"{"resourceName": "a", "excludeTopology": true, "additionalInfo": {"*": {"token": "x"}},
        "sriovMode": true, "selectors": [{"isRdma": true, "pfNames": ["a"], "rootDevices": ["b"], "colour": "red"}, {}]}"#,
    );
    assert_eq!(pools(&policy), "        - {resource: intel.com/a}\n");
    insta::assert_snapshot!(lost, @r"
    f: resourceList[0] (intel.com/a): excludeTopology: a function's NUMA node is what the kernel says
    f: resourceList[0] (intel.com/a): additionalInfo: containers are told what the node says of a function
    f: resourceList[0] (intel.com/a): sriovMode: this key is not known, and their plugin ignores it
    f: resourceList[0] (intel.com/a): selectors[0]: colour: this key is not known, and their plugin ignores it
    f: resourceList[0] (intel.com/a): selectors[0]: rootDevices: pfNames beside it says which physical function is meant
    f: resourceList[0] (intel.com/a): isRdma: is for all of a resource's selectors or for none; write two resources
    ");
}

#[test]
fn the_daemon_set_says_how_resources_begin() {
    let config = "data:\n  config.json: |\n    {\"resourceList\": [{\"resourceName\": \"a\"}]}\n";
    let args = "spec:\n  args: [--log-level=10, --resource-prefix=openshift.io, \"--use-cdi\"]\n";
    let (policy, lost) = migrated(&format!("{config}---\n{args}"));
    assert!(pools(&policy).starts_with("        - {resource: openshift.io/a}\n"), "{policy}");
    assert_eq!(lost, "f: spec: args: use-cdi: `devgate run --edits cdi` does it, for all plugins");
}

#[test]
fn more_resources_than_a_plugin_may_have_are_several_plugins() {
    let many: Vec<_> = (0..17).map(|n| format!("{{\"resourceName\": \"r{n}\"}}")).collect();
    let (policy, _) = one(&many.join(","));
    assert!(policy.contains("\n  sriov:\n") && policy.contains("\n  sriov-2:\n"), "{policy}");
}

#[test]
fn a_configuration_in_a_file_that_cannot_be_read_is_named() {
    let (_, lost) = migrated("data:\n  config.json: |\n    {\"resourceList\": [}\n  other: '{'\n");
    assert!(lost.starts_with("f: data: config.json: line 1: cannot be read as YAML: "), "{lost}");
    assert_eq!(lost.lines().count(), 1, "{lost}");
}
