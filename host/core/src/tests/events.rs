//! Hardware that comes and goes is seen when it does: no look would come in time here.

use super::{World, all_healthy, start, strings, wait};
use crate::testing::*;
use devgate_fake_node::Change;
use devgate_types::component::{Capabilities, Denied};
use devgate_types::{FailureKind, NodeKind, NodeNumber, Unit, Verdict};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const GPU: &str = "pci0000:00/0000:00:01.0";

/// The policy with looks that are an hour apart.
fn patient(policy: &str) -> String {
    let often = "check-every: 100ms, enumerate-every: 100ms";
    assert!(policy.contains(often));
    policy.replace(often, "check-every: 1h, enumerate-every: 1h")
}

fn unhealthy(list: &Arc<crate::offer::DeviceList>) -> bool {
    list.devices.iter().any(|device| device.unhealthy.is_some())
}

/// While the component does not answer, and without a word from it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_gone_is_unhealthy_before_the_component_is_asked() {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let (asked, checked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut fake = Fake::gpus();
    let count = Arc::clone(&asked);
    fake.enumerate = Box::new(move |host| {
        if count.fetch_add(1, Ordering::SeqCst) > 0 {
            held.lock().unwrap().recv_timeout(Duration::from_secs(20)).unwrap();
        }
        gpu_pool(host)
    });
    let count = Arc::clone(&checked);
    fake.health = Box::new(move |_, units| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(vec![Verdict::Healthy; units.len()])
    });
    let policy = patient(POLICY).replace("    health:", "    limits: {deadline: 60s}\n    health:");
    let world = start(&policy, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let before = checked.load(Ordering::SeqCst);
    world.node.apply(Change::RemoveDevice(GPU.into())).unwrap();
    insta::assert_snapshot!(wait(&gpus, unhealthy).await, @r"
    0000:00:01.0 {1} device 0000:00:01.0 is gone
    0000:00:02.0 {}
    ");
    assert_eq!(checked.load(Ordering::SeqCst), before, "the host's own look is enough");
    release.send(()).unwrap();
    let list = wait(&gpus, |list| list.devices.len() == 1).await;
    assert_eq!(list, "0000:00:02.0 {}", "and what there is now is asked for then");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_goes_and_comes_is_seen_both_times() {
    let world = start(&patient(POLICY), [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap();
    let card = world.node.node_at("/dev/dri/card0").unwrap();
    world.node.apply(Change::RemoveNode(card.path.clone())).unwrap();
    wait(&gpus, unhealthy).await;
    let (path, number) = (card.path, card.number);
    world.node.apply(Change::AddNode { path, number }).unwrap();
    wait(&gpus, all_healthy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_plugin_is_woken_when_its_hardware_comes() {
    let policy = patient(&policy_of(
        "    hardware: [{subsystem: pci, vendor: \"0x4321\", use: offer}]\n    health: {check-every: 100ms, enumerate-every: 100ms}\n",
    ));
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        pools[0].resource = "fake.com/x".into();
        Ok(pools)
    });
    let world = start(&policy, [("fake.wasm", fake)]);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(world.plugins.offers().borrow().is_empty());
    let card = "P: /devices/pci0000:00/0000:00:09.0\nE: SUBSYSTEM=pci\nA: vendor=0x4321\\n\n";
    world.node.apply(Change::AddDevices(card.into())).unwrap();
    let offer = world.offer("fake.com/x").await;
    assert_eq!(wait(&offer, all_healthy).await, "0000:00:09.0 {}");
}

/// Another driver is another word of the kernel, and other units.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_gets_its_driver_is_listed() {
    let policy =
        patient(POLICY).replace("vendor: \"0x1234\", use: offer", "vendor: \"0x1234\", driver: fakegpu, use: offer");
    let world = start(&policy, [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, |list| list.devices.len() == 1).await;
    let bind = Change::SetLink {
        location: "pci0000:00/0000:00:02.0".into(),
        path: "driver".into(),
        target: "../../../bus/pci/drivers/fakegpu".into(),
    };
    world.node.apply(bind).unwrap();
    wait(&gpus, |list| list.devices.len() == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_events_is_a_few_looks_and_the_last_one_is_right() {
    let asked = Arc::new(AtomicUsize::new(0));
    let mut fake = Fake::gpus();
    let count = Arc::clone(&asked);
    fake.enumerate = Box::new(move |host| {
        count.fetch_add(1, Ordering::SeqCst);
        gpu_pool(host)
    });
    let world = start(&patient(POLICY), [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let (before, begun) = (asked.load(Ordering::SeqCst), tokio::time::Instant::now());
    storm(&world, 3_000);
    world.node.apply(Change::RemoveDevice(GPU.into())).unwrap();
    // Either a look finds it gone and the enumeration after it leaves it out, or an enumeration that was under way does.
    wait(&gpus, |list| list.devices.len() == 1).await;
    // What had been asked for is done by then, unless the machine is busy, in which case more time has passed as well.
    tokio::time::sleep(Duration::from_millis(600)).await;
    let (looks, halves) = (asked.load(Ordering::SeqCst) - before, begun.elapsed().as_millis() / 500);
    assert!(looks as u128 <= halves + 2, "{looks} enumerations in {halves} half seconds");
    assert!(looks >= 1);
}

/// Events about the GPUs that change nothing.
fn storm(world: &World, events: usize) {
    for _ in 0..events {
        world.node.apply(Change::Announce(GPU.into())).unwrap();
    }
}

/// A node of no device, which only its path says anything of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_the_policy_lists_is_seen_by_its_path() {
    static SEEN: AtomicBool = AtomicBool::new(false);
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| {
        SEEN.store(host.node_at("/dev/vendor/0").is_ok(), Ordering::SeqCst);
        gpu_pool(host)
    });
    let policy = patient(POLICY).replace("exclusive: [/dev/fuse]", "exclusive: [\"/dev/vendor/*\"]");
    let world = start(&policy, [("fake.wasm", fake)]);
    wait(&world.offer("fake.com/gpu").await, all_healthy).await;
    assert!(!SEEN.load(Ordering::SeqCst));
    let number = NodeNumber { kind: NodeKind::Character, major: 240, minor: 0 };
    let path = "/dev/vendor/0".to_owned();
    world.node.apply(Change::AddNode { path, number }).unwrap();
    for _ in 0..200 {
        if SEEN.load(Ordering::SeqCst) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("not seen");
}

/// What a driver says reaches the component that holds its device, at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_hears_what_the_drivers_of_its_devices_announce() {
    let mut fake = Fake::gpus();
    fake.health = Box::new(|host, units| {
        let now = host.clock_now().unwrap();
        let mut verdict = |unit: &Unit| {
            let cards = host.children(unit.backing[0], "drm").unwrap();
            let mut events = cards.into_iter().flat_map(|card| host.uevents_recent(card).unwrap());
            match events.next() {
                Some(event) if event.millis <= now => Verdict::Unhealthy(event.words[0].value.clone()),
                Some(event) => Verdict::Unknown(format!("{} is after {now}", event.millis)),
                None => Verdict::Healthy,
            }
        };
        Ok(units.iter().map(&mut verdict).collect())
    });
    let world = start(&patient(POLICY), [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let location = format!("{GPU}/drm/card0");
    world.node.apply(Change::AnnounceWords { location, words: "WEDGED=rebind".into() }).unwrap();
    insta::assert_snapshot!(wait(&gpus, unhealthy).await, @r"
    0000:00:01.0 {1} rebind
    0000:00:02.0 {}
    ");
}

#[test]
fn what_is_announced_is_asked_of_a_device_that_is_held_and_there() {
    let node = node();
    let mut host = call_host_on(&node, POLICY);
    let gpu = host.devices("pci").unwrap()[0];
    assert_eq!(host.uevents_recent(gpu), Ok(vec![]));
    node.apply(Change::RemoveDevice(GPU.into())).unwrap();
    let gone = host.uevents_recent(gpu).unwrap_err();
    assert!(matches!(&gone, Denied::Failure(failure) if failure.kind == FailureKind::Gone), "{gone:?}");
    let forged = host.uevents_recent(devgate_types::DeviceHandle(99)).unwrap_err();
    assert!(matches!(forged, Denied::End(_)), "{forged:?}");
}
