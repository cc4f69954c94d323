//! What was handed out goes on meaning the same hardware, over restarts of host, kubelet and node.

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

/// Hardware that goes together, in every way that two units can be in each other's way: the second is refused while the first is
/// held, and no less after a restart, where the first plugin's component is missing or its entry is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_beside_what_is_held_is_refused_after_a_restart() {
    let gpu = |n: u32, nodes: &str| {
        format!(
            "{{subsystem: pci, name: \"0000:00:0{n}.0\", use: offer, nodes: [{{subsystem: drm, name: \"{nodes}\"}}]}}"
        )
    };
    let render = "{subsystem: drm, name: renderD128, use: offer, nodes: [{access: rw}]}";
    let card = "{subsystem: drm, name: card0, use: offer, nodes: [{access: rw}]}";
    let kvm = |shared| format!("{{subsystem: misc, name: kvm, use: offer, nodes: [{{access: rw, shared: {shared}}}]}}");
    let shares = format!("{}, {}", gpu(2, "card*"), kvm(true));
    for (why, one, of_one, two, of_two) in [
        ("the same device", gpu(1, "card*"), "pci", gpu(1, "renderD*"), "pci"),
        ("a part of it", gpu(1, "card*"), "pci", render.to_owned(), "drm"),
        ("another node of it", card.to_owned(), "drm", render.to_owned(), "drm"),
        ("what it is a part of", render.to_owned(), "drm", gpu(1, "card*"), "pci"),
        ("a node of its own that others share", kvm(false), "misc", shares.clone(), "pci"),
        ("a node that it shares", shares, "pci", kvm(false), "misc"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let open = || Allocations::of_new_node(dir.path()).unwrap();
        let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
        let alone = format!("{head}{}", entry("two", &two));
        let both = format!("{head}{}{}", entry("one", &one), entry("two", &two));
        let second = || ("two.wasm", each_of("fake.com/two", of_two));
        let refused = |world: World| async move {
            let two = world.offer("fake.com/two").await;
            wait(&two, |list| !list.devices.is_empty()).await;
            tokio::time::sleep(Duration::from_millis(150)).await;
            show(&two.devices().borrow())
        };
        let world = start_with(&both, NODE, &open(), [("one.wasm", each_of("fake.com/one", of_one)), second()]);
        let first = world.offer("fake.com/one").await;
        wait(&first, all_healthy).await;
        let ids: Vec<_> = first.devices().borrow().devices.iter().map(|d| d.id.clone()).collect();
        first.allocate(&ids).await.unwrap();
        let live = refused(world).await;
        assert!(live.contains("one-"), "{why}, live: {live}");
        for policy in [&both, &alone] {
            let list = refused(start_with(policy, NODE, &open(), [second()])).await;
            assert!(list.contains("was handed out as one-"), "{why}: {list}");
        }
    }
}

/// An adapter moves to another port while devgate is away, or two swap their names: the pod keeps the path that it was given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_a_pod_may_still_have_is_not_given_with_other_hardware() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Allocations::of_new_node(dir.path()).unwrap();
    let world = start_with(POLICY, NODE, &open(), [("fake.wasm", Fake::gpus())]);
    give(&world, "fake.com/gpu", &["0000:00:01.0"]).await;
    drop(world);
    let gone = NODE.replace("/0000:00:01.0", "/0000:00:07.0");
    for (node, id) in [(renumbered(), "0000:00:02.0"), (gone, "0000:00:07.0")] {
        let world = start_with(POLICY, &node, &open(), [("fake.wasm", Fake::gpus())]);
        let gpus = world.offer("fake.com/gpu").await;
        let list = wait(&gpus, |list| !list.devices.is_empty()).await;
        assert!(
            list.lines().any(|line| line.starts_with(id)
                && line.ends_with("its node /dev/dri/card0 was handed out as 0000:00:01.0 of fake.com/gpu, which a pod may still have; see docs/operate.md")),
            "{list}"
        );
        gpus.allocate(&strings(&[id])).await.unwrap_err();
    }
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
        let (inventory, _) = crate::inventory::Inventory::gate(&policy, &host, pools, &|_| None);
        inventory.drifted(&policy, &allocations).len()
    };
    assert_eq!(number("other", Some("a"), Some("a")), 1);
    assert_eq!(number("other", Some("a"), Some("b")), 0);
    assert_eq!(number("other", None, Some("a")), 0);
    assert_eq!(number("other", None, None), 0);
    assert_eq!(number("kvm", None, None), 1);
}

/// Two parts of the first GPU, a node each, or the whole of it; with `prefix` before their ids.
fn cut(prefix: &'static str, whole: bool) -> Fake {
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(move |host| {
        let mut pools = gpu_pool(host)?;
        let Some(gpu) = pools[0].units.first().cloned() else {
            return Ok(pools);
        };
        let unit = |id: &str, nodes: &[devgate_types::NodeHandle]| Unit {
            id: format!("{prefix}{id}"),
            nodes: nodes.to_vec(),
            ..gpu.clone()
        };
        pools[0].units = match whole {
            true => vec![unit("whole", &gpu.nodes)],
            false => vec![unit("a", &gpu.nodes[..1]), unit("b", &gpu.nodes[1..])],
        };
        Ok(pools)
    });
    fake.allocate = Box::new(|_, _| Ok(devgate_types::Edits::default()));
    fake
}

fn in_parts() -> String {
    let policy = POLICY.replace(", name: \"card*\"}", "}");
    policy.replace("    health:", "    partitions: {own: \"/dev/dri/*\"}\n    health:")
}

/// What the list is after a restart, when the part `a` was handed out.
async fn after_a_restart(policy: &str, fake: Fake) -> String {
    let dir = tempfile::tempdir().unwrap();
    let open = || Allocations::of_new_node(dir.path()).unwrap();
    let world = start_with(&in_parts(), NODE, &open(), [("fake.wasm", cut("", false))]);
    give(&world, "fake.com/gpu", &["a"]).await;
    drop(world);
    let world = start_with(policy, NODE, &open(), [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, |list| !list.devices.is_empty()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_handed_out_in_parts_is_not_given_under_another_id() {
    let policy = in_parts();
    insta::assert_snapshot!(after_a_restart(&policy, cut("", false)).await, @r"
    a {1}
    b {1}
    ");
    insta::assert_snapshot!(after_a_restart(&policy, cut("x-", false)).await, @r"
    x-a {1} its hardware was handed out as a of fake.com/gpu, which a pod may still have; see docs/operate.md
    x-b {1}
    ");
    insta::assert_snapshot!(after_a_restart(&policy, cut("", true)).await, @"whole {1} its hardware was handed out as a of fake.com/gpu, which a pod may still have; see docs/operate.md");
    // Nor to another plugin, whatever it says of parts.
    let other = policy.replace("  gpus:", "  others:");
    insta::assert_snapshot!(after_a_restart(&other, cut("x-", false)).await, @r"
    x-a {1} its hardware was handed out as a of fake.com/gpu, which a pod may still have; see docs/operate.md
    x-b {1} its hardware was handed out as a of fake.com/gpu, which a pod may still have; see docs/operate.md
    ");
    // Nor where the policy says nothing of parts any more.
    let whole = POLICY.replace(", name: \"card*\"}", "}");
    insta::assert_snapshot!(after_a_restart(&whole, cut("x-", false)).await, @r"
    x-a {1} its hardware was handed out as a of fake.com/gpu, which a pod may still have; see docs/operate.md
    x-b {1} device 0000:00:01.0 already backs x-a of plugin gpus, or a part of it does
    ");
}

/// A full disk, or a broken one: what is given without a record is given twice after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_recorded_is_not_given_and_what_pods_have_stays() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let journal = |number: u32| dir.path().join(format!("allocations/journal.{number}"));
    let world = start_with(POLICY, NODE, &allocations, [("fake.wasm", Fake::gpus())]);
    give(&world, "fake.com/gpu", &["0000:00:01.0"]).await;
    assert_eq!(allocations.trouble(), None);
    std::fs::remove_file(journal(1)).unwrap();
    // A directory in the next file's place: not even root can put a file there.
    std::fs::create_dir_all(journal(2).join("in the way")).unwrap();
    let gpus = world.offer("fake.com/gpu").await;
    let (held, free) = (strings(&["0000:00:01.0"]), strings(&["0000:00:02.0"]));
    let refused = gpus.allocate(&free).await.unwrap_err();
    assert!(refused.to_string().contains("cannot be recorded: "), "{refused}");
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    assert!(list.contains("0000:00:01.0 {1}\n") && list.contains("--state-dir"), "{list}");
    assert!(allocations.trouble().unwrap().contains("cannot be recorded"));
    gpus.allocate(&free).await.unwrap_err();
    gpus.allocate(&held).await.unwrap();
    std::fs::remove_dir_all(journal(2)).unwrap();
    wait(&gpus, all_healthy).await;
    assert_eq!(allocations.trouble(), None);
    let text = recorded(dir.path());
    assert!(text.contains("0000:00:01.0\": {") && !text.contains("0000:00:02.0\": {"), "{text}");
    gpus.allocate(&free).await.unwrap();
}

/// What the state directory says was handed out.
fn recorded(dir: &std::path::Path) -> String {
    crate::Recorded::read(dir).unwrap().to_json().unwrap()
}

/// The records of a kubelet: resource, id, and the paths that went with it.
fn records(of: &[(&str, &str, &[&str])]) -> crate::Records {
    let one = |(resource, id, paths): &(&str, &str, &[&str])| {
        let key = (devgate_types::ResourceName::try_new(resource).unwrap(), (*id).to_owned());
        (key, paths.iter().map(ToString::to_string).collect())
    };
    of.iter().map(one).collect()
}

/// What becomes of the file between two hosts.
const LOSSES: [(&str, Option<&str>); 4] = [
    ("gone", None),
    ("torn", Some("{\"version\": 1, \"handed_")),
    ("of no version", Some("{\"handed_out\": {}}")),
    ("with what this host does not know", Some("{\"version\": 1, \"handed_out\": {}, \"more\": 1}")),
];

/// A television card whose nodes are beside each other.
const TUNER: &str = "\
P: /devices/pci0000:00/0000:00:04.0/dvb/dvb0.frontend0
N: dvb/adapter0/frontend0
E: SUBSYSTEM=dvb
E: DEVNAME=/dev/dvb/adapter0/frontend0
E: MAJOR=212
E: MINOR=0
A: dev=212:0\\n

P: /devices/pci0000:00/0000:00:04.0/dvb/dvb0.demux0
N: dvb/adapter0/demux0
E: SUBSYSTEM=dvb
E: DEVNAME=/dev/dvb/adapter0/demux0
E: MAJOR=212
E: MINOR=1
A: dev=212:1\\n
";

/// The rival stands first in the policy, has the same hardware, a part of it, or another node, under an id of its own, and the plugin whose
/// pod has it is there or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_memory_is_lost_nothing_is_given_before_the_kubelet_has_told() {
    let gpu = "{subsystem: pci, name: \"0000:00:01.0\", use: offer, nodes: [{subsystem: drm, name: \"card*\"}]}";
    let part = "{subsystem: drm, name: card0, use: offer, nodes: [{access: rw}]}";
    let above = "{subsystem: pci, name: \"0000:00:01.0\", use: offer, nodes: [{subsystem: drm, name: \"render*\"}]}";
    let frontend = "{subsystem: dvb, name: dvb0.frontend0, use: offer, nodes: [{access: rw}]}";
    let demux = "{subsystem: dvb, name: dvb0.demux0, use: offer, nodes: [{access: rw}]}";
    let of_gpu = (gpu, "pci", "good-0000:00:01.0", "/dev/dri/card0");
    let of_tuner = (frontend, "dvb", "good-dvb0.frontend0", "/dev/dvb/adapter0/frontend0");
    let rivals = [(gpu, "pci", of_gpu), (part, "drm", of_gpu), (above, "pci", of_gpu), (demux, "dvb", of_tuner)];
    let text = format!("{NODE}\n{TUNER}");
    let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
    for ((why, file), (rival, subsystem, (good, of_good, id, path))) in LOSSES.into_iter().zip(rivals) {
        let policy = format!("{head}{}{}", entry("rival", rival), entry("good", good));
        for there in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            if let Some(file) = file {
                std::fs::write(dir.path().join("handed-out.json"), file).unwrap();
            }
            let mut fakes = vec![("rival.wasm", each_of("fake.com/rival", subsystem))];
            fakes.extend(there.then(|| ("good.wasm", each_of("fake.com/good", of_good))));
            let (source, feed) = crate::holders::holders();
            let allocations = Allocations::open(dir.path()).unwrap();
            let node = devgate_fake_node::RecordedNode::parse("test", &text).unwrap();
            let around = crate::Surroundings { holders: feed, ..around(&node, FakeLoader::with(fakes), &allocations) };
            let plugins = Plugins::start(&parse(&policy), around);
            let world = World { node, plugins };
            let rival = world.offer("fake.com/rival").await;
            let list = wait(&rival, |list| !list.devices.is_empty()).await;
            assert!(list.contains("it is not known yet what pods have"), "{why}: {list}");
            assert!(allocations.trouble().is_some());
            source.tell_records(records(&[("fake.com/good", id, &[path])]));
            let told = |list: &Arc<crate::offer::DeviceList>| !show(list).contains("not known yet");
            let list = wait(&rival, told).await;
            assert!(list.contains(&format!("{id} of")), "{why}, {there}: {list}");
            if there {
                let good = world.offer("fake.com/good").await;
                wait(&good, all_healthy).await;
                good.allocate(&strings(&[id])).await.unwrap();
            }
            assert_eq!(allocations.trouble(), None);
            let list = show(&rival.devices().borrow());
            assert!(list.contains(&format!("{id} of")), "{why}, {there}: {list}");
        }
    }
}

/// Its records cannot be read: what containers are seen to have says no more than ids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_a_look_alone_tells_what_pods_have_nothing_is_given_until_it_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let (source, feed) = crate::holders::holders();
    let node = devgate_fake_node::RecordedNode::parse("test", NODE).unwrap();
    let policy =
        format!("{POLICY}{}", entry("late", "{subsystem: misc, name: kvm, use: offer, nodes: [{access: rw}]}"));
    let around = crate::Surroundings {
        holders: feed,
        ..around(&node, FakeLoader::with([("fake.wasm", Fake::gpus())]), &allocations)
    };
    let plugins = Plugins::start(&parse(&policy), around);
    let world = World { node, plugins };
    let gpus = world.offer("fake.com/gpu").await;
    wait(&gpus, |list| !list.devices.is_empty()).await;
    let look = |ids: &[(&str, &str)]| {
        let key =
            |(resource, id): &(&str, &str)| (devgate_types::ResourceName::try_new(resource).unwrap(), (*id).to_owned());
        crate::Holders {
            seen: ids.iter().map(|id| (key(id), vec![])).collect(),
            recorded: None,
            poll: 1,
            process: 1,
            begun: std::time::Instant::now(),
        }
    };
    source.tell(look(&[("fake.com/late", "late-kvm"), ("fake.com/gpu", "0000:00:01.0")]));
    let list = wait(&gpus, |list| show(list).contains("late-kvm")).await;
    assert!(list.contains("0000:00:01.0 {1}\n"), "what a pod has it keeps: {list}");
    assert!(allocations.trouble().unwrap().contains("a pod has late-kvm of fake.com/late"));
}

/// Started with what the kubelet tells of it, where there is a GPU that no consumer has.
async fn told(
    allocations: &Allocations,
    policy: &str,
    records: Option<crate::Records>,
    seen: &[&str],
) -> (World, Arc<dyn Offer>) {
    let (source, feed) = crate::holders::holders();
    match records {
        Some(records) => source.tell_records(records),
        None => {
            let late = devgate_types::ResourceName::try_new("fake.com/late").unwrap();
            source.tell(crate::Holders {
                seen: seen.iter().map(|id| ((late.clone(), (*id).to_owned()), vec![])).collect(),
                recorded: None,
                poll: 1,
                process: 1,
                begun: std::time::Instant::now(),
            });
        }
    }
    let fakes = [("fake.wasm", Fake::gpus()), ("late.wasm", each_of("fake.com/late", "misc"))];
    let node = devgate_fake_node::RecordedNode::parse("test", NODE).unwrap();
    let around = crate::Surroundings { holders: feed, ..around(&node, FakeLoader::with(fakes), allocations) };
    let plugins = Plugins::start(&parse(policy), around);
    let world = World { node, plugins };
    let gpus = world.offer("fake.com/gpu").await;
    (world, gpus)
}

/// It may be made of anything, by whatever record it is known, and however often the host starts until its plugin lists it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_but_an_id_is_known_nothing_is_given_until_it_is_listed() {
    let kvm = "{subsystem: misc, name: kvm, use: offer, nodes: [{access: rw}]}";
    let (absent, there) = (
        format!("{POLICY}{}", entry("late", kvm).replace("late.wasm", "none.wasm")),
        format!("{POLICY}{}", entry("late", kvm)),
    );
    let why = "a pod has late-kvm of fake.com/late";
    let other = ("other.com/nic", "eth0", &["/dev/other"] as &[_]);
    let bare = records(&[("fake.com/late", "late-kvm", &[]), other]);
    for (of, records) in [("a look", None), ("records", Some(bare))] {
        let dir = tempfile::tempdir().unwrap();
        for start in 0..3 {
            let allocations = Allocations::open(dir.path()).unwrap();
            let (_world, gpus) = told(&allocations, &absent, records.clone(), &["late-kvm"]).await;
            let list = wait(&gpus, |list| show(list).contains(why)).await;
            assert_eq!(list.matches(why).count(), 2, "{of}, start {start}: {list}");
            gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap_err();
            until(|| recorded(dir.path()).contains("late-kvm")).await;
        }
        let allocations = Allocations::open(dir.path()).unwrap();
        let (_world, gpus) = told(&allocations, &there, records, &["late-kvm"]).await;
        wait(&gpus, all_healthy).await;
        assert_eq!(allocations.trouble(), None, "{of}");
    }
}

/// The paths of a container's answer are all of one of its ids: what the other one is made of is not known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_whose_container_s_paths_are_another_one_s_may_be_made_of_anything() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let paths: &[&str] = &["/dev/dri/card0"];
    let both = records(&[("fake.com/gpu", "0000:00:01.0", paths), ("fake.com/gpu", "gone", paths)]);
    let (_world, gpus) = told(&allocations, POLICY, Some(both), &[]).await;
    let list = wait(&gpus, |list| show(list).contains("a pod has gone of fake.com/gpu")).await;
    assert!(list.contains("0000:00:01.0 {1}\n"), "what a pod has it keeps: {list}");
}

/// What others than our plugins gave keeps hardware from others, and is no reason to keep the file when devgate goes for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_gave_is_not_taken_for_given() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("handed-out.json");
    std::fs::write(&file, "{").unwrap();
    let given = |resource: &str| {
        let given = crate::cleanup::StateDir::look(dir.path()).unwrap().unwrap().given();
        given.is_none_or(|resources| resources.contains(resource))
    };
    let told_of =
        records(&[("fake.com/gpu", "0000:00:02.0", &["/dev/dri/card1"]), ("other.com/gpu", "0", &["/dev/dri/card0"])]);
    // A record that is not read when there is one is of no use.
    for start in 0..2 {
        let allocations = Allocations::open(dir.path()).unwrap();
        assert!(start > 0 || given("other.com/gpu"), "it is not known yet");
        let (_world, gpus) = told(&allocations, POLICY, Some(told_of.clone()), &[]).await;
        let list = wait(&gpus, |list| show(list).contains("0 of other.com/gpu")).await;
        assert!(list.contains("0000:00:02.0 {}"), "{list}");
        until(|| !given("other.com/gpu")).await;
        assert!(given("fake.com/gpu") && !given("other.com/gpu"), "start {start}");
    }
    assert!(dir.path().join("handed-out.json.unreadable").exists());
}

/// A pod is seen with a unit before it is known what pods have.
#[tokio::test]
async fn nothing_is_written_before_it_is_known_what_pods_have() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let unit = Arc::new(crate::units::UnitRecord {
        id: devgate_types::UnitId::try_new("seen").unwrap(),
        backing: vec![],
        nodes: vec![],
        pieces: vec![],
        numa_nodes: std::collections::BTreeSet::new(),
        values: vec![],
        properties: vec![],
    });
    let resource = devgate_types::ResourceName::try_new("fake.com/gpu").unwrap();
    let (units, policy) = ([unit], plugin_policy(POLICY));
    let giving = Giving::whole(&resource, &[], &units, &policy, false);
    let noted = allocations.note(&Consumer::Pods, State::Active, None, &[giving]);
    save(noted).await;
    let next = Allocations::open(dir.path()).unwrap();
    assert!(next.trouble().unwrap().contains("it is not known yet what pods have"));
}

async fn until(condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "in time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_start_is_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let (source, feed) = crate::holders::holders();
    source.tell_records(records(&[("other.com/nic", "eth0", &["/dev/other"])]));
    let node = devgate_fake_node::RecordedNode::parse("test", NODE).unwrap();
    let around = crate::Surroundings {
        holders: feed,
        ..around(&node, FakeLoader::with([("fake.wasm", Fake::gpus())]), &allocations)
    };
    let plugins = Plugins::start(&parse(POLICY), around);
    let world = World { node, plugins };
    let gpus = world.offer("fake.com/gpu").await;
    let first = wait(&gpus, |list| !list.devices.is_empty()).await;
    assert_eq!(first, "0000:00:01.0 {1}\n0000:00:02.0 {}");
    assert_eq!(allocations.trouble(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_newer_host_wrote_is_neither_read_nor_touched() {
    let dir = tempfile::tempdir().unwrap();
    let (file, text) = (dir.path().join("handed-out.json"), "{\"version\": 3, \"units\": []}");
    std::fs::write(&file, text).unwrap();
    let why = Allocations::open(dir.path()).unwrap().trouble().unwrap();
    assert!(why.contains("has version 3") && why.contains("a newer one wrote it"), "{why}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    std::fs::remove_file(&file).unwrap();
    drop(Allocations::of_new_node(dir.path()).unwrap());
    let newer = crate::allocations::snapshot_of_format(2);
    std::fs::write(dir.path().join("allocations/snapshot.1"), &newer).unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let why = allocations.trouble().unwrap();
    assert!(why.contains("has format 2") && why.contains("a newer one wrote it"), "{why}");
    // The kubelet's word changes nothing: lists stay, and nothing of them is given.
    let (source, feed) = crate::holders::holders();
    source.tell_records(records(&[("other.com/nic", "eth0", &["/dev/other"])]));
    let node = devgate_fake_node::RecordedNode::parse("test", NODE).unwrap();
    let around = crate::Surroundings {
        holders: feed,
        ..around(&node, FakeLoader::with([("fake.wasm", Fake::gpus())]), &allocations)
    };
    let plugins = Plugins::start(&parse(POLICY), around);
    let world = World { node, plugins };
    let gpus = world.offer("fake.com/gpu").await;
    let listed = wait(&gpus, |list| !list.devices.is_empty()).await;
    assert_eq!(listed.matches(&*why).count(), 2, "{listed}");
    gpus.allocate(&strings(&["0000:00:01.0"])).await.unwrap_err();
    assert!(world.plugins.flush(PATIENCE).await);
    assert_eq!(allocations.trouble().unwrap(), why);
    assert_eq!(std::fs::read(dir.path().join("allocations/snapshot.1")).unwrap(), newer);
}

/// The journal grows then: an admin must see that before the disk is full.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_cannot_go_on_in_another_file_is_told_until_it_does() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let in_the_way = dir.path().join("allocations/journal.2");
    std::fs::create_dir_all(in_the_way.join("file")).unwrap();
    let _world = start_with(POLICY, NODE, &allocations, [("fake.wasm", Fake::gpus())]);
    let (policy, resource) = (plugin_policy(POLICY), devgate_types::ResourceName::try_new("fake.com/gpu").unwrap());
    let mut next = 0;
    let mut give_until = async |is_told: bool| {
        let deadline = std::time::Instant::now() + PATIENCE;
        while allocations.not_saved().is_empty() == is_told {
            assert!(std::time::Instant::now() < deadline, "{:?}", allocations.not_saved());
            next += 1;
            let units = [made_up(next)];
            let giving = Giving::whole(&resource, &[], &units, &policy, false);
            let noted = allocations.note(&Consumer::Pods, State::Active, None, &[giving]);
            save(noted).await;
            tokio::task::yield_now().await;
        }
    };
    give_until(true).await;
    assert!(allocations.not_saved()[0].contains("/allocations could not be saved: "));
    assert_eq!(allocations.trouble(), None, "what is given is recorded");
    std::fs::remove_dir_all(&in_the_way).unwrap();
    give_until(false).await;
}

/// Saves what was noted, where the host has not done so meanwhile.
async fn save(noted: crate::allocations::Noted) {
    if let Some(unsaved) = noted.unsaved {
        unsaved.save().await.unwrap();
    }
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

/// However many there are, each is remembered.
#[test]
fn no_id_is_left_out_of_what_is_remembered() {
    let allocations = Allocations::forgetful();
    let policy = plugin_policy(POLICY);
    let resource = devgate_types::ResourceName::try_new("fake.com/gpu").unwrap();
    let units: Vec<_> = (0..40_000).map(made_up).collect();
    let giving = Giving::whole(&resource, &[], &units, &policy, false);
    let noted = allocations.note(&Consumer::Pods, State::Active, None, &[giving]);
    assert!(noted.is_new);
    assert!(units.iter().all(|unit| allocations.has(&resource, unit)));
}

/// A link in place of each file that the host keeps, and of each that one before it wrote first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_link_in_the_state_directory_is_followed() {
    let policy = format!("{POLICY}    state: true\n");
    for name in [
        "handed-out.json",
        "handed-out.json.new",
        "handed-out.json.probe",
        "allocations",
        "allocations/journal.1",
        "allocations/journal.2",
        "allocations/snapshot.1",
        "allocations/snapshot.new",
        "unhealthy.json",
        "unhealthy.json.new",
        "device-info.json",
        "state",
        "state/gpus",
        "state/gpus.new",
        ".devgate-0.new",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (state, precious) = (dir.path().join("kept"), dir.path().join("precious"));
        std::fs::create_dir_all(state.join(name).parent().unwrap()).unwrap();
        let empty = "{\"version\": 1, \"unhealthy\": {}}";
        std::fs::write(&precious, empty).unwrap();
        std::os::unix::fs::symlink(&precious, state.join(name)).unwrap();
        let allocations =
            Allocations::of_new_node(&state).map(|allocations| allocations.telling_in(&dir.path().join("dp")));
        if let Ok(allocations) = allocations {
            let world = start_with(&policy, NODE, &allocations, [("fake.wasm", Fake::gpus())]);
            give(&world, "fake.com/gpu", &["0000:00:01.0"]).await;
            let state = crate::component_state::ComponentState::new(
                allocations.dir(),
                &devgate_types::PluginName::try_new("gpus").unwrap(),
            );
            let stored = state.store(&tokio_util::sync::CancellationToken::new(), b"something");
            assert_eq!(stored.is_err(), name == "state", "{name}");
            assert!(world.plugins.flush(super::PATIENCE).await);
        } else {
            let read = [
                "handed-out.json",
                "allocations",
                "allocations/journal.1",
                "allocations/journal.2",
                "allocations/snapshot.1",
            ];
            assert!(read.contains(&name), "{name}");
        }
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), empty, "{name}");
    }
}

#[test]
fn a_file_that_cannot_be_understood_is_put_aside_and_a_bad_directory_refused() {
    for text in ["", "nonsense", "{\"version\": 1}"] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("handed-out.json"), text).unwrap();
        Allocations::of_new_node(dir.path()).unwrap();
        let aside = std::fs::read_to_string(dir.path().join("handed-out.json.unreadable"));
        assert_eq!(aside.unwrap(), text);
    }
    let error = Allocations::of_new_node(std::path::Path::new("/dev/null/state")).err().unwrap();
    insta::assert_snapshot!(error, @"state directory /dev/null/state: Not a directory (os error 20); name another one with --state-dir");
}

/// Every round has eight other ids; the hardware is always the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_makes_up_ids_without_end_is_stopped() {
    let round = std::sync::atomic::AtomicUsize::new(0);
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(move |_| {
        let round = round.fetch_add(1, Ordering::Relaxed);
        let unit = |n| Unit { id: format!("{round}-{n}"), backing: vec![], nodes: vec![], properties: vec![] };
        Ok(vec![Pool {
            resource: "fake.com/gpu".into(),
            units: (0..600).map(unit).collect(),
            shared_nodes: vec![],
            properties: vec![],
        }])
    });
    fake.allocate = Box::new(|_, _| Ok(devgate_types::Edits::default()));
    let world = start(POLICY, [("fake.wasm", fake)]);
    let gpus = world.offer("fake.com/gpu").await;
    // 1,024 new ones and one for each that there is: the third round of new ids is cut, the fourth is empty.
    wait(&gpus, |list| list.devices.is_empty()).await;
}

/// A pattern in the policy grants any number of names; the kubelet never forgets one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_offers_sixteen_resources_and_not_one_more() {
    let policy = POLICY.replace("[fake.com/gpu, fake.com/other]", "[\"fake.com/gpu*\"]");
    let mut fake = Fake::gpus();
    fake.enumerate = Box::new(|_| {
        let pool = |n: usize| Pool {
            resource: format!("fake.com/gpu-{n:02}"),
            units: vec![],
            shared_nodes: vec![],
            properties: vec![],
        };
        Ok((0..20).map(pool).collect())
    });
    let world = start(&policy, [("fake.wasm", fake)]);
    world.offer("fake.com/gpu-15").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let offers = world.plugins.offers().borrow().clone();
    let names: Vec<_> = offers.iter().map(|offer| offer.resource().to_string()).collect();
    assert_eq!(names.len(), 16, "{names:?}");
    assert!(!names.contains(&"fake.com/gpu-16".to_owned()));
}
