//! Pods that look up by a name what they have: what they were told is kept here, and is another when the hardware has moved.

use super::allocations::{renumbered, start_with};
use super::consumers::ask;
use super::held_units::{FIRST, GPU, SECOND, Script, give, policy, until};
use super::*;
use crate::allocations::{Allocations, Consumer};
use crate::devices::{Devices, Granted};
use devgate_types::{Edits, Property, UnitId};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

async fn get(devices: &Arc<dyn Devices>, ids: &[&str]) -> Granted {
    let got = devices.allocate(&Consumer::Pods, &[ask(ids)], None).await;
    got.unwrap().pop().unwrap()
}

/// A host of this node; of before it knows what is in the directory.
async fn host(dir: &Path, policy: &str, node: &str, fake: Fake) -> (World, Arc<dyn Offer>, Arc<dyn Devices>) {
    let allocations = Allocations::of_new_node(dir).unwrap();
    let world = start_with(policy, node, &allocations, [("fake.wasm", fake)]);
    let gpus = world.offer(GPU).await;
    wait(&gpus, |list| list.devices.len() == 2).await;
    let devices = world.plugins.devices();
    (world, gpus, devices)
}

fn env(granted: &Granted) -> &str {
    &granted.reply.env["GPUS_FAKE_COM_GPU"]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_have_any_number_by_name_and_what_they_have_by_paths_is_not_among_them() {
    let dir = tempfile::tempdir().unwrap();
    let (world, gpus, devices) = host(dir.path(), POLICY, NODE, Fake::gpus()).await;
    let first = get(&devices, &[FIRST]).await;
    assert_eq!(env(&first), FIRST);
    assert_eq!(get(&devices, &[FIRST]).await, first, "it is the same allocation");
    let both = get(&devices, &[SECOND, FIRST]).await;
    assert!(both.id > first.id);
    // A host that tells paths meanwhile: it is another allocation, of which it cannot be said what it is today.
    give(&gpus, &[FIRST]).await.unwrap();
    assert_eq!(devices.held(&Consumer::Pods), [first.clone(), both.clone()]);
    drop((world, gpus, devices));
    let (_world, gpus, devices) = host(dir.path(), POLICY, NODE, Fake::gpus()).await;
    assert_eq!(devices.held(&Consumer::Pods), [first.clone(), both.clone()]);
    let restored = devices.restore(&Consumer::Pods, both.id).await.unwrap();
    assert_eq!(restored, Ok(both.clone()));
    give(&gpus, &[SECOND]).await.unwrap();
    assert_eq!(devices.held(&Consumer::Pods), [first, both]);
}

/// The component says something else the second time: that is what the next container gets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_told_the_next_time_takes_the_place_of_what_was_told() {
    let dir = tempfile::tempdir().unwrap();
    let told = Arc::new(AtomicU64::new(0));
    let mut fake = Fake::gpus();
    let counter = Arc::clone(&told);
    fake.allocate = Box::new(move |_, _| {
        let n = counter.fetch_add(1, Relaxed);
        let env = Property { name: "N_FAKE_COM_GPU".into(), value: n.to_string() };
        Ok(Edits { env: vec![env], ..Edits::default() })
    });
    let policy = POLICY.replace("{ids}\"\n", "{ids}\"\n        \"N_{RESOURCE}\": any\n");
    let (world, gpus, devices) = host(dir.path(), &policy, NODE, fake).await;
    let first = get(&devices, &[FIRST]).await;
    let second = get(&devices, &[FIRST]).await;
    assert_eq!((first.id, &*second.reply.env["N_FAKE_COM_GPU"]), (second.id, "1"));
    drop((world, gpus, devices));
    let (_world, _gpus, devices) = host(dir.path(), &policy, NODE, Fake::gpus()).await;
    assert_eq!(devices.held(&Consumer::Pods), [second]);
}

/// Where a component makes devices ready, what is told is known after the note that they are given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_made_ready_is_told_by_name_as_well() {
    let (dir, script) = (tempfile::tempdir().unwrap(), Script::default());
    let (world, gpus, devices) = host(dir.path(), &policy(), NODE, script.gpus()).await;
    let first = get(&devices, &[FIRST]).await;
    assert_eq!(env(&first), FIRST);
    assert_eq!(get(&devices, &[FIRST]).await, first);
    drop((world, gpus, devices));
    let (_world, _gpus, devices) = host(dir.path(), &policy(), NODE, script.gpus()).await;
    assert_eq!(devices.held(&Consumer::Pods), [first]);
}

/// The same device behind another node: who keeps paths must not open it, who looks it up gets what it is today.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_whose_node_has_moved_is_what_it_was_to_who_looks_it_up() {
    let dir = tempfile::tempdir().unwrap();
    let (world, gpus, devices) = host(dir.path(), POLICY, NODE, Fake::gpus()).await;
    let first = get(&devices, &[FIRST]).await;
    drop((world, gpus, devices));
    let (_world, gpus, devices) = host(dir.path(), POLICY, &renumbered(), Fake::gpus()).await;
    // Until it is known where the one is, the other is not given: they have changed places.
    insta::assert_snapshot!(wait(&gpus, |list| list.devices.len() == 2).await, @"
    0000:00:01.0 {1}
    0000:00:02.0 {} its node /dev/dri/card0 was handed out as 0000:00:01.0 of fake.com/gpu, which a pod may still have; see docs/operate.md
    ");
    assert_eq!(devices.held(&Consumer::Pods), std::slice::from_ref(&first), "as it was told");
    let now = devices.restore(&Consumer::Pods, first.id).await.unwrap().unwrap();
    let path = &first.reply.nodes[0].host_path;
    assert!(&now.reply.nodes[0].host_path != path && now.reply.nodes.len() == first.reply.nodes.len());
    assert_eq!(now.reply.env, first.reply.env);
    let again = get(&devices, &[FIRST]).await;
    assert_eq!((again.id, &again.reply), (first.id, &now.reply));
    wait(&gpus, all_healthy).await;
    get(&devices, &[SECOND]).await;
}

/// Of some who share a device one keeps its paths.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_has_moved_is_unhealthy_where_anybody_keeps_its_paths() {
    let dir = tempfile::tempdir().unwrap();
    let (world, gpus, devices) = host(dir.path(), POLICY, NODE, Fake::gpus()).await;
    get(&devices, &[FIRST]).await;
    give(&gpus, &[FIRST]).await.unwrap();
    drop((world, gpus, devices));
    let (_world, gpus, devices) = host(dir.path(), POLICY, &renumbered(), Fake::gpus()).await;
    insta::assert_snapshot!(wait(&gpus, |list| list.devices.len() == 2).await, @"
    0000:00:01.0 {1} node /dev/dri/card0, which was handed out with it, is not its own any more
    0000:00:02.0 {} its node /dev/dri/card0 was handed out as 0000:00:01.0 of fake.com/gpu, which a pod may still have; see docs/operate.md
    ");
    let held = devices.held(&Consumer::Pods).remove(0);
    let gone = devices.restore(&Consumer::Pods, held.id).await.unwrap().unwrap_err();
    assert!(gone.to_string().ends_with("is made of something else than when it was given"), "{gone}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_pods_left_is_theirs_by_name_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (world, gpus) = super::held_units::ready(POLICY, Fake::gpus(), &allocations, crate::HoldersFeed::none()).await;
    let devices = world.plugins.devices();
    let (first, both) = (get(&devices, &[FIRST]).await, get(&devices, &[FIRST, SECOND]).await);
    let resource = gpus.resource().clone();
    let left = UnitId::try_new(SECOND).unwrap();
    allocations.forget(&resource, &[left]);
    until("the container with both is over", || devices.held(&Consumer::Pods) == [first.clone()]).await;
    assert_eq!(devices.restore(&Consumer::Pods, both.id).await, None);
}
