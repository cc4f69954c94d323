//! Health over restarts of the host and of the node.

use super::{World, all_healthy, wait};
use crate::Allocations;
use crate::plugins::Plugins;
use crate::testing::*;
use devgate_fake_node::{Change, RecordedNode};
use devgate_types::Verdict;
use std::path::Path;
use std::time::Duration;

const GPUS: &str = "fake.com/gpu";

/// A host that finds all units so, started with what is kept in a directory.
fn host(node: &RecordedNode, state: &Path, policy: &str, verdict: &Verdict) -> World {
    let mut fake = Fake::gpus();
    let verdict = verdict.clone();
    fake.health = Box::new(move |_, units| Ok(vec![verdict.clone(); units.len()]));
    let loader = FakeLoader::with([("fake.wasm", fake)]);
    let plugins = Plugins::start(&parse(policy), around(node, loader, &Allocations::of_new_node(state).unwrap()));
    World { node: node.clone(), plugins }
}

async fn saved(state: &Path, wanted: bool) {
    let file = state.join("unhealthy.json");
    let has = || std::fs::read_to_string(&file).is_ok_and(|text| text.contains("too hot"));
    let saved = async {
        while has() != wanted {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(super::TIMEOUT, saved).await.expect("saved in time");
}

fn boot(node: &RecordedNode, digit: char) {
    let id = "00000000-0000-4000-8000-00000000000".to_owned();
    node.apply(Change::SetFile {
        path: "/proc/sys/kernel/random/boot_id".into(),
        value: format!("{id}{digit}\n").into_bytes(),
    })
    .unwrap();
}

fn hot() -> Verdict {
    Verdict::Unhealthy("too hot".into())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_does_not_heal_what_nobody_finds_healthy() {
    let (node, state) = (node(), tempfile::tempdir().unwrap());
    let first = host(&node, state.path(), POLICY, &hot());
    wait(&first.offer(GPUS).await, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    saved(state.path(), true).await;
    drop(first);
    let second = host(&node, state.path(), POLICY, &Verdict::Unknown("asleep".into()));
    let list = wait(&second.offer(GPUS).await, |list| !list.devices.is_empty()).await;
    insta::assert_snapshot!(list, @r"
    0000:00:01.0 {1} too hot
    0000:00:02.0 {} too hot
    ");
    let status = second.plugins.status_reader().status();
    let device = &status[0].resources[0].devices[0];
    assert!(device.since.is_some());
    drop(second);
    let third = host(&node, state.path(), POLICY, &Verdict::Healthy);
    wait(&third.offer(GPUS).await, all_healthy).await;
    saved(state.path(), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_found_healthy_after_a_restart_must_stay_so_as_long_as_before() {
    let (node, state) = (node(), tempfile::tempdir().unwrap());
    let patient = POLICY.replace("health: {", "health: {healthy-after: 1h, ");
    drop(unhealthy(&node, state.path()).await);
    let second = host(&node, state.path(), &patient, &Verdict::Healthy);
    let list = wait(&second.offer(GPUS).await, |list| !list.devices.is_empty()).await;
    assert_eq!(list.matches("too hot").count(), 2, "{list}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_boot_is_evidence_only_where_the_policy_says_so() {
    let (node, state) = (node(), tempfile::tempdir().unwrap());
    boot(&node, '1');
    drop(unhealthy(&node, state.path()).await);
    boot(&node, '2');
    let patient = POLICY.replace("health: {", "health: {healthy-after: 1h, ");
    let keeps = host(&node, state.path(), &patient, &Verdict::Healthy);
    let list = wait(&keeps.offer(GPUS).await, |list| !list.devices.is_empty()).await;
    assert_eq!(list.matches("too hot").count(), 2, "{list}");
    drop(keeps);
    let forgives = patient.replace("health: {", "health: {new-boot: forgives, ");
    wait(&host(&node, state.path(), &forgives, &Verdict::Healthy).offer(GPUS).await, all_healthy).await;
}

/// A unit that goes and comes is as ill as it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unit_that_blinks_is_not_healed_by_it() {
    let (node, state) = (node(), tempfile::tempdir().unwrap());
    let patient = POLICY.replace("health: {", "health: {healthy-after: 1h, ");
    drop(unhealthy(&node, state.path()).await);
    let world = host(&node, state.path(), &patient, &Verdict::Healthy);
    let gpus = world.offer(GPUS).await;
    wait(&gpus, |list| list.devices.len() == 2).await;
    node.apply(Change::RemoveDevice("pci0000:00/0000:00:02.0".into())).unwrap();
    wait(&gpus, |list| list.devices.len() == 1).await;
    let text = NODE.split("\n\n").filter(|text| text.contains("0000:00:02.0")).collect::<Vec<_>>().join("\n\n");
    node.apply(Change::AddDevices(text)).unwrap();
    let list = wait(&gpus, |list| list.devices.len() == 2).await;
    assert_eq!(list.matches("too hot").count(), 2, "{list}");
}

async fn unhealthy(node: &RecordedNode, state: &Path) -> World {
    let world = host(node, state, POLICY, &hot());
    wait(&world.offer(GPUS).await, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    saved(state, true).await;
    world
}
