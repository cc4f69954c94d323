//! Nodes of vfio: a group goes to one id as a whole, or not at all.

use super::{all_healthy, start_on, strings, wait};
use crate::inventory::Inventory;
use crate::testing::*;
use devgate_fake_node::{Change, RecordedNode};
use devgate_types::component::Capabilities;
use devgate_types::{DeviceHandle, Pool, Unit};

/// Group 42: a bridge, a NIC function and a sound function, both on vfio. Group 43: one function, on a variant driver.
const WORLD: &str = "\
P: /devices/pci0000:00/0000:00:01.0
E: SUBSYSTEM=pci
E: DRIVER=pcieport
A: class=0x060400\\n
A: vendor=0x8086\\n
L: iommu_group=../../../kernel/iommu_groups/42

P: /devices/pci0000:00/0000:00:01.0/0000:01:00.0
E: SUBSYSTEM=pci
E: DRIVER=vfio-pci
A: class=0x020000\\n
A: vendor=0x1234\\n
L: iommu_group=../../../../kernel/iommu_groups/42

P: /devices/pci0000:00/0000:00:01.0/0000:01:00.0/vfio-dev/vfio0
N: vfio/devices/vfio0
E: SUBSYSTEM=vfio-dev
E: DEVNAME=/dev/vfio/devices/vfio0
A: dev=511:0\\n

P: /devices/pci0000:00/0000:00:01.0/0000:01:00.1
E: SUBSYSTEM=pci
E: DRIVER=vfio-pci
A: class=0x040300\\n
A: vendor=0x1234\\n
L: iommu_group=../../../../kernel/iommu_groups/42

P: /devices/pci0000:00/0000:00:02.0
E: SUBSYSTEM=pci
E: DRIVER=acme_vfio_pci
A: class=0x020000\\n
A: vendor=0x1234\\n
L: iommu_group=../../../kernel/iommu_groups/43

P: /devices/virtual/vfio/42
N: vfio/42
E: SUBSYSTEM=vfio
E: DEVNAME=/dev/vfio/42
A: dev=239:1\\n

P: /devices/virtual/vfio/43
N: vfio/43
E: SUBSYSTEM=vfio
E: DEVNAME=/dev/vfio/43
A: dev=239:2\\n

P: /devices/virtual/misc/vfio
N: vfio/vfio
E: SUBSYSTEM=misc
E: DEVNAME=/dev/vfio/vfio
A: dev=10:196\\n
";

const OFFERS: &str = "
    hardware:
      - {subsystem: pci, vendor: '0x1234', use: offer, nodes: [{subsystem: vfio}, {subsystem: vfio-dev}]}
      - {subsystem: misc, name: vfio, use: offer, nodes: [{shared: true}]}
    health: {check-every: 100ms, enumerate-every: 100ms, stale-after: 1s}
";

fn world() -> RecordedNode {
    RecordedNode::parse("vfio", WORLD).unwrap()
}

fn unit(id: &str, backing: &[DeviceHandle], nodes: Vec<devgate_types::NodeHandle>) -> Unit {
    Unit { id: id.into(), backing: backing.to_vec(), nodes, properties: vec![] }
}

fn pool(units: Vec<Unit>, shared_nodes: Vec<devgate_types::NodeHandle>) -> Vec<Pool> {
    vec![Pool { resource: "fake.com/x".into(), units, shared_nodes, properties: vec![] }]
}

/// Ids that pass the gate, and what it says of the others.
fn gate(host: &crate::call::CallHost, pools: Vec<Pool>) -> (Vec<String>, String) {
    let (inventory, rejected) = Inventory::gate(host, pools);
    let ids = inventory.units().map(|unit| unit.id.to_string()).collect();
    let said: Vec<_> = rejected.iter().map(ToString::to_string).collect();
    (ids, said.join("\n"))
}

#[test]
fn functions_on_vfio_have_their_groups_node_and_their_own_where_they_are_offered() {
    let mut host = call_host_on(&world(), &policy_of(OFFERS));
    let functions = host.devices("pci").unwrap();
    let paths = |host: &mut crate::call::CallHost, function| -> Vec<String> {
        let nodes = host.nodes(function).unwrap();
        nodes.into_iter().map(|node| host.node(node).unwrap().path).collect()
    };
    assert_eq!(functions.len(), 3, "the bridge is not one of them");
    assert_eq!(paths(&mut host, functions[0]), ["/dev/vfio/42", "/dev/vfio/devices/vfio0"]);
    assert_eq!(paths(&mut host, functions[1]), ["/dev/vfio/42"]);
    assert_eq!(paths(&mut host, functions[2]), ["/dev/vfio/43"]);
    assert_eq!(host.nodes(functions[0]).unwrap()[0], host.nodes(functions[1]).unwrap()[0]);

    // Only what the policy offers.
    let own = OFFERS.replace("{subsystem: vfio}, ", "");
    let mut host = call_host_on(&world(), &policy_of(&own));
    let functions = host.devices("pci").unwrap();
    assert_eq!(paths(&mut host, functions[0]), ["/dev/vfio/devices/vfio0"]);
    let read = OFFERS
        .replace("vendor: '0x1234', use: offer, nodes: [{subsystem: vfio}, {subsystem: vfio-dev}]", "vendor: '0x1234'");
    let mut host = call_host_on(&world(), &policy_of(&read));
    let functions = host.devices("pci").unwrap();
    assert_eq!(paths(&mut host, functions[0]), [""; 0]);
    // A device that another driver has.
    let node = RecordedNode::parse("vfio", &WORLD.replace("DRIVER=acme_vfio_pci", "DRIVER=acmenic")).unwrap();
    let mut host = call_host_on(&node, &policy_of(OFFERS));
    let functions = host.devices("pci").unwrap();
    assert_eq!(paths(&mut host, functions[2]), [""; 0]);
}

#[test]
fn a_group_backs_one_id_as_a_whole() {
    let mut host = call_host_on(&world(), &policy_of(OFFERS));
    let functions = host.devices("pci").unwrap();
    let nodes: Vec<_> = functions.iter().map(|function| host.nodes(*function).unwrap()).collect();
    let misc = host.device_by_name("misc", "vfio").unwrap();
    let container = host.nodes(misc).unwrap();
    // The bridge need not be among them.
    let whole = unit("whole", &functions[..2], nodes[0].clone());
    let single = unit("single", &functions[2..], nodes[2].clone());
    let (ids, said) = gate(&host, pool(vec![whole, single], container));
    assert_eq!((ids, said.as_str()), (vec!["single".to_owned(), "whole".to_owned()], ""));
    let (ids, said) = gate(
        &host,
        pool(
            vec![
                unit("half", &functions[..1], nodes[0].clone()),
                unit("own-node", &functions[..1], nodes[0][1..].to_vec()),
                unit("other", &functions[2..], nodes[0].clone()),
                unit("nothing", &[], nodes[2].clone()),
                unit("node-less", &functions[..1], vec![]),
            ],
            vec![],
        ),
    );
    assert_eq!(ids, ["node-less"]);
    insta::assert_snapshot!(said, @r"
    id half of fake.com/x: node /dev/vfio/42 opens iommu group 42, and function 0000:01:00.1 of that group does not back this id: all of a group go to one container or none does
    id own-node of fake.com/x: node /dev/vfio/devices/vfio0 opens iommu group 42, and function 0000:01:00.1 of that group does not back this id: all of a group go to one container or none does
    id other of fake.com/x: node /dev/vfio/42 opens iommu group 42, and function 0000:01:00.0 of that group does not back this id: all of a group go to one container or none does
    id nothing of fake.com/x: node /dev/vfio/43 opens iommu group 43, and function 0000:00:02.0 of that group does not back this id: all of a group go to one container or none does
    ");
    let (ids, said) = gate(&host, pool(vec![], nodes[2].clone()));
    assert!(ids.is_empty());
    insta::assert_snapshot!(said, @"resource fake.com/x: node /dev/vfio/43 opens an iommu group: it belongs to the units that are made of it");
}

/// A bridge that a process could drive is a function as any other.
#[test]
fn a_bridge_on_vfio_counts() {
    let node = RecordedNode::parse("vfio", &WORLD.replace("DRIVER=pcieport", "DRIVER=vfio-pci")).unwrap();
    let mut host = call_host_on(&node, &policy_of(OFFERS));
    let functions = host.devices("pci").unwrap();
    let nodes = host.nodes(functions[0]).unwrap();
    let (ids, said) = gate(&host, pool(vec![unit("whole", &functions[..2], nodes)], vec![]));
    assert!(ids.is_empty() && said.contains("function 0000:00:01.0 of that group"), "{said}");
}

#[test]
fn a_node_by_its_path_goes_through_the_same_rule() {
    let by_path = "
    hardware:
      - {subsystem: pci, vendor: '0x1234', use: offer}
    host-nodes:
      exclusive: ['/dev/vfio/[0-9]*', '/dev/vfio/devices/*']
      shared: [/dev/vfio/vfio]
";
    // Told by the class, and where a recording has none by the path.
    let class_less: Vec<_> = WORLD.split("\n\n").filter(|text| !text.contains("virtual/vfio")).collect();
    let class_less = format!("{}\n\nD: /dev/vfio/42=c 239:1\nD: /dev/vfio/43=c 239:2\n", class_less.join("\n\n"));
    for text in [WORLD.to_owned(), class_less] {
        let node = RecordedNode::parse("vfio", &text).unwrap();
        let mut host = call_host_on(&node, &policy_of(by_path));
        let functions = host.devices("pci").unwrap();
        let (group, single) = (host.node_at("/dev/vfio/42").unwrap(), host.node_at("/dev/vfio/43").unwrap());
        let own = host.node_at("/dev/vfio/devices/vfio0").unwrap();
        let container = host.node_at("/dev/vfio/vfio").unwrap();
        let units = vec![
            unit("half", &functions[..1], vec![group]),
            unit("half-own", &functions[..1], vec![own]),
            unit("single", &functions[2..], vec![single]),
        ];
        let (ids, _) = gate(&host, pool(units, vec![container]));
        assert_eq!(ids, ["single"]);
        let (ids, _) = gate(&host, pool(vec![unit("whole", &functions[..2], vec![group, own])], vec![container]));
        assert_eq!(ids, ["whole"]);
    }
}

/// Without an iommu, a program that drives the hardware reaches all memory.
#[test]
fn a_group_without_an_iommu_needs_a_word() {
    let node = RecordedNode::parse("vfio", &WORLD.replace("vfio/43", "vfio/noiommu-43")).unwrap();
    let nodes = |policy: &str| {
        let mut host = call_host_on(&node, &policy_of(policy));
        let function = *host.devices("pci").unwrap().last().unwrap();
        host.nodes(function).unwrap().len()
    };
    assert_eq!(nodes(OFFERS), 0);
    assert_eq!(nodes(&format!("{OFFERS}    dangerous: [vfio-noiommu]\n")), 1);
}

/// A function that joined the group after it was listed: seen before anything is handed out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_grew_is_not_given() {
    let node = world();
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| {
        let functions = host.devices("pci").unwrap();
        let single = *functions.last().unwrap();
        let nodes = host.nodes(single).unwrap();
        Ok(pool(vec![unit("single", &[single], nodes)], vec![]))
    });
    fake.allocate = Box::new(|_, _| Ok(devgate_types::Edits::default()));
    // Longer than the test: only the look at Allocate is quick enough.
    let policy = policy_of(OFFERS).replace("enumerate-every: 100ms", "enumerate-every: 1h");
    let world = start_on(&node, &policy, [("fake.wasm", fake)]);
    let offer = world.offer("fake.com/x").await;
    wait(&offer, all_healthy).await;
    let given = offer.allocate(&strings(&["single"])).await.unwrap();
    assert_eq!(given.nodes[0].host_path, "/dev/vfio/43");
    let joined = "P: /devices/pci0000:00/0000:00:03.0\nE: SUBSYSTEM=pci\nA: class=0x020000\\n\nL: iommu_group=../../../kernel/iommu_groups/43\n";
    node.apply(Change::AddDevices(joined.into())).unwrap();
    let refused = offer.allocate(&strings(&["single"])).await.unwrap_err();
    insta::assert_snapshot!(refused, @"plugin p: resource fake.com/x: device single: node /dev/vfio/43 opens iommu group 43, and function 0000:00:03.0 of that group does not back this id: all of a group go to one container or none does");
}
