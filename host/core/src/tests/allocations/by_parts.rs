//! Hardware that was handed out, offered in parts or beside others after a restart.

use super::*;

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
    // Where one of two plugins lets several units be made of its hardware, the other one has not said so of its own.
    let several = format!("several of {}", gpu(1, "card*"));
    let plugin = |name: &str, hardware: &str| match hardware.strip_prefix("several of ") {
        Some(hardware) => format!("{}    shares-hardware: true\n", entry(name, hardware)),
        None => entry(name, hardware),
    };
    for (why, one, of_one, two, of_two) in [
        ("the same device", gpu(1, "card*"), "pci", gpu(1, "renderD*"), "pci"),
        ("a part of it", gpu(1, "card*"), "pci", render.to_owned(), "drm"),
        ("another node of it", card.to_owned(), "drm", render.to_owned(), "drm"),
        ("what it is a part of", render.to_owned(), "drm", gpu(1, "card*"), "pci"),
        ("a node of its own that others share", kvm(false), "misc", shares.clone(), "pci"),
        ("a node that it shares", shares, "pci", kvm(false), "misc"),
        ("what it shares with its own", several.clone(), "pci", gpu(1, "renderD*"), "pci"),
        ("what others share with their own", gpu(1, "renderD*"), "pci", several, "pci"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let open = || Allocations::of_new_node(dir.path()).unwrap();
        let head = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
        let alone = format!("{head}{}", plugin("two", &two));
        let both = format!("{head}{}{}", plugin("one", &one), plugin("two", &two));
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
