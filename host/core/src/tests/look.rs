//! A running plugin that is asked to look.

use super::*;
use crate::Outcome;
use crate::loader::LoadFailure;
use devgate_fake_node::Change;
use devgate_types::{CallError, HostFault, PluginName};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

const GPU: &str = "fake.com/gpu";

/// A policy under which no plugin looks by itself.
fn patient() -> String {
    POLICY.replace("check-every: 100ms, enumerate-every: 100ms", "check-every: 1h, enumerate-every: 1h")
}

async fn look(world: &World, plugin: &str) -> Option<crate::Surveyed> {
    let name = PluginName::try_new(plugin).unwrap();
    let looked = tokio::time::timeout(TIMEOUT, world.plugins.look(&name));
    looked.await.expect("answered in time")
}

fn ids(found: &crate::Surveyed) -> Vec<&str> {
    found.units.iter().map(|unit| unit.record.id.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_tells_what_it_offers_from_then_on() {
    static FAILS: AtomicBool = AtomicBool::new(false);
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| match FAILS.load(Ordering::SeqCst) {
        true => Err(CallError::Host(HostFault("as it was told".into()))),
        false => gpu_pool(host),
    });
    let world = start(&patient(), [("fake.wasm", fake)]);
    let found = look(&world, "gpus").await.unwrap();
    assert_eq!(
        (ids(&found).as_slice(), &found.outcome),
        (["0000:00:01.0", "0000:00:02.0"].as_slice(), &Outcome::Answered)
    );
    assert!(all_healthy(&world.offer(GPU).await.devices().borrow()), "it is offered already");

    let first = "pci0000:00/0000:00:01.0".to_owned();
    world.node.apply(Change::RemoveDevice(first)).unwrap();
    assert_eq!(ids(&look(&world, "gpus").await.unwrap()), ["0000:00:02.0"]);

    FAILS.store(true, Ordering::SeqCst);
    let found = look(&world, "gpus").await.unwrap();
    assert_eq!(ids(&found), ["0000:00:02.0"], "what was known last still stands");
    assert_eq!(found.outcome, Outcome::Failed("plugin gpus: enumerate host fault: as it was told".into()));
    FAILS.store(false, Ordering::SeqCst);
    let found = look(&world, "gpus").await.unwrap();
    assert_eq!(found.outcome, Outcome::Answered, "whatever the pause after a failure");
    assert!(look(&world, "other").await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_says_why_it_offers_nothing() {
    let world = start(&patient().replace("fake.wasm", "missing.wasm"), []);
    let found = look(&world, "gpus").await.unwrap();
    let why = LoadFailure::Host("plugin gpus: missing.wasm: no such file".into());
    assert_eq!(found.outcome, Outcome::NotLoaded(why));
    let idle = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  gpus:\n    component: {file: fake.wasm}\n    \
                resources: [fake.com/gpu]\n    hardware:\n      - {subsystem: infiniband}\n";
    let world = start(idle, [("fake.wasm", Fake::gpus())]);
    assert_eq!(look(&world, "gpus").await.unwrap().outcome, Outcome::Idle);
}

/// Two parts of one device, with a node each, of which one cannot be described for a while; then the device as a whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_that_cannot_be_described_stays_beside_the_others_and_not_beside_the_whole() {
    static PARTS: AtomicU8 = AtomicU8::new(2);
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        let Some(gpu) = pools[0].units.first().cloned() else {
            return Ok(pools);
        };
        let part = |id: &str, nodes: &[devgate_types::NodeHandle]| devgate_types::Unit {
            id: id.into(),
            nodes: nodes.to_vec(),
            ..gpu.clone()
        };
        let parts = [part("a", &gpu.nodes[..1]), part("b", &gpu.nodes[1..])];
        pools[0].units = match PARTS.load(Ordering::SeqCst) {
            0 => vec![part("whole", &gpu.nodes)],
            listed => parts.into_iter().rev().take(listed.into()).collect(),
        };
        pools[0].properties.push(property("devgate.unread", "0000:00:01.0"));
        Ok(pools)
    });
    let policy = patient()
        .replace(", name: \"card*\"}", "}")
        .replace("    health:", "    partitions: {own: \"/dev/dri/*\"}\n    health:");
    let world = start(&policy, [("fake.wasm", fake)]);
    let found = look(&world, "gpus").await.unwrap();
    assert_eq!((ids(&found).as_slice(), found.rejected.len()), (["a", "b"].as_slice(), 0));
    assert!(found.units.iter().all(|unit| unit.causes.is_empty()), "{found:?}");
    PARTS.store(1, Ordering::SeqCst);
    assert_eq!(ids(&look(&world, "gpus").await.unwrap()), ["a", "b"]);
    PARTS.store(0, Ordering::SeqCst);
    assert_eq!(ids(&look(&world, "gpus").await.unwrap()), ["whole"]);
}
