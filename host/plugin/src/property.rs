//! For arbitrary output of a component, nothing outside its grants and nothing of another id is ever in a reply.

use crate::claims::{Ledger, Place};
use crate::component::Capabilities;
use crate::inventory::{Inventory, UnitRecord};
use crate::reply::{self, Asked};
use crate::testing::{call_host, property};
use devgate_model::{DeviceHandle, Edits, MountHandle, NodeHandle, Pool, Unit};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Every node that the test policy lets out, with its access, and whether it is shared.
const GRANTED: [(&str, &str, bool); 4] = [
    ("/dev/dri/card0", "rw", false),
    ("/dev/dri/card1", "rw", false),
    ("/dev/fuse", "rw", false),
    ("/dev/kvm", "r", true),
];

fn unit() -> impl Strategy<Value = Unit> {
    let id = prop_oneof!["[a-c]", "\\PC{0,70}", "[a-z]::[0-9]"];
    let handles = || prop::collection::vec(0u32..12, 0..5);
    let properties = prop::collection::vec(("[a-c]{0,2}", "\\PC{0,8}"), 0..3);
    (id, handles(), handles(), properties).prop_map(|(id, backing, nodes, properties)| Unit {
        id,
        backing: backing.into_iter().map(DeviceHandle).collect(),
        nodes: nodes.into_iter().map(NodeHandle).collect(),
        properties: properties.iter().map(|(name, value)| property(name, value)).collect(),
    })
}

fn pool() -> impl Strategy<Value = Pool> {
    let resource = prop_oneof![
        Just("fake.com/gpu".to_owned()),
        Just("fake.com/other".to_owned()),
        "\\PC{0,12}"
    ];
    let shared = prop::collection::vec(0u32..12, 0..3);
    (resource, prop::collection::vec(unit(), 0..6), shared).prop_map(|(resource, units, shared)| Pool {
        resource,
        units,
        shared_nodes: shared.into_iter().map(NodeHandle).collect(),
        properties: vec![],
    })
}

fn edits() -> impl Strategy<Value = Edits> {
    let key = prop_oneof![
        Just("GPUS_FAKE_COM_GPU".to_owned()),
        Just("LD_PRELOAD".to_owned()),
        "[A-Z]{0,4}"
    ];
    let value = prop_oneof![
        Just("a".to_owned()),
        Just("a,b".to_owned()),
        Just("all".to_owned()),
        "\\PC{0,8}"
    ];
    let env = prop::collection::vec((key, value), 0..3);
    let rare = prop::collection::vec("[a-z.]{1,4}/[a-z]{1,3}=all", 0..2).prop_map(|names| match names.len() {
        1 => names,
        _ => vec![],
    });
    (env, rare, any::<u8>()).prop_map(|(env, cdi, odd)| Edits {
        env: env.iter().map(|(name, value)| property(name, value)).collect(),
        mounts: if odd == 0 { vec![MountHandle(0)] } else { vec![] },
        annotations: if odd == 1 { vec![property("a", "b")] } else { vec![] },
        cdi,
        properties: if odd == 2 { vec![property("a", "b")] } else { vec![] },
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_reply_holds_only_what_is_granted_and_only_of_its_ids(
        pools in prop::collection::vec(pool(), 0..4),
        edits in prop::collection::vec(edits(), 1..4),
    ) {
        // The call holds 4 of its granted devices and all nodes that it can get: handles 0 to 11 are real and not.
        let mut host = call_host();
        for device in [host.devices("pci").unwrap(), host.devices("misc").unwrap()].concat() {
            let _ = host.nodes(device);
        }
        let _ = host.node_at("/dev/fuse");
        let as_listed: HashMap<String, BTreeSet<String>> = pools.iter().flat_map(|pool| &pool.units).map(|unit| {
            let paths = unit.nodes.iter().filter_map(|n| host.held_node(*n)).map(|n| n.node.path.clone());
            (unit.id.clone(), paths.collect())
        }).fold(HashMap::new(), |mut all, (id, paths): (String, BTreeSet<String>)| {
            all.entry(id).or_default().extend(paths);
            all
        });
        let (inventory, _) = Inventory::gate(host.policy(), &host, pools, &|_| None);
        let ledger = Ledger::new(["gpus".to_owned()]);
        ledger.report(Place(0), inventory.claims(host.policy(), &crate::Memory::forgetful()));
        let lost = ledger.lost(Place(0));
        let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (resource, pool) in &inventory.pools {
            let units: Vec<&Arc<UnitRecord>> = pool.units.iter().filter(|unit| !lost.contains_key(&unit.id)).collect();
            for unit in &units {
                for edits in &edits {
                    let Ok(asked) = Asked::of(edits.clone(), &host) else { continue };
                    let Ok(reply) = reply::build(host.policy(), resource, pool, &[Arc::clone(unit)], &asked) else { continue };
                    for node in &reply.nodes {
                        let granted = GRANTED.iter().find(|(path, ..)| *path == node.host_path);
                        prop_assert!(granted.is_some(), "{} is not granted", node.host_path);
                        let (_, access, shared) = granted.unwrap();
                        prop_assert_eq!(&node.access.to_string(), access);
                        prop_assert_eq!(&node.container_path, &node.host_path);
                        let own = as_listed.get(unit.id.as_str()).is_some_and(|nodes| nodes.contains(&node.host_path));
                        prop_assert!(own || *shared, "{} was not listed for {}", node.host_path, unit.id);
                        if !shared {
                            users.entry(node.host_path.clone()).or_default().insert(unit.id.to_string());
                        }
                    }
                    for (key, value) in &reply.env {
                        prop_assert_eq!(key, &format!("GPUS_{}", resource.as_env()));
                        prop_assert_eq!(value, unit.id.as_str());
                    }
                    prop_assert!(reply.mounts.is_empty() && reply.annotations.is_empty() && reply.cdi.is_empty());
                }
            }
        }
        for (node, ids) in users {
            prop_assert_eq!(ids.len(), 1, "{} is given to several", node);
        }
    }
}
