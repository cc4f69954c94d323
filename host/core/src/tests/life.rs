//! What happens over time: hardware that comes and goes, components that fail and recover.

use super::{World, all_healthy, show, start, strings, wait};
use crate::allocations::Allocations;
use crate::plugins::Plugins;
use crate::status::{State, When};
use crate::survey;
use crate::testing::*;
use devgate_fake_node::Change;
use devgate_types::{CallError, Edits, Failure, FailureKind, GuestFault, Pool, Verdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_vanishes_is_unhealthy_and_heals_without_a_restart() {
    let world = start(POLICY, [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let card = world.node.node_at("/dev/dri/card0").unwrap();
    // Held by a pod: the record stays as it was handed out, and cannot change under it.
    gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap();
    world.node.apply(Change::RemoveNode(card.path.clone())).unwrap();
    let refused = gpus.allocate(&strings(&["0000:00:01.0"])).await;
    assert!(refused.is_err(), "looked at when it is given, not only once a tick");
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    assert!(list.contains("0000:00:01.0 {1} node /dev/dri/card0"), "{list}");
    world.node.apply(Change::AddNode { path: card.path, number: card.number }).unwrap();
    wait(&gpus, all_healthy).await;
    world.node.apply(Change::RemoveDevice("pci0000:00/0000:00:01.0".into())).unwrap();
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    assert!(
        list.contains("0000:00:01.0 {1} device 0000:00:01.0 is gone"),
        "never silently gone while a pod holds it: {list}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_registered_before_the_first_success_and_the_last_good_list_stands_for_a_while() {
    static BROKEN: AtomicBool = AtomicBool::new(true);
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| match BROKEN.load(Ordering::SeqCst) {
        true => Err(GuestFault::Trap(devgate_types::GuestText::new("unreachable")).into()),
        false => gpu_pool(host),
    });
    let world = start(POLICY, [("fake.wasm", fake)]);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(world.plugins.offers().borrow().is_empty());
    BROKEN.store(false, Ordering::SeqCst);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    BROKEN.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(all_healthy(&gpus.devices().borrow()), "the last good list stands");
    let list = wait(&gpus, |list| list.devices.iter().all(|d| d.unhealthy.is_some())).await;
    assert!(list.contains("plugin gpus: enumerate trapped: unreachable"), "{list}");
    BROKEN.store(false, Ordering::SeqCst);
    wait(&gpus, all_healthy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_cannot_be_loaded_costs_only_itself() {
    let second = POLICY.split("plugins:\n").nth(1).unwrap().replace("gpus:", "other:").replace("fake.com", "other.com");
    let second = second.replace("GPUS_", "OTHER_").replace("fake.wasm", "missing.wasm");
    let world = start(&format!("{}{second}", POLICY), [("fake.wasm", Fake::gpus())]);
    wait(&world.offer("fake.com/gpu").await, all_healthy).await;
    assert_eq!(world.plugins.offers().borrow().len(), 1);
}

/// A component that comes late is not kept waiting until its plugin would be tried again anyway.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_could_not_be_loaded_is_loaded_as_soon_as_it_comes() {
    let loader = Arc::new(FakeLoader::default());
    let (node, given) = (node(), Arc::clone(&loader) as Arc<dyn crate::loader::Loader>);
    let plugins = Plugins::start(&parse(POLICY), around(&node, given, &Allocations::forgetful()));
    let world = World { node, plugins };
    // Until there is a pause that nothing ends by chance.
    let retry = loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let retry = world.plugins.status_reader().status()[0].retry_at;
        let pause = |retry: &When| retry.0.duration_since(When::now().0).unwrap_or_default();
        if let Some(retry) = retry.filter(|retry| pause(retry) > Duration::from_secs(3)) {
            break retry;
        }
    };
    let gpus = Arc::new(Fake::gpus());
    loader.0.lock().unwrap().insert("fake.wasm".into(), gpus);
    wait(&world.offer("fake.com/gpu").await, all_healthy).await;
    assert!(When::now().0 < retry.0, "only when it was tried again anyway");
}

/// A host that takes over offers what it found beside the last one, and asks then; what is gone since is not healthy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_offers_at_once_what_a_trial_found() {
    let node = node();
    let found = survey(&parse(POLICY), &node, FakeLoader::with([("fake.wasm", Fake::gpus())]).as_ref(), None);
    let found = found.into_iter().filter_map(|plugin| Some((plugin.name, plugin.found?))).collect();
    node.apply(Change::RemoveDevice("pci0000:00/0000:00:02.0".into())).unwrap();
    let (ask, asked) = std::sync::mpsc::channel::<()>();
    let asked = std::sync::Mutex::new(asked);
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(move |host| {
        let _until_it_is_seen = asked.lock().unwrap().recv();
        gpu_pool(host)
    });
    let loader = FakeLoader::with([("fake.wasm", fake)]);
    let plugins = Plugins::start_from(&parse(POLICY), around(&node, loader, &Allocations::forgetful()), found);
    let world = World { node, plugins };
    let offer = world.offer("fake.com/gpu").await;
    assert_eq!(show(&offer.devices().borrow()), "0000:00:01.0 {1}\n0000:00:02.0 {} device 0000:00:02.0 is gone");
    assert_ne!(world.plugins.status_reader().status()[0].state, State::Serving, "it has not answered");
    drop(ask);
    wait(&offer, all_healthy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_plugin_wakes_when_its_hardware_appears() {
    let policy =
        POLICY.replace("      - {subsystem: misc, name: kvm, use: offer, nodes: [{access: r, shared: true}]}\n", "");
    let policy = policy.replace("      - {subsystem: misc, name: uinput, use: offer, nodes: [{access: rw}]}\n", "");
    let policy = policy.replace("      - {subsystem: misc}\n", "").replace("0x1234", "0x4321");
    let world = start(&policy, [("fake.wasm", Fake::gpus())]);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(world.plugins.offers().borrow().is_empty());
    let location = "pci0000:00/0000:00:01.0".to_owned();
    world.node.apply(Change::SetAttribute { location, path: "vendor".into(), value: "0x4321\n".into() }).unwrap();
    assert_eq!(wait(&world.offer("fake.com/gpu").await, all_healthy).await, "0000:00:01.0 {1}");
}

/// A shared node that is missing is missing for every device of the pool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_shared_node_makes_all_devices_of_the_pool_unhealthy() {
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        let kvm = host.device_by_name("misc", "kvm").unwrap();
        pools[0].shared_nodes = host.nodes(kvm).unwrap_or_default();
        Ok(pools)
    });
    // Longer than the test: only the host's own look is quick enough.
    let policy = POLICY.replace("enumerate-every: 100ms", "enumerate-every: 1h");
    let world = start(&policy, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    let reply = gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap();
    assert!(reply.nodes.iter().any(|n| n.host_path == "/dev/kvm" && n.access.to_string() == "r"));
    world.node.apply(Change::RemoveNode("/dev/kvm".into())).unwrap();
    let list = wait(&gpus, |list| list.devices.iter().all(|d| d.unhealthy.is_some())).await;
    insta::assert_snapshot!(list, @r"
    0000:00:01.0 {1} shared node /dev/kvm is missing
    0000:00:02.0 {} shared node /dev/kvm is missing
    ");
}

/// What a pod holds stays in its resource, whatever the component lists it under now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_id_cannot_move_to_another_resource() {
    static MOVED: AtomicBool = AtomicBool::new(false);
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        if MOVED.load(Ordering::SeqCst) {
            let units = std::mem::take(&mut pools[0].units);
            pools.push(Pool { resource: "fake.com/other".into(), units, shared_nodes: vec![], properties: vec![] });
        }
        Ok(pools)
    });
    let world = start(POLICY, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap();
    MOVED.store(true, Ordering::SeqCst);
    let other = world.offer("fake.com/other").await;
    assert_eq!(wait(&other, |list| !list.devices.is_empty()).await, "0000:00:02.0 {}");
    insta::assert_snapshot!(wait(&gpus, |list| list.devices.len() == 1).await, @"0000:00:01.0 {1} the component does not list it any more");
}

/// However it failed: a device is free then, and goes as the component says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_allocation_that_failed_took_is_held_no_more() {
    static GONE: AtomicBool = AtomicBool::new(false);
    static HOW: AtomicU8 = AtomicU8::new(0);
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        if GONE.load(Ordering::SeqCst) {
            pools[0].units.truncate(1);
        }
        Ok(pools)
    });
    let gives = fake.allocate;
    fake.allocate = Box::new(move |host, units| match HOW.load(Ordering::SeqCst) {
        0 => Err(CallError::Failed(Failure::new(FailureKind::Other, "it does not come up".to_owned()))),
        1 => Err(GuestFault::Exited(1).into()),
        _ => gives(host, units).map(|edits| Edits { env: vec![property("NOT_GRANTED", "x")], ..edits }),
    });
    let world = start(POLICY, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    for how in 0..3 {
        HOW.store(how, Ordering::SeqCst);
        gpus.allocate(&strings(&["0000:00:01.0", "0000:00:02.0"])).await.unwrap_err();
        let status = world.plugins.status_reader().status();
        assert!(
            status[0].resources.iter().flat_map(|all| &all.devices).all(|device| !device.held),
            "{how}: {status:#?}"
        );
    }
    GONE.store(true, Ordering::SeqCst);
    wait(&gpus, |list| list.devices.len() == 1).await;
}

/// A tree that went away is not a node without hardware: the devices stay in the list, and are unhealthy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_tree_that_went_away_is_a_fault_and_not_an_empty_node() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.umockdev");
    std::fs::write(&file, NODE).unwrap();
    let node = devgate_fake_node::RecordedNode::open(&file).unwrap();
    let loader = FakeLoader::with([("fake.wasm", Fake::gpus())]);
    let plugins = Plugins::start(&parse(POLICY), around(&node, loader, &crate::Allocations::forgetful()));
    let world = World { node, plugins };
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    std::fs::write(&file, "# nothing\n").unwrap();
    world.node.reload(&file).unwrap();
    let list = wait(&gpus, |list| list.devices.iter().all(|d| d.unhealthy.is_some())).await;
    assert!(list.contains("0000:00:02.0 {} device 0000:00:02.0 is gone"), "{list}");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(gpus.devices().borrow().devices.len(), 2);
    std::fs::write(&file, NODE).unwrap();
    world.node.reload(&file).unwrap();
    wait(&gpus, all_healthy).await;
}

/// A component remembers nothing, so that it can only say that it cannot say what a device is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hardware_that_cannot_be_described_now_stays_what_it_was() {
    static STATE: AtomicU8 = AtomicU8::new(0);
    const WHOLE: u8 = 0;
    const UNREAD: u8 = 1;
    const ANOTHER: u8 = 2;
    const LEFT_OUT: u8 = 3;
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        let state = STATE.load(Ordering::SeqCst);
        match state {
            ANOTHER => pools[0].units[0].id = "another".into(),
            UNREAD | LEFT_OUT => drop(pools[0].units.remove(0)),
            _ => {}
        }
        if state != LEFT_OUT {
            pools[0].properties.push(property("devgate.unread", "0000:00:07.0 0000:00:01.0"));
        }
        Ok(pools)
    });
    fake.health = Box::new(|_, units| {
        let verdict = |unit: &devgate_types::Unit| match STATE.load(Ordering::SeqCst) {
            UNREAD if unit.id == "0000:00:01.0" => Verdict::Unhealthy("does not answer".into()),
            _ => Verdict::Healthy,
        };
        Ok(units.iter().map(verdict).collect())
    });
    let world = start(POLICY, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, all_healthy).await;
    STATE.store(UNREAD, Ordering::SeqCst);
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    assert!(list.contains("0000:00:01.0 {1} does not answer"), "{list}");
    STATE.store(WHOLE, Ordering::SeqCst);
    wait(&gpus, all_healthy).await;
    STATE.store(ANOTHER, Ordering::SeqCst);
    let has = |list: &crate::offer::DeviceList, id: &str| list.devices.iter().any(|d| *d.id == *id);
    let list = wait(&gpus, |list| has(list, "another")).await;
    assert!(!list.contains("0000:00:01.0"), "one device is not two: {list}");
    STATE.store(LEFT_OUT, Ordering::SeqCst);
    wait(&gpus, |list| list.devices.len() == 1).await;
}

/// What the component cannot describe is given only as long as the policy offers it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hardware_that_is_not_offered_any_more_is_not_given() {
    let policy = POLICY.replace("vendor: \"0x1234\", use: offer", "vendor: \"0x1234\", driver: fakegpu, use: offer");
    let node = devgate_fake_node::RecordedNode::parse("test", NODE).unwrap();
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        pools[0].properties.push(property("devgate.unread", "0000:00:01.0"));
        Ok(pools)
    });
    let world = super::start_on(&node, &policy, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, |list| list.devices.len() == 1).await;
    let rebound = NODE.replace("DRIVER=fakegpu", "DRIVER=vfio-pci");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.umockdev");
    std::fs::write(&file, rebound).unwrap();
    world.node.reload(&file).unwrap();
    let list = wait(&gpus, |list| list.devices.iter().all(|d| d.unhealthy.is_some())).await;
    insta::assert_snapshot!(list, @"0000:00:01.0 {1} device 0000:00:01.0 is not offered by the policy any more");
    assert!(gpus.allocate(&strings(&["0000:00:01.0"])).await.is_err());
}
