//! Devices whose calls keep failing.

use super::{World, all_healthy, start, strings, wait};
use crate::allocations::Allocations;
use crate::offer::Offer;
use crate::plugins::Plugins;
use crate::testing::*;
use devgate_types::component::Profile;
use devgate_types::{CallError, Edits, Failure, FailureKind, GuestFault, GuestText};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const FIRST: &str = "0000:00:01.0";
const SECOND: &str = "0000:00:02.0";
const THIRD: &str = "0000:00:03.0";
const FOURTH: &str = "0000:00:04.0";

fn trap<T>() -> Result<T, CallError> {
    Err(GuestFault::Trap(GuestText::new("unreachable")).into())
}

async fn give(offer: &Arc<dyn Offer>, id: &str) -> Result<(), String> {
    let given = offer.allocate(&strings(&[id])).await;
    given.map(drop).map_err(|error| error.to_string())
}

/// GPUs of which those that `breaks` says trap when they are allocated.
async fn gpus(breaks: impl Fn(&str) -> bool + Send + Sync + 'static) -> (World, Arc<dyn Offer>) {
    let mut fake = Fake::gpus();
    let gives = fake.allocate;
    fake.allocate = Box::new(move |host, units| match units.iter().any(|unit| breaks(&unit.id)) {
        true => trap(),
        false => gives(host, units),
    });
    let world = start(POLICY, [("fake.wasm", fake)]);
    let offer = world.offer("fake.com/gpu").await;
    wait(&offer, all_healthy).await;
    (world, offer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_whose_allocations_keep_breaking_rests_alone_and_comes_back_when_one_succeeds() {
    static BROKEN: AtomicBool = AtomicBool::new(true);
    let (world, gpus) = gpus(|id| id == FIRST && BROKEN.load(Ordering::SeqCst)).await;
    for _ in 0..3 {
        assert!(give(&gpus, FIRST).await.unwrap_err().contains("trapped"));
    }
    let list = wait(&gpus, |list| !all_healthy(list)).await;
    insta::assert_snapshot!(list, @r"
    0000:00:01.0 {1} plugin gpus: allocate trapped: unreachable; calls keep failing, so it is given again after 2s, to be tried
    0000:00:02.0 {}
    ");
    assert!(give(&gpus, FIRST).await.unwrap_err().contains("is unhealthy: plugin gpus: allocate trapped"));
    assert_eq!(world.plugins.status_reader().status()[0].resting, 1);
    give(&gpus, SECOND).await.unwrap();
    // It is tried again, and once is enough now.
    wait(&gpus, all_healthy).await;
    give(&gpus, FIRST).await.unwrap_err();
    let list = wait(&gpus, |list| !all_healthy(list)).await;
    assert!(list.contains("given again after 4s"), "{list}");
    BROKEN.store(false, Ordering::SeqCst);
    wait(&gpus, all_healthy).await;
    give(&gpus, FIRST).await.unwrap();
    assert_eq!(world.plugins.status_reader().status()[0].resting, 0);
    // What it did before is forgotten: once is not enough any more.
    BROKEN.store(true, Ordering::SeqCst);
    give(&gpus, FIRST).await.unwrap_err();
    assert_eq!(world.plugins.status_reader().status()[0].resting, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_breaks_whatever_is_allocated_rests_as_a_whole() {
    let (_world, gpus) = gpus(|_| true).await;
    for id in [FIRST, SECOND, FIRST] {
        give(&gpus, id).await.unwrap_err();
    }
    wait(&gpus, |list| list.devices.iter().all(|device| device.unhealthy.is_some())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_breaks_in_prepare_rests_as_well() {
    let mut fake = Fake::gpus();
    fake.profile = Profile { lifecycle: true, ..Profile::default() };
    fake.prepare = Box::new(|_, _| trap());
    fake.release = Box::new(|_, _| Ok(()));
    // A third GPU that is offered, and a fourth that is never asked for.
    let fourth = NODE.replace("0000:00:01.0", "0000:00:04.0").replace("/drm/", "/none/");
    let fourth = fourth.split("\n\n").next().unwrap();
    let node = format!("{NODE}\n{fourth}\n").replace("0x9999", "0x1234");
    let node = devgate_fake_node::RecordedNode::parse("test", &node).unwrap();
    let loader = FakeLoader::with([("fake.wasm", fake)]);
    let plugins = Plugins::start(&parse(POLICY), around(&node, loader, &Allocations::forgetful()));
    let world = World { node, plugins };
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    for id in [FIRST, SECOND, THIRD] {
        assert!(give(&gpus, id).await.unwrap_err().contains("prepare trapped"));
    }
    let list = wait(&gpus, |list| list.devices.iter().all(|device| device.unhealthy.is_some())).await;
    let last = list.lines().last().unwrap_or_default();
    assert!(last.starts_with(FOURTH) && last.contains("prepare trapped: unreachable; calls keep failing"), "{list}");
}

/// Its answers come in time, and no pod ever starts with one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_whose_answers_are_refused_rests_as_well() {
    let mut fake = Fake::gpus();
    fake.allocate = Box::new(|_, _| Ok(Edits { env: vec![property("LD_PRELOAD", "/x.so")], ..Edits::default() }));
    let world = start(POLICY, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    for _ in 0..3 {
        assert!(give(&gpus, FIRST).await.unwrap_err().contains("LD_PRELOAD"));
    }
    let list = wait(&gpus, |list| !all_healthy(list)).await;
    assert!(list.contains("LD_PRELOAD") && list.contains("; calls keep failing"), "{list}");
    assert_eq!(world.plugins.status_reader().status()[0].resting, 1);
}

/// What a component answers is its own word, however often.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_says_no_is_only_believed() {
    let mut fake = Fake::gpus();
    fake.allocate = Box::new(|_, _| Err(CallError::Failed(Failure::new(FailureKind::Denied, "no licence"))));
    let world = start(POLICY, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    for _ in 0..10 {
        assert!(give(&gpus, FIRST).await.unwrap_err().contains("no licence"));
    }
    assert_eq!(world.plugins.status_reader().status()[0].resting, 0);
}
