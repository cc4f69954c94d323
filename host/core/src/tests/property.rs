//! For arbitrary output of a component, nothing outside its grants and nothing of another id is ever in a reply.

use crate::inventory::Inventory;
use crate::ledger::{Ledger, PluginIndex};
use crate::reply::{self, Asked};
use crate::testing::{call_host, property};
use crate::units::UnitRecord;
use devgate_types::component::Capabilities;
use devgate_types::{DeviceHandle, Edits, MountHandle, NodeHandle, Pool, Unit};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Every node that the test policy lets out, with its access, and whether it is shared.
const GRANTED: [(&str, &str, bool); 4] = [
    ("/dev/dri/card0", "rw", false),
    ("/dev/dri/card1", "rw", false),
    ("/dev/fuse", "rw", false),
    ("/dev/kvm", "r", true),
];

/// The handle of the one node that may be shared.
const SHARED: u32 = 2;

fn unit() -> impl Strategy<Value = Unit> {
    // Mostly what is let through, so that there is something to see behind the gate.
    let id = prop_oneof![8 => "[a-c]", 1 => "\\PC{0,70}", 1 => "[a-z]::[0-9]"];
    let handles = |real: u32| prop::collection::vec(prop_oneof![19 => 0..real, 1 => 0u32..12], 0..3);
    let properties = prop::collection::btree_map("[a-c]{1,2}", "\\PC{0,8}", 0..3);
    (id, handles(2), handles(4), properties).prop_map(|(id, backing, nodes, properties)| Unit {
        id,
        backing: backing.into_iter().map(DeviceHandle).collect(),
        nodes: nodes.into_iter().map(NodeHandle).collect(),
        properties: properties.iter().map(|(name, value)| property(name, value)).collect(),
    })
}

fn pool() -> impl Strategy<Value = Pool> {
    let resource = prop_oneof![
        8 => Just("fake.com/gpu".to_owned()),
        4 => Just("fake.com/other".to_owned()),
        1 => "\\PC{0,12}"
    ];
    let shared = prop::collection::vec(prop_oneof![9 => Just(SHARED), 1 => 0u32..12], 0..2);
    (resource, prop::collection::vec(unit(), 0..6), shared).prop_map(|(resource, units, shared)| Pool {
        resource,
        units,
        shared_nodes: shared.into_iter().map(NodeHandle).collect(),
        properties: vec![],
    })
}

fn edits() -> impl Strategy<Value = Edits> {
    let key = prop_oneof![
        8 => Just("GPUS_FAKE_COM_GPU".to_owned()),
        1 => Just("LD_PRELOAD".to_owned()),
        1 => "[A-Z]{0,4}"
    ];
    let value = prop_oneof![
        6 => "[a-c]",
        1 => Just("a,b".to_owned()),
        1 => Just("all".to_owned()),
        1 => "\\PC{0,8}"
    ];
    let env = prop::collection::vec((key, value), 0..2);
    let rare = prop_oneof![
        9 => Just(vec![]),
        1 => prop::collection::vec("[a-z.]{1,4}/[a-z]{1,3}=all", 1)
    ];
    (env, rare, any::<u8>()).prop_map(|(env, cdi, odd)| Edits {
        env: env.iter().map(|(name, value)| property(name, value)).collect(),
        mounts: if odd == 0 { vec![MountHandle(0)] } else { vec![] },
        annotations: if odd == 1 { vec![property("a", "b")] } else { vec![] },
        cdi,
        properties: if odd == 2 { vec![property("a", "b")] } else { vec![] },
    })
}

#[test]
fn a_reply_holds_only_what_is_granted_and_only_of_its_ids() {
    let given = Given::default();
    let asked = (prop::collection::vec(pool(), 0..4), prop::collection::vec(edits(), 1..4));
    let mut runner = TestRunner::new(ProptestConfig::with_cases(1_024));
    let held = runner.run(&asked, |(pools, edits)| given.is_right(pools, &edits));
    held.unwrap_or_else(|wrong| panic!("{wrong}"));
    // That nothing is wrong in no reply says nothing.
    let (nodes, beside) = (given.nodes.get(), given.beside.get());
    assert!(nodes > 100 && beside > 100, "{nodes} nodes, {beside} replies for one of several");
}

/// How much of what can go wrong there was.
#[derive(Default)]
struct Given {
    /// Exclusive nodes in replies.
    nodes: Cell<usize>,
    /// Replies for one of several units of a resource.
    beside: Cell<usize>,
}

impl Given {
    fn is_right(&self, pools: Vec<Pool>, edits: &[Edits]) -> Result<(), TestCaseError> {
        // The call holds 4 of its granted devices and all nodes that it can get: handles 0 to 11 are real and not.
        let mut host = call_host();
        for device in [host.devices("pci").unwrap(), host.devices("misc").unwrap()].concat() {
            let _ = host.nodes(device);
        }
        let _ = host.node_at("/dev/fuse");
        let as_listed: HashMap<String, BTreeSet<String>> = pools
            .iter()
            .flat_map(|pool| &pool.units)
            .map(|unit| {
                let paths = unit.nodes.iter().filter_map(|n| host.held_node(*n)).map(|n| n.node.path.clone());
                (unit.id.clone(), paths.collect())
            })
            .fold(HashMap::new(), |mut all, (id, paths): (String, BTreeSet<String>)| {
                all.entry(id).or_default().extend(paths);
                all
            });
        let (inventory, _) = Inventory::gate(&host, pools);
        let ledger = Ledger::new(["gpus".to_owned()]);
        ledger.report(PluginIndex(0), inventory.footprints(host.policy(), &crate::Allocations::forgetful()));
        let lost = ledger.lost(PluginIndex(0));
        let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (resource, pool) in &inventory.pools {
            let units: Vec<&Arc<UnitRecord>> = pool.units.iter().filter(|unit| !lost.contains_key(&unit.id)).collect();
            for unit in &units {
                for edits in edits {
                    let Ok(asked) = Asked::of(edits.clone(), &host) else {
                        continue;
                    };
                    let Ok(reply) = reply::build(host.policy(), resource, pool, &[Arc::clone(unit)], &asked) else {
                        continue;
                    };
                    if units.len() > 1 {
                        self.beside.set(self.beside.get() + 1);
                    }
                    for node in &reply.nodes {
                        let granted = GRANTED.iter().find(|(path, ..)| *path == node.host_path);
                        prop_assert!(granted.is_some(), "{} is not granted", node.host_path);
                        let (_, access, shared) = granted.unwrap();
                        prop_assert_eq!(&node.access.to_string(), access);
                        prop_assert_eq!(&node.container_path, &node.host_path);
                        let own = as_listed.get(unit.id.as_str()).is_some_and(|nodes| nodes.contains(&node.host_path));
                        prop_assert!(own || *shared, "{} was not listed for {}", node.host_path, unit.id);
                        if !shared {
                            self.nodes.set(self.nodes.get() + 1);
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
        Ok(())
    }
}
