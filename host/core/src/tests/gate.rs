//! What the gate says of an inventory.

use crate::inventory::Inventory;
use crate::testing::*;
use devgate_types::component::Capabilities;
use devgate_types::{Pool, Unit};

/// What the gate says to each way of asking for too much.
#[test]
fn the_gate_refuses_one_unit_or_pool_and_says_why() {
    let mut host = call_host();
    let pci = host.devices("pci").unwrap();
    let fuse = host.device_by_name("misc", "fuse").unwrap();
    let fuse_node = host.node_at("/dev/fuse").unwrap();
    let card = host.nodes(pci[0]).unwrap();
    assert_eq!(host.devices("pci").unwrap().len(), 2, "the other vendor's GPU is not there");
    assert!(host.node_at("/dev/kvm").is_err() && host.node_at("/dev/mem").is_err());
    let unit = |id: &str, backing: &[_], nodes: &[_]| Unit {
        id: id.into(),
        backing: backing.to_vec(),
        nodes: nodes.to_vec(),
        properties: vec![],
    };
    let pool = |resource: &str, units, shared: &[_]| Pool {
        resource: resource.into(),
        units,
        shared_nodes: shared.to_vec(),
        properties: vec![],
    };
    let mut many = unit("many", &[], &[]);
    many.properties = (0..33).map(|n| property(&format!("p{n}"), "")).collect();
    let mut twice = unit("twice", &[], &[]);
    twice.properties = vec![property("a", "1"), property("a", "2")];
    let pools = vec![
        pool("not a name", vec![], &[]),
        pool("fake.com/ungranted", vec![], &[]),
        pool("fake.com/other", vec![unit("x", &[], &[])], &[fuse_node]),
        pool(
            "fake.com/gpu",
            vec![
                unit("ok", &pci[..1], &card),
                unit("ok", &[], &[]),
                unit("a,b", &[], &[]),
                unit("read", &[fuse], &[]),
                unit("forged", &[devgate_types::DeviceHandle(77)], &[]),
                unit("forged-node", &[], &[devgate_types::NodeHandle(77)]),
                many,
                twice,
            ],
            &[],
        ),
        pool("fake.com/gpu", vec![], &[]),
    ];
    let (inventory, rejected) = Inventory::gate(&host, pools);
    let said: Vec<_> = rejected.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(said.join("\n"));
    let ids: Vec<_> = inventory.units().map(|u| u.id.to_string()).collect();
    assert_eq!(ids, ["ok"]);
}

/// A component whose resources' names come from its hardware has none while nothing of that can be described.
#[test]
fn what_cannot_be_described_is_told_with_a_pool_of_any_name() {
    let host = call_host();
    let pool =
        |properties| Pool { resource: "fake.com/ungranted".into(), units: vec![], shared_nodes: vec![], properties };
    let gate = |pool| Inventory::gate(&host, vec![pool]);
    let (inventory, rejected) = gate(pool(vec![property("devgate.unread", "0000:00:01.0")]));
    assert_eq!((inventory.unread.len(), inventory.pools.len(), rejected), (1, 0, vec![]));
    for nothing in [vec![], vec![property("devgate.unread", " ")], vec![property("other", "x")]] {
        let (_, rejected) = gate(pool(nothing));
        assert!(rejected[0].why.contains("does not grant this name"), "{rejected:?}");
    }
}

/// Ids that the kubelet could not know, and more of them than anybody needs.
#[test]
fn replicas_are_bounded_in_length_and_number() {
    let gate = |policy: &str, ids: Vec<String>| {
        let host = call_host_on(&node().into(), policy);
        let unit = |id: String| Unit { id, backing: vec![], nodes: vec![], properties: vec![] };
        let units = ids.into_iter().map(unit).collect();
        let pool = Pool { resource: "fake.com/gpu".into(), units, shared_nodes: vec![], properties: vec![] };
        let (inventory, rejected) = Inventory::gate(&host, vec![pool]);
        (inventory.units().count(), rejected.into_iter().map(|r| r.why).collect::<Vec<_>>())
    };
    let many = POLICY.replace("    health:", "    replicas: 4096\n    health:");
    assert_eq!(gate(&many, vec!["x".repeat(57)]), (1, vec![]));
    assert_eq!(
        gate(&many, vec!["x".repeat(58)]),
        (0, vec!["with the number of a replica the id has 64 bytes; at most 63".into()])
    );
    assert_eq!(gate(POLICY, vec!["x".repeat(63)]), (1, vec![]));
    let (fit, rejected) = gate(&many, (0..30).map(|n| format!("u{n}")).collect());
    assert_eq!((fit, rejected.len()), (24, 6));
    assert_eq!(rejected[0], "there are more than 100000 devices, replicas counted (replicas)");
}

/// A filter by device holds for what a unit has, whatever the component says that it is made of.
#[test]
fn a_filter_by_device_cannot_be_evaded() {
    let offered = |filter: &str| {
        let policy = POLICY.replace("    health:", &format!("    {filter}\n    health:"));
        let mut host = call_host_on(&node().into(), &policy);
        let pci = host.devices("pci").unwrap();
        let card = host.children(pci[0], "drm").unwrap();
        let first = host.nodes(pci[0]).unwrap();
        let second = host.nodes(pci[1]).unwrap();
        let unit = |id: &str, backing: &[_], nodes: &[_]| Unit {
            id: id.into(),
            backing: backing.to_vec(),
            nodes: nodes.to_vec(),
            properties: vec![],
        };
        let units = vec![
            unit("both", &pci, &[]),
            unit("child", &card[..1], &[]),
            unit("first", &pci[..1], &first),
            unit("node-alone", &[], &first),
            unit("nothing", &[], &[]),
            unit("other", &pci[1..], &second),
            unit("stolen", &pci[1..], &first),
        ];
        let pool = Pool { resource: "fake.com/gpu".into(), units, shared_nodes: vec![], properties: vec![] };
        let (inventory, _) = Inventory::gate(&host, vec![pool]);
        inventory.units().map(|unit| unit.id.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(offered("except: [{device: \"0000:00:01.0\"}]"), "nothing other");
    assert_eq!(offered("only: [{device: \"0000:00:01.0\"}]"), "child first node-alone");
}
