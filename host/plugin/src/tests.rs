//! The plugin layer as a whole, over a recorded node and components that are closures.

use crate::component::Capabilities;
use crate::inventory::Inventory;
use crate::offer::{AllocateError, DeviceList, Offer};
use crate::plugins::Plugins;
use crate::testing::*;
use devgate_model::{CallError, Failure, FailureKind, GuestFault, Pool, Unit, Verdict};
use devgate_node::Change;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

struct World {
    node: devgate_node::Node,
    plugins: Plugins,
}

fn start(policy: &str, fakes: impl IntoIterator<Item = (&'static str, Fake)>) -> World {
    let node = node();
    let plugins = Plugins::start(&parse(policy), &node, &FakeLoader::with(fakes), &inline());
    World { node, plugins }
}

impl World {
    async fn offer(&self, resource: &str) -> Arc<dyn Offer> {
        let mut offers = self.plugins.offers();
        let found = tokio::time::timeout(
            PATIENCE,
            offers.wait_for(|all| all.iter().any(|o| o.resource().as_str() == resource)),
        );
        let all = found.await.expect("offered in time").unwrap().clone();
        all.iter().find(|o| o.resource().as_str() == resource).unwrap().clone()
    }
}

async fn wait(offer: &Arc<dyn Offer>, what: impl FnMut(&Arc<DeviceList>) -> bool) -> String {
    let mut devices = offer.devices();
    let found = tokio::time::timeout(PATIENCE, devices.wait_for(what)).await;
    show(&found.expect("seen in time").unwrap())
}

fn show(list: &DeviceList) -> String {
    let one = |d: &crate::offer::Device| match &d.unhealthy {
        None => format!("{} {:?}", d.id, d.numa_nodes),
        Some(reason) => format!("{} {:?} {reason}", d.id, d.numa_nodes),
    };
    list.devices.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn all_healthy(list: &Arc<DeviceList>) -> bool {
    !list.devices.is_empty() && list.devices.iter().all(|d| d.unhealthy.is_none())
}

fn strings(ids: &[&str]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn devices_are_offered_with_their_numa_node_and_given_with_their_nodes() {
    let world = start(POLICY, [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    insta::assert_snapshot!(wait(&gpus, all_healthy).await, @r"
    0000:00:01.0 {1}
    0000:00:02.0 {}
    ");
    let reply = gpus
        .allocate(&strings(&["0000:00:02.0", "0000:00:01.0", "0000:00:02.0"]))
        .await
        .unwrap();
    let nodes: Vec<_> = reply
        .nodes
        .iter()
        .map(|n| format!("{} {}", n.host_path, n.access))
        .collect();
    assert_eq!(nodes, ["/dev/dri/card0 rw", "/dev/dri/card1 rw"]);
    assert_eq!(reply.env.get("GPUS_FAKE_COM_GPU").unwrap(), "0000:00:01.0,0000:00:02.0");
    let again = gpus
        .allocate(&strings(&["0000:00:01.0", "0000:00:02.0"]))
        .await
        .unwrap();
    assert_eq!(reply, again, "the same set in another order, given again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_and_unhealthy_ids_are_named_and_nothing_is_given() {
    let mut fake = Fake::gpus();
    fake.health = Box::new(|_, units| {
        let verdict = |unit: &Unit| match unit.id.as_str() {
            "0000:00:01.0" => Verdict::Unhealthy("too hot".into()),
            _ => Verdict::Healthy,
        };
        Ok(units.iter().map(verdict).collect())
    });
    let world = start(POLICY, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, |list| list.devices.len() == 2).await;
    let error = |ids: &'static [&str]| {
        let gpus = gpus.clone();
        async move { gpus.allocate(&strings(ids)).await.unwrap_err() }
    };
    assert_eq!(
        error(&["0000:00:02.0", "nope"]).await,
        AllocateError::Unknown("plugin gpus: resource fake.com/gpu: there is no device nope".into())
    );
    assert_eq!(
        error(&["0000:00:02.0::0"]).await,
        AllocateError::Unknown("plugin gpus: resource fake.com/gpu: there is no device 0000:00:02.0::0".into())
    );
    assert_eq!(
        error(&["0000:00:02.0", "0000:00:01.0"]).await,
        AllocateError::Refused("plugin gpus: resource fake.com/gpu: device 0000:00:01.0 is unhealthy: too hot".into())
    );
    assert!(gpus.allocate(&[]).await.unwrap().nodes.is_empty());
}

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
    world
        .node
        .apply(Change::AddNode {
            path: card.path,
            number: card.number,
        })
        .unwrap();
    wait(&gpus, all_healthy).await;
    world
        .node
        .apply(Change::RemoveDevice("pci0000:00/0000:00:01.0".into()))
        .unwrap();
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    assert!(
        list.contains("0000:00:01.0 {1} device 0000:00:01.0 is gone"),
        "never silently gone while a pod holds it: {list}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_one_unit() {
    let policy = POLICY.replace("    health:", "    replicas: 2\n    health:");
    let world = start(&policy, [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    insta::assert_snapshot!(wait(&gpus, all_healthy).await, @r"
    0000:00:01.0::0 {1}
    0000:00:01.0::1 {1}
    0000:00:02.0::0 {}
    0000:00:02.0::1 {}
    ");
    let one = gpus.allocate(&strings(&["0000:00:01.0::1"])).await.unwrap();
    assert_eq!(one.env.get("GPUS_FAKE_COM_GPU").unwrap(), "0000:00:01.0");
    for bad in [
        "0000:00:01.0",
        "0000:00:01.0::2",
        "0000:00:01.0::01",
        "0000:00:01.0::-1",
    ] {
        assert!(
            matches!(gpus.allocate(&strings(&[bad])).await, Err(AllocateError::Unknown(_))),
            "{bad}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_registered_before_the_first_success_and_the_last_good_list_stands_for_a_while() {
    static BROKEN: AtomicBool = AtomicBool::new(true);
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|host| match BROKEN.load(Ordering::SeqCst) {
        true => Err(GuestFault::Trap(devgate_model::GuestText::new("unreachable")).into()),
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
    let second = POLICY
        .split("plugins:\n")
        .nth(1)
        .unwrap()
        .replace("gpus:", "other:")
        .replace("fake.com", "other.com");
    let second = second.replace("GPUS_", "OTHER_").replace("fake.wasm", "missing.wasm");
    let world = start(&format!("{}{second}", POLICY), [("fake.wasm", Fake::gpus())]);
    wait(&world.offer("fake.com/gpu").await, all_healthy).await;
    assert_eq!(world.plugins.offers().borrow().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_later_plugin_loses_a_device_that_both_offer() {
    let second = POLICY
        .split("plugins:\n")
        .nth(1)
        .unwrap()
        .replace("gpus:", "other:")
        .replace("fake.com", "other.com");
    let second = second.replace("GPUS_", "OTHER_").replace("fake.wasm", "other.wasm");
    let mut other = Fake::gpus();
    other.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        for pool in &mut pools {
            pool.resource = "other.com/gpu".into();
            for unit in &mut pool.units {
                unit.id = format!("other-{}", unit.id);
            }
        }
        Ok(pools)
    });
    let world = start(
        &format!("{POLICY}{second}"),
        [("fake.wasm", Fake::gpus()), ("other.wasm", other)],
    );
    wait(&world.offer("fake.com/gpu").await, all_healthy).await;
    let list = wait(&world.offer("other.com/gpu").await, |list| list.devices.len() == 2).await;
    insta::assert_snapshot!(list, @r"
    other-0000:00:01.0 {1} node c 226:0 is already given to 0000:00:01.0 of plugin gpus
    other-0000:00:02.0 {} node c 226:1 is already given to 0000:00:02.0 of plugin gpus
    ");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_plugin_wakes_when_its_hardware_appears() {
    let policy = POLICY.replace(
        "      - {subsystem: misc, name: kvm, use: offer, nodes: [{access: r, shared: true}]}\n",
        "",
    );
    let policy = policy.replace(
        "      - {subsystem: misc, name: uinput, use: offer, nodes: [{access: rw}]}\n",
        "",
    );
    let policy = policy
        .replace("      - {subsystem: misc}\n", "")
        .replace("0x1234", "0x4321");
    let world = start(&policy, [("fake.wasm", Fake::gpus())]);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(world.plugins.offers().borrow().is_empty());
    let location = "pci0000:00/0000:00:01.0".to_owned();
    world
        .node
        .apply(Change::SetAttribute {
            location,
            path: "vendor".into(),
            value: "0x4321\n".into(),
        })
        .unwrap();
    assert_eq!(
        wait(&world.offer("fake.com/gpu").await, all_healthy).await,
        "0000:00:01.0 {1}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_says_busy_or_breaks_is_told_apart() {
    let answer = |error: CallError| {
        let mut fake = Fake::gpus();
        fake.allocate = Box::new(move |_, _| Err(error.clone()));
        fake
    };
    let failed = |kind| CallError::Failed(Failure::new(kind, "reset under way"));
    let cases = [
        (
            failed(FailureKind::Busy),
            AllocateError::Busy("plugin gpus: allocate failed: reset under way".into()),
        ),
        (
            failed(FailureKind::Other),
            AllocateError::Refused("plugin gpus: allocate failed: reset under way".into()),
        ),
        (
            CallError::Guest(GuestFault::Exited(1)),
            AllocateError::Guest("plugin gpus: allocate exited with status 1".into()),
        ),
    ];
    for (error, expected) in cases {
        let world = start(POLICY, [("fake.wasm", answer(error))]);
        let gpus = world.offer("fake.com/gpu").await;
        wait(&gpus, all_healthy).await;
        assert_eq!(gpus.allocate(&strings(&["0000:00:01.0"])).await, Err(expected));
    }
}

/// What the gate says to each way of asking for too much.
#[test]
fn the_gate_refuses_one_unit_or_pool_and_says_why() {
    let mut host = call_host();
    let pci = host.devices("pci").unwrap();
    let fuse = host.device_by_name("misc", "fuse").unwrap();
    let fuse_node = host.node_at("/dev/fuse").unwrap();
    let card = host.nodes(pci[0]).unwrap();
    assert_eq!(
        host.devices("pci").unwrap().len(),
        2,
        "the other vendor's GPU is not there"
    );
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
                unit("forged", &[devgate_model::DeviceHandle(77)], &[]),
                unit("forged-node", &[], &[devgate_model::NodeHandle(77)]),
                many,
                twice,
            ],
            &[],
        ),
        pool("fake.com/gpu", vec![], &[]),
    ];
    let (inventory, rejected) = Inventory::gate(host.policy(), &host, pools, &|d| host.numa_node(d));
    let said: Vec<_> = rejected.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(said.join("\n"));
    let ids: Vec<_> = inventory.units().map(|u| u.id.to_string()).collect();
    assert_eq!(ids, ["ok"]);
}

/// What a component reads it must have been granted; and some things nobody is.
#[test]
fn reading_stops_at_the_grants() {
    let mut host = call_host();
    let gpu = host.devices("pci").unwrap()[0];
    assert_eq!(host.attribute(gpu, "vendor"), Ok("0x1234".into()));
    let said: Vec<_> = [
        "secret_key",
        "config",
        "../0000:00:03.0/vendor",
        "/etc/passwd",
        "",
        "nope",
        "drm",
    ]
    .into_iter()
    .map(|path| format!("{path:?}: {:?}", host.attribute(gpu, path).unwrap_err()))
    .collect();
    insta::assert_snapshot!(said.join("\n"));
    let cards = host.children(gpu, "drm").unwrap();
    assert_eq!(cards.len(), 2, "beneath a granted device");
    assert!(
        host.device_by_name("pci", "0000:00:03.0").is_err(),
        "not granted, and looks as if it were not there"
    );
    assert!(host.device_by_name("drm", "card2").is_err());
    assert!(host.device_by_name("drm", "card0").is_ok());
    let uinput = host.device_by_name("misc", "uinput").unwrap();
    assert_eq!(
        host.nodes(uinput),
        Ok(vec![]),
        "the policy offers it, and the host does not give it"
    );
    assert!(host.attribute(devgate_model::DeviceHandle(99), "vendor").is_err());
}

#[test]
fn reading_more_than_the_limit_ends_the_call() {
    let policy = POLICY.replace("    health:", "    limits: {read: 4KiB}\n    health:");
    let grants = Arc::new(crate::grants::Grants::new(node(), plugin_policy(&policy)));
    let limits = Arc::new(grants.policy.limits.clone());
    let mut host = crate::call::CallHost::new(grants, limits, "null".into(), crate::call::Reads::Here);
    let gpu = host.devices("pci").unwrap()[0];
    let reads = (0..10_000).find_map(|n| host.attribute(gpu, "vendor").err().map(|error| (n, error)));
    let (n, error) = reads.expect("the limit ends it");
    assert!(n > 100 && format!("{error:?}").contains("Limit(Read("), "{n} {error:?}");
}

/// A granted bridge or hub opens nothing of what is behind it, by whichever way a component asks.
#[test]
fn descent_stops_at_another_device_of_a_bus() {
    const BRIDGE: &str = "\
P: /devices/pci0000:00/0000:00:1c.0
E: SUBSYSTEM=pci
A: class=0x060400\\n
A: power/control=auto\\n

P: /devices/pci0000:00/0000:00:1c.0/0000:01:00.0
E: SUBSYSTEM=pci
E: DRIVER=secret
A: vendor=0x9999\\n

P: /devices/pci0000:00/0000:00:1c.0/0000:01:00.0/net/eth0
E: SUBSYSTEM=net
A: address=aa:bb\\n
";
    const GRANT: &str = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  bridge:
    component: {file: fake.wasm}
    resources: [fake.com/bridge]
    hardware: [{subsystem: pci, name: '0000:00:1c.0'}]
";
    let node = devgate_node::Node::recorded("bridge", BRIDGE).unwrap();
    let grants = Arc::new(crate::grants::Grants::new(node, plugin_policy(GRANT)));
    let limits = Arc::new(grants.policy.limits.clone());
    let mut host = crate::call::CallHost::new(grants, limits, "null".into(), crate::call::Reads::Here);
    let bridge = host.devices("pci").unwrap();
    assert_eq!(bridge.len(), 1);
    let bridge = bridge[0];
    assert_eq!(
        host.attribute(bridge, "power/control"),
        Ok("auto".into()),
        "a directory of its own"
    );
    assert_eq!(host.children(bridge, "pci"), Ok(vec![]));
    assert_eq!(host.children(bridge, "net"), Ok(vec![]));
    assert!(host.device_by_name("net", "eth0").is_err());
    assert!(host.attribute(bridge, "0000:01:00.0/vendor").is_err());
    assert!(host.attribute_bytes(bridge, "0000:01:00.0/vendor", 0, 8).is_err());
    assert!(host.attribute(bridge, "0000:01:00.0/net/eth0/address").is_err());
    assert!(host.entries(bridge, "0000:01:00.0").is_err());
    assert!(host.link(bridge, "0000:01:00.0/driver").is_err());
    assert!(host.related(bridge, "0000:01:00.0/net/eth0/device").is_err());
}

/// What drivers put between a USB adapter and its node is part of it; what hangs on a hub is not part of the hub.
#[test]
fn a_usb_adapters_port_belongs_to_it() {
    const USB: &str = "\
P: /devices/pci0000:00/usb1/1-1
E: SUBSYSTEM=usb
E: DEVTYPE=usb_device
A: idVendor=0403\\n
A: idProduct=6001\\n

P: /devices/pci0000:00/usb1/1-1/1-1:1.0
E: SUBSYSTEM=usb
E: DEVTYPE=usb_interface

P: /devices/pci0000:00/usb1/1-1/1-1:1.0/ttyUSB0
E: SUBSYSTEM=usb-serial
L: subsystem=../../../../../../bus/usb-serial

P: /devices/pci0000:00/usb1/1-1/1-1:1.0/ttyUSB0/tty/ttyUSB0
N: ttyUSB0
E: SUBSYSTEM=tty
E: DEVNAME=/dev/ttyUSB0
E: MAJOR=188
E: MINOR=0
A: dev=188:0\\n

P: /devices/pci0000:00/usb1/1-1/1-1.1
E: SUBSYSTEM=usb
E: DEVTYPE=usb_device
A: idVendor=9999\\n
A: idProduct=0001\\n

P: /devices/pci0000:00/usb1/1-1/1-1.1/1-1.1:1.0
E: SUBSYSTEM=usb
E: DEVTYPE=usb_interface

P: /devices/pci0000:00/usb1/1-1/1-1.1/1-1.1:1.0/tty/ttyACM0
N: ttyACM0
E: SUBSYSTEM=tty
E: DEVNAME=/dev/ttyACM0
E: MAJOR=166
E: MINOR=0
A: dev=166:0\\n
";
    const GRANT: &str = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  serial:
    component: {file: fake.wasm}
    resources: [fake.com/serial]
    hardware: [{subsystem: usb, vendor: '0403', product: '6001', use: offer, nodes: [{subsystem: tty}]}]
";
    let node = devgate_node::Node::recorded("usb", USB).unwrap();
    let grants = crate::grants::Grants::new(node, plugin_policy(GRANT));
    let matches = grants.matches().unwrap();
    assert_eq!(matches.len(), 1);
    let nodes: Vec<_> = matches[0].nodes.iter().map(|n| n.node.path.as_str()).collect();
    assert_eq!(nodes, ["/dev/ttyUSB0"]);
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
    assert!(
        reply
            .nodes
            .iter()
            .any(|n| n.host_path == "/dev/kvm" && n.access.to_string() == "r")
    );
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
            pools.push(Pool {
                resource: "fake.com/other".into(),
                units,
                shared_nodes: vec![],
                properties: vec![],
            });
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

/// Ids that the kubelet could not know, and more of them than anybody needs.
#[test]
fn replicas_are_bounded_in_length_and_number() {
    let gate = |policy: &str, ids: Vec<String>| {
        let policy = plugin_policy(policy);
        let host = call_host();
        let unit = |id: String| Unit {
            id,
            backing: vec![],
            nodes: vec![],
            properties: vec![],
        };
        let units = ids.into_iter().map(unit).collect();
        let pool = Pool {
            resource: "fake.com/gpu".into(),
            units,
            shared_nodes: vec![],
            properties: vec![],
        };
        let (inventory, rejected) = Inventory::gate(&policy, &host, vec![pool], &|_| None);
        (
            inventory.units().count(),
            rejected.into_iter().map(|r| r.why).collect::<Vec<_>>(),
        )
    };
    let many = POLICY.replace("    health:", "    replicas: 4096\n    health:");
    assert_eq!(gate(&many, vec!["x".repeat(57)]), (1, vec![]));
    assert_eq!(
        gate(&many, vec!["x".repeat(58)]),
        (
            0,
            vec!["with the number of a replica the id has 64 bytes; at most 63".into()]
        )
    );
    assert_eq!(gate(POLICY, vec!["x".repeat(63)]), (1, vec![]));
    let (fit, rejected) = gate(&many, (0..30).map(|n| format!("u{n}")).collect());
    assert_eq!((fit, rejected.len()), (24, 6));
    assert_eq!(
        rejected[0],
        "there are more than 100000 devices, replicas counted (replicas)"
    );
}

/// The lesser grant counts, whichever way a component asked first.
#[test]
fn the_order_of_questions_decides_nothing() {
    let policy = POLICY.replace("exclusive: [/dev/fuse]", "shared: [/dev/fuse]").replace(
        "      - {subsystem: misc}\n",
        "      - {subsystem: misc, name: fuse, use: offer, nodes: [{access: r}]}\n",
    );
    let grants = Arc::new(crate::grants::Grants::new(node(), plugin_policy(&policy)));
    let limits = Arc::new(grants.policy.limits.clone());
    for by_path_first in [true, false] {
        let (grants, limits) = (Arc::clone(&grants), Arc::clone(&limits));
        let mut host = crate::call::CallHost::new(grants, limits, "null".into(), crate::call::Reads::Here);
        let fuse = host.device_by_name("misc", "fuse").unwrap();
        let node = match by_path_first {
            true => host.node_at("/dev/fuse").unwrap(),
            false => host.nodes(fuse).unwrap()[0],
        };
        let (_, again) = (host.node_at("/dev/fuse").unwrap(), host.nodes(fuse).unwrap()[0]);
        assert_eq!(node, again);
        let grant = host.held_node(node).unwrap().grant;
        assert_eq!(
            (grant.access.to_string().as_str(), grant.shared),
            ("r", false),
            "{by_path_first}"
        );
    }
}

/// A tree that went away is not a node without hardware: the devices stay in the list, and are unhealthy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_tree_that_went_away_is_a_fault_and_not_an_empty_node() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.umockdev");
    std::fs::write(&file, NODE).unwrap();
    let node = devgate_node::Node::open(&file).unwrap();
    let plugins = Plugins::start(
        &parse(POLICY),
        &node,
        &FakeLoader::with([("fake.wasm", Fake::gpus())]),
        &inline(),
    );
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
