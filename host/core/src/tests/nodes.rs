//! Which nodes the host gives away: only what is offered, and some things whatever is offered.

use crate::grants::Grants;
use crate::testing::*;
use devgate_fake_node::{Change, RecordedNode};
use devgate_node::Node;
use devgate_types::component::{Capabilities, Denied};

/// What is at each path, and why not where it is withheld.
fn told(node: &Node, policy: &str) -> String {
    let grants = Grants::new(node.clone(), plugin_policy(policy));
    let mut lines = Vec::new();
    for found in grants.matches().unwrap() {
        let name = found.device.name().to_owned();
        let node = |n: &crate::GrantedNode| {
            let shared = if n.grant.shared { " shared" } else { "" };
            format!("{name}: {} {}{shared}", n.node.path, n.grant.access)
        };
        lines.extend(found.nodes.iter().map(node));
        lines.extend(found.withheld.iter().map(|w| format!("{name}: not {}: {}", w.what, w.why)));
    }
    lines.join("\n")
}

#[test]
fn nodes_are_offered_by_subsystem_and_name_and_none_by_default() {
    let of = |nodes: &str| {
        let line = format!("\n    hardware: [{{subsystem: pci, vendor: '0x1234', use: offer{nodes}}}]\n");
        told(&node(), &policy_of(&line))
    };
    assert_eq!(of(""), "");
    assert_eq!(of(", nodes: [{subsystem: misc}]"), "");
    assert_eq!(of(", nodes: [{access: rw}]"), "", "of the device itself, which has none");
    insta::assert_snapshot!(of(", nodes: [{subsystem: drm}]"), @r"
    0000:00:01.0: /dev/dri/card0 rw
    0000:00:01.0: /dev/dri/renderD128 rw
    0000:00:02.0: /dev/dri/card1 rw
    ");
    insta::assert_snapshot!(of(", nodes: [{subsystem: drm, name: 'renderD*', access: r, shared: true}]"), @"0000:00:01.0: /dev/dri/renderD128 r shared");
    let read = "\n    hardware: [{subsystem: pci, vendor: '0x1234'}]\n";
    assert_eq!(told(&node(), &policy_of(read)), "", "granted for reading");
}

#[test]
fn a_dangerous_node_needs_its_own_word() {
    let selector = "\n    hardware: [{subsystem: misc, name: [uinput, kvm], use: offer, nodes: [{}]}]\n";
    insta::assert_snapshot!(told(&node(), &policy_of(selector)), @r#"
    kvm: /dev/kvm rw
    uinput: not /dev/uinput: /dev/uinput (c 10:223) is dangerous to give away: it types and clicks for the node's users, and needs "dangerous: [uinput]" in the policy
    "#);
    insta::assert_snapshot!(told(&node(), &policy_of(&format!("{selector}    dangerous: [uinput]\n"))), @r"
    kvm: /dev/kvm rw
    uinput: /dev/uinput rw
    ");
    insta::assert_snapshot!(told(&node(), &policy_of(&format!("{selector}    dangerous: [mem]\n"))), @r#"
    kvm: /dev/kvm rw
    uinput: not /dev/uinput: /dev/uinput (c 10:223) is dangerous to give away: it types and clicks for the node's users, and needs "dangerous: [uinput]" in the policy
    "#);
}

/// By what it is and not by what it is called.
#[test]
fn a_dangerous_node_by_another_path_is_known_by_its_number() {
    let text = format!("{NODE}\nD: /dev/harmless=c 1:1\nD: /dev/fine=c 240:0\n");
    let node = RecordedNode::parse("disguised", &text).unwrap();
    let listed = "\n    host-nodes: {exclusive: [/dev/harmless, /dev/fine]}\n";
    let mut host = call_host_on(&node, &policy_of(listed));
    assert!(host.node_at("/dev/fine").is_ok());
    match host.node_at("/dev/harmless") {
        Err(Denied::Failure(failure)) => {
            insta::assert_snapshot!(failure.message, @r#"node "/dev/harmless": /dev/harmless (c 1:1) is dangerous to give away: it is all of the node's physical memory, and needs "dangerous: [mem]" in the policy"#)
        }
        other => panic!("{other:?}"),
    }
    let mut host = call_host_on(&node, &policy_of(&format!("{listed}    dangerous: [mem]\n")));
    assert!(host.node_at("/dev/harmless").is_ok());
}

/// A controller takes commands for each of its disks, and the generic node of a namespace reads and writes it: neither is less
/// than the disk itself.
#[test]
fn a_node_that_reaches_a_disk_in_use_is_never_given() {
    let text = "\
P: /devices/pci0000:00/0000:00:05.0/nvme/nvme0
N: nvme0
E: SUBSYSTEM=nvme
E: DEVNAME=/dev/nvme0
E: MAJOR=240
E: MINOR=0
A: dev=240:0\\n

P: /devices/pci0000:00/0000:00:05.0/nvme/nvme0/nvme0n1
N: nvme0n1
E: SUBSYSTEM=block
E: DEVTYPE=disk
E: DEVNAME=/dev/nvme0n1
A: dev=259:0\\n

P: /devices/pci0000:00/0000:00:05.0/nvme/nvme0/ng0n1
N: ng0n1
E: SUBSYSTEM=nvme-generic
E: DEVNAME=/dev/ng0n1
E: MAJOR=241
E: MINOR=0
A: dev=241:0\\n

P: /devices/pci0000:00/0000:00:05.0/nvme/nvme0/ng0n2
N: ng0n2
E: SUBSYSTEM=nvme-generic
E: DEVNAME=/dev/ng0n2
E: MAJOR=241
E: MINOR=1
A: dev=241:1\\n
";
    let node = RecordedNode::parse("nvme", text).unwrap();
    let offered = policy_of(
        "
    hardware:
      - {subsystem: nvme, name: nvme0, use: offer, nodes: [{}]}
      - {subsystem: nvme-generic, name: 'ng*', use: offer, nodes: [{}]}
    host-nodes: {exclusive: [/dev/nvme0, '/dev/ng*']}
",
    );
    let paths = ["/dev/nvme0", "/dev/ng0n1", "/dev/ng0n2"];
    let grants = Grants::new(node.clone().into(), plugin_policy(&offered));
    let granted = paths.map(|path| grants.node_at(path).ok().unwrap());
    assert!(!told(&node, &offered).contains("not "), "{}", told(&node, &offered));
    node.apply(Change::SetFile {
        path: "/proc/1/mountinfo".into(),
        value: "30 1 259:0 / /srv rw - ext4 /dev/nvme0n1 rw\n".into(),
    })
    .unwrap();
    let in_use = |path: &str| format!("{path} is in use by this node: nvme0n1 is mounted on /srv");
    let told = told(&node, &offered);
    let expected = [Some(in_use(paths[0])), Some(in_use(paths[1])), None];
    for ((path, granted), expected) in paths.iter().zip(granted).zip(expected) {
        let name = path.trim_start_matches("/dev/");
        let line =
            expected.as_ref().map_or_else(|| format!("{name}: {path} rw"), |why| format!("{name}: not {path}: {why}"));
        assert!(told.lines().any(|told| told == line), "{line}\n{told}");
        let by_path = call_host_on(&node, &offered).node_at(path);
        assert_eq!(by_path.is_ok(), expected.is_none(), "{path}");
        assert_eq!(grants.problem_now(&granted), expected, "given before it was mounted");
    }
}

/// A disk that the node uses is not given, whatever the policy says, and one that it starts to use is not given any more.
#[test]
fn a_block_device_in_use_is_never_given() {
    let text = "\
P: /devices/pci0000:00/0000:00:05.0/block/vdb
N: vdb
E: SUBSYSTEM=block
E: DEVTYPE=disk
E: DEVNAME=/dev/vdb
A: dev=254:16\\n
A: size=1000\\n
";
    let node = RecordedNode::parse("disk", text).unwrap();
    let offered = policy_of(
        "\n    hardware: [{subsystem: block, name: vdb, use: offer, nodes: [{}]}]\n    host-nodes: {exclusive: [/dev/vdb]}\n",
    );
    let grants = Grants::new(node.clone().into(), plugin_policy(&offered));
    assert_eq!(told(&node, &offered), "vdb: /dev/vdb rw");
    let granted = grants.node_at("/dev/vdb").ok().unwrap();
    assert_eq!(grants.problem_now(&granted), None);
    node.apply(Change::SetFile {
        path: "/proc/1/mountinfo".into(),
        value: "30 1 254:16 / /srv rw - ext4 /dev/vdb rw\n".into(),
    })
    .unwrap();
    insta::assert_snapshot!(told(&node, &offered), @"vdb: not /dev/vdb: /dev/vdb is in use by this node: vdb is mounted on /srv");
    assert!(call_host_on(&node, &offered).node_at("/dev/vdb").is_err());
    insta::assert_snapshot!(grants.problem_now(&granted).unwrap(), @"/dev/vdb is in use by this node: vdb is mounted on /srv");
}
