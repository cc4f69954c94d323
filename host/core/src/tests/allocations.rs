//! What was handed out goes on meaning the same hardware, over restarts of host, kubelet and node.

mod by_hand;
mod by_parts;
mod many;
mod memory_lost;
mod state_dir;

use super::*;
use crate::allocations::{Consumer, Giving, State};
use devgate_types::component::Capabilities;
use devgate_types::{Pool, Unit};
use std::sync::atomic::Ordering;

/// The node of [`NODE`] after a reboot: the kernel found the two GPUs in the other order.
pub(super) fn renumbered() -> String {
    let other = NODE.replace("card0", "cardX").replace("card1", "card0").replace("cardX", "card1");
    let other = other.replace("226:0", "226:X").replace("226:1\\n", "226:0\\n").replace("226:X", "226:1");
    other.replace("E: MINOR=0\n", "E: MINOR=X\n").replace("E: MINOR=1\n", "E: MINOR=0\n").replace("MINOR=X", "MINOR=1")
}

pub(super) fn start_with(
    policy: &str,
    node: &str,
    allocations: &Allocations,
    fakes: impl IntoIterator<Item = (&'static str, Fake)>,
) -> World {
    let node = devgate_fake_node::RecordedNode::parse("test", node).unwrap();
    let plugins = Plugins::start(&parse(policy), around(&node, FakeLoader::with(fakes), allocations));
    World { node, plugins }
}

/// GPUs under a kubelet that tells this.
fn gpus_told(feed: crate::HoldersFeed, allocations: &Allocations) -> World {
    let node = devgate_fake_node::RecordedNode::parse("test", NODE).unwrap();
    let loader = FakeLoader::with([("fake.wasm", Fake::gpus())]);
    let around = crate::Surroundings { holders: feed, ..around(&node, loader, allocations) };
    World { plugins: Plugins::start(&parse(POLICY), around), node }
}

/// A unit for each granted device of a subsystem with its nodes, and the nodes of granted misc devices for all of them.
fn each_of(resource: &'static str, subsystem: &'static str) -> Fake {
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(move |host| {
        let (mut units, mut shared_nodes) = (Vec::new(), Vec::new());
        for device in host.devices(subsystem).unwrap() {
            units.push(Unit {
                id: format!("{}-{}", resource.trim_start_matches("fake.com/"), host.device_name(device).unwrap()),
                backing: vec![device],
                nodes: host.nodes(device).unwrap_or_default(),
                properties: vec![],
            });
        }
        if subsystem != "misc" {
            for device in host.devices("misc").unwrap_or_default() {
                shared_nodes.extend(host.nodes(device).unwrap_or_default());
            }
        }
        Ok(vec![Pool { resource: resource.into(), units, shared_nodes, properties: vec![] }])
    });
    fake.allocate = Box::new(|_, _| Ok(devgate_types::Edits::default()));
    fake
}

/// An entry of a policy.
fn entry(name: &str, hardware: &str) -> String {
    format!(
        "  {name}:\n    component: {{file: {name}.wasm}}\n    resources: [fake.com/{name}]\n    hardware: [{hardware}]\n    \
         health: {{check-every: 100ms}}\n"
    )
}

/// Saves what was noted, where the host has not done so meanwhile.
async fn save(allocations: &Allocations, noted: crate::allocations::note::Noted) {
    if let Some(step) = noted.unsaved {
        allocations.save(step).await.unwrap();
    }
}

/// The records of a kubelet: resource, id, and the paths that went with it.
fn records(of: &[(&str, &str, &[&str])]) -> crate::Records {
    let one = |(resource, id, paths): &(&str, &str, &[&str])| {
        let key = (devgate_types::ResourceName::try_new(resource).unwrap(), (*id).to_owned());
        (key, Arc::new(paths.iter().map(ToString::to_string).collect()))
    };
    of.iter().map(one).collect()
}

/// A unit without hardware.
fn made_up(n: u32) -> Arc<crate::units::UnitRecord> {
    Arc::new(crate::units::UnitRecord {
        id: devgate_types::UnitId::try_new(&format!("u-{n}")).unwrap(),
        backing: vec![],
        nodes: vec![],
        properties: vec![],
        pieces: Default::default(),
        values: Default::default(),
        numa_nodes: std::collections::BTreeSet::new(),
    })
}

async fn give(world: &World, resource: &str, ids: &[&str]) {
    let offer = world.offer(resource).await;
    wait(&offer, all_healthy).await;
    offer.allocate(&strings(ids)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_whose_path_is_another_device_after_a_reboot_is_unhealthy() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("made/on/demand");
    let world = start_with(POLICY, NODE, &Allocations::of_new_node(&state).unwrap(), [("fake.wasm", Fake::gpus())]);
    give(&world, "fake.com/gpu", &["0000:00:01.0"]).await;
    drop(world);
    insta::assert_snapshot!(recorded(&state));

    // The same hardware in the same place: nothing to say.
    let world = start_with(POLICY, NODE, &Allocations::of_new_node(&state).unwrap(), [("fake.wasm", Fake::gpus())]);
    give(&world, "fake.com/gpu", &["0000:00:01.0", "0000:00:02.0"]).await;
    drop(world);

    let (allocations, node) = (Allocations::of_new_node(&state).unwrap(), renumbered());
    let world = start_with(POLICY, &node, &allocations, [("fake.wasm", Fake::gpus())]);
    let gpus = world.offer("fake.com/gpu").await;
    insta::assert_snapshot!(wait(&gpus, |list| list.devices.len() == 2).await, @r"
    0000:00:01.0 {1} node /dev/dri/card0, which was handed out with it, is not its own any more
    0000:00:02.0 {} node /dev/dri/card1, which was handed out with it, is not its own any more
    ");
    let refused = gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap_err();
    assert!(refused.to_string().contains("is not its own any more"), "{refused}");
    drop(world);

    // Without the memory it would not have been noticed.
    let world = start_with(POLICY, &node, &Allocations::forgetful(), [("fake.wasm", Fake::gpus())]);
    give(&world, "fake.com/gpu", &["0000:00:01.0"]).await;
}

/// The kubelet would give the ids away that it does not know of any pod.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_handed_out_under_ids_of_another_kind_is_unhealthy() {
    for (replicas, then, id) in [(2, 1, "0000:00:01.0::1"), (1, 2, "0000:00:01.0")] {
        let dir = tempfile::tempdir().unwrap();
        let start = |replicas: u32| {
            let policy = format!("{POLICY}    replicas: {replicas}\n");
            let allocations = Allocations::of_new_node(dir.path()).unwrap();
            start_with(&policy, NODE, &allocations, [("fake.wasm", Fake::gpus())])
        };
        give(&start(replicas), "fake.com/gpu", &[id]).await;
        let world = start(then);
        let gpus = world.offer("fake.com/gpu").await;
        let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
        assert!(list.contains("it was handed out as "), "{list}");
        assert!(list.ends_with("0000:00:02.0 {}") || list.ends_with("0000:00:02.0::1 {}"), "{list}");
        drop(world);
        give(&start(replicas), "fake.com/gpu", &[id]).await;
    }
}

const TWO: &str = r#"
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  first:
    component: {file: first.wasm}
    resources: [fake.com/gpu]
    hardware: [{subsystem: pci, name: "0000:00:01.0", use: offer, nodes: [{subsystem: drm, name: "card*"}]}]
  second:
    component: {file: second.wasm}
    resources: [fake.com/other]
    hardware: [{subsystem: pci, vendor: "0x1234", use: offer, nodes: [{subsystem: drm, name: "card*"}]}]
"#;

fn named(resource: &'static str, prefix: &'static str) -> Fake {
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(move |host| {
        let mut pools = gpu_pool(host)?;
        for pool in &mut pools {
            pool.resource = resource.into();
            for unit in &mut pool.units {
                unit.id.insert_str(0, prefix);
            }
        }
        Ok(pools)
    });
    fake.allocate = Box::new(|_, _| Ok(devgate_types::Edits::default()));
    fake
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_pod_may_still_have_comes_before_the_order_of_the_policy() {
    let dir = tempfile::tempdir().unwrap();
    let second_alone = TWO.replace("  first:", "  unused:").replace("first.wasm", "none.wasm");
    let open = || Allocations::of_new_node(dir.path()).unwrap();
    let fakes = || [("first.wasm", named("fake.com/gpu", "a-")), ("second.wasm", named("fake.com/other", "b-"))];
    let world = start_with(&second_alone, NODE, &open(), fakes());
    give(&world, "fake.com/other", &["b-0000:00:01.0"]).await;
    drop(world);

    let world = start_with(TWO, NODE, &open(), fakes());
    let first = world.offer("fake.com/gpu").await;
    let lost = wait(&first, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    // By the ledger, or by the memory where the second plugin has not spoken yet.
    assert!(lost.contains("b-0000:00:01.0 of"), "{lost}");
    // And what the pod has is not lost to the one before it.
    let second = world.offer("fake.com/other").await;
    wait(&second, |list| list.devices.iter().any(|d| d.id == "b-0000:00:01.0" && d.unhealthy.is_none())).await;
    drop(world);

    let world = start_with(TWO, NODE, &Allocations::forgetful(), fakes());
    let second = world.offer("fake.com/other").await;
    let lost = wait(&second, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    assert!(lost.contains("already given to a-0000:00:01.0 of plugin first"), "{lost}");
}

/// A unit need not have a node: what it is made of is remembered by its place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hardware_without_a_node_is_remembered_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Allocations::of_new_node(dir.path()).unwrap();
    let bare = |prefix: &'static str, swapped: bool| {
        let mut fake = named("fake.com/gpu", prefix);
        fake.enumerate = Box::new(move |host| {
            let mut pools = gpu_pool(host)?;
            for unit in &mut pools[0].units {
                unit.nodes.clear();
                unit.id.insert_str(0, prefix);
            }
            if swapped && let [one, two] = &mut pools[0].units[..] {
                std::mem::swap(&mut one.id, &mut two.id);
            }
            Ok(pools)
        });
        fake
    };
    let world = start_with(POLICY, NODE, &open(), [("fake.wasm", bare("", false))]);
    give(&world, "fake.com/gpu", &["0000:00:01.0"]).await;
    drop(world);
    let world = start_with(POLICY, NODE, &open(), [("fake.wasm", bare("gpu-", false))]);
    let gpus = world.offer("fake.com/gpu").await;
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_none())).await;
    insta::assert_snapshot!(list, @r"
    gpu-0000:00:01.0 {1} its hardware was handed out as 0000:00:01.0 of fake.com/gpu, which a pod may still have; see docs/operate.md
    gpu-0000:00:02.0 {}
    ");
    drop(world);
    let world = start_with(POLICY, NODE, &open(), [("fake.wasm", bare("", true))]);
    let gpus = world.offer("fake.com/gpu").await;
    let list = wait(&gpus, |list| list.devices.iter().all(|d| d.unhealthy.is_some())).await;
    insta::assert_snapshot!(list, @r"
    0000:00:01.0 {} it was handed out as device 0000:00:01.0 and is 0000:00:02.0 now
    0000:00:02.0 {1} its hardware was handed out as 0000:00:01.0 of fake.com/gpu, which a pod may still have; see docs/operate.md
    ");
}

/// Who changes how ids are made must not have the hardware of pods given out again under the new ids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hardware_that_was_handed_out_is_not_given_under_another_id() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Allocations::of_new_node(dir.path()).unwrap();
    let world = start_with(POLICY, NODE, &open(), [("fake.wasm", Fake::gpus())]);
    give(&world, "fake.com/gpu", &["0000:00:01.0"]).await;
    drop(world);
    let world = start_with(POLICY, NODE, &open(), [("fake.wasm", named("fake.com/gpu", "gpu-"))]);
    let gpus = world.offer("fake.com/gpu").await;
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_none())).await;
    insta::assert_snapshot!(list, @r"
    gpu-0000:00:01.0 {1} its hardware was handed out as 0000:00:01.0 of fake.com/gpu, which a pod may still have; see docs/operate.md
    gpu-0000:00:02.0 {}
    ");
    drop(world);
    // An id that is remembered and means something else by now has no precedence for that.
    let other = TWO.replace("[fake.com/other]", "[fake.com/gpu]").replacen("[fake.com/gpu]", "[fake.com/first]", 1);
    let mut second = named("fake.com/gpu", "");
    second.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        pools[0].units.truncate(2);
        pools[0].units.remove(0);
        pools[0].units[0].id = "0000:00:01.0".into();
        Ok(pools)
    });
    let all = other.replace("name: \"0000:00:01.0\"", "vendor: \"0x1234\"");
    let world =
        start_with(&all, NODE, &open(), [("first.wasm", named("fake.com/first", "a-")), ("second.wasm", second)]);
    let first = world.offer("fake.com/first").await;
    let list = wait(&first, |list| list.devices.len() == 2).await;
    assert!(list.ends_with("a-0000:00:02.0 {}"), "{list}");
}

/// A number means the same within one boot alone; with it, a node is known by any path.
#[test]
fn a_number_counts_in_the_boot_that_it_was_handed_out_in() {
    let number = |text: &str, boot: Option<&str>, now: Option<&str>| {
        let dir = tempfile::tempdir().unwrap();
        let boot = boot.map_or(String::new(), |boot| format!(",\"boot\": \"{boot}\""));
        let text = format!(
            "{{\"version\": 1, \"handed_out\": {{\"a.com/x\": {{\"1\": {{\"nodes\": [{{\"path\": \"/dev/{text}\", \
             \"number\": \"c 10:232\"}}], \"backing\": []{boot}}}}}}}}}"
        );
        std::fs::write(dir.path().join("handed-out.json"), text).unwrap();
        let allocations = Allocations::of_new_node(dir.path()).unwrap();
        allocations.is_in_boot(now.map(str::to_owned));
        let kvm = "{subsystem: misc, name: kvm, use: offer, nodes: [{access: rw}]}";
        let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
        let policy = plugin_policy(&format!("{head}{}", entry("one", kvm)));
        let mut host = host_of(Arc::new(crate::grants::Grants::new(node().into(), Arc::clone(&policy))));
        let device = host.device_by_name("misc", "kvm").unwrap();
        let pools = vec![Pool {
            resource: "fake.com/one".into(),
            units: vec![Unit {
                id: "i".into(),
                backing: vec![],
                nodes: host.nodes(device).unwrap(),
                properties: vec![],
            }],
            shared_nodes: vec![],
            properties: vec![],
        }];
        let (inventory, _) = crate::inventory::Inventory::gate(&host, pools);
        inventory.drifted(&policy, &allocations).len()
    };
    assert_eq!(number("other", Some("a"), Some("a")), 1);
    assert_eq!(number("other", Some("a"), Some("b")), 0);
    assert_eq!(number("other", None, Some("a")), 0);
    assert_eq!(number("other", None, None), 0);
    assert_eq!(number("kvm", None, None), 1);
}

/// What the state directory says was handed out.
fn recorded(dir: &std::path::Path) -> String {
    crate::Recorded::read(dir).unwrap().to_json().unwrap()
}
