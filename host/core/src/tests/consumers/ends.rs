//! How a consumer's allocation ends.

use super::*;

/// A claim ends where its plugin is not there: its devices are given to no other until the plugin has released them, over two restarts and also under
/// another name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ends_without_its_plugin_stays_dirty_until_that_has_released_it() {
    let (dir, script) = (tempfile::tempdir().unwrap(), Script::default());
    let who = claim("d", "uid");
    let (world, gpus, devices) = host(dir.path(), &policy(), script.gpus()).await;
    get(&devices, &who, &[ask(&[FIRST])]).await.unwrap();
    drop((world, gpus, devices));
    let elsewhere = policy().replace("  gpus:", "  others:").replace("fake.com/gpu, ", "fake.com/none, ");
    let allocations = Allocations::open(dir.path()).unwrap();
    let mut other = Fake::gpus();
    other.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        pools[0].resource = "fake.com/none".into();
        pools[0].units.iter_mut().for_each(|unit| unit.id.insert_str(0, "other-"));
        Ok(pools)
    });
    let node = node();
    let around = around(&node, FakeLoader::with([("fake.wasm", other)]), &allocations);
    let plugins = Plugins::start(&parse(&elsewhere), around);
    let world = World { node, plugins };
    let devices = world.plugins.devices();
    assert_eq!(devices.held(&who).len(), 1);
    let dirty = devices.release(&who, BOUND).await;
    let Released::Dirty(units) = &dirty else { panic!("{dirty:?}") };
    assert_eq!((units[0].0.as_ref(), units[0].1.as_str()), (None, FIRST));
    assert_eq!(devices.release(&who, BOUND).await, Released::Nothing);
    assert_eq!(devices.held(&who), []);
    // Its hardware is not given under another name either.
    let offer = world.offer("fake.com/none").await;
    let listed = wait(&offer, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    assert!(listed.contains("its hardware was handed out as 0000:00:01.0 of fake.com/gpu"), "{listed}");
    assert!(world.plugins.flush(BOUND).await);
    drop((world, offer, devices, allocations));
    let left = std::fs::read_to_string(dir.path().join("handed-out.json")).unwrap();
    assert!(left.contains("\"version\": 2"), "version 0.1 gives nothing then: {left}");
    for restart in 0..2 {
        let allocations = Allocations::open(dir.path()).unwrap();
        assert_eq!(recorded(dir.path()), ["claim uid of d: 0000:00:01.0"], "restart {restart}");
        tokio::task::block_in_place(|| allocations.leave()).unwrap();
    }
    let allocations = Allocations::open(dir.path()).unwrap();
    script.forget();
    let (world, gpus) = ready(&policy(), script.gpus(), &allocations, HoldersFeed::none()).await;
    until("released", || script.said() == [format!("release {FIRST}")]).await;
    until("clean", || recorded(dir.path()).is_empty()).await;
    listed_healthy(&gpus).await;
    get(&world.plugins.devices(), &who, &[ask(&[FIRST])]).await.unwrap();
}

async fn listed_healthy(gpus: &Arc<dyn Offer>) {
    listed(gpus, [None, None]).await;
}

/// Without a life cycle there is nothing to be done, plugin or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ends_without_its_plugin_is_free_where_no_component_has_to_release_it() {
    let dir = tempfile::tempdir().unwrap();
    let who = claim("d", "uid");
    let (world, gpus, devices) = host(dir.path(), POLICY, Fake::gpus()).await;
    get(&devices, &who, &[ask(&[FIRST])]).await.unwrap();
    drop((world, gpus, devices));
    let allocations = Allocations::open(dir.path()).unwrap();
    let around = around(&node(), FakeLoader::with([]), &allocations);
    let plugins = Plugins::start(&parse(POLICY), around);
    assert_eq!(plugins.devices().release(&who, BOUND).await, Released::Clean);
    until("forgotten", || recorded(dir.path()).is_empty()).await;
}

/// A component that fails to release, or takes its time: the consumer is done, the device is not given, and it is tried again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_fails_or_hangs_keeps_the_device_and_not_the_consumer() {
    let (dir, script) = (tempfile::tempdir().unwrap(), Script::default());
    let (_world, gpus, devices) = host(dir.path(), &policy(), script.gpus()).await;
    let who = claim("d", "uid");
    get(&devices, &who, &[ask(&[FIRST])]).await.unwrap();
    script.fail("release", FailureKind::Io);
    assert!(matches!(devices.release(&who, BOUND).await, Released::Dirty(units) if units.len() == 1));
    assert_eq!(devices.release(&who, BOUND).await, Released::Nothing);
    listed(&gpus, [Some("plugin gpus: release failed: it does not answer"), None]).await;
    get(&devices, &who, &[ask(&[FIRST])]).await.unwrap_err();
    script.heal();
    listed_healthy(&gpus).await;
    get(&devices, &who, &[ask(&[FIRST])]).await.unwrap();
    let goes_on = script.wait("release");
    let dirty = devices.release(&who, Duration::from_millis(50)).await;
    assert!(matches!(dirty, Released::Dirty(_)), "{dirty:?}");
    drop(goes_on);
    until("released in the end", || recorded(dir.path()).is_empty()).await;
    listed_healthy(&gpus).await;
}

/// After a restart a claim has what it had: with today's nodes, and never more; less is gone, and says why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_is_restored_as_it_was_or_gone() {
    let dir = tempfile::tempdir().unwrap();
    let who = claim("d", "uid");
    let (world, gpus, devices) = host(dir.path(), POLICY, Fake::gpus()).await;
    let told = get(&devices, &who, &[ask(&[FIRST])]).await.unwrap();
    assert_eq!(told[0].reply.nodes[0].host_path, "/dev/dri/card0");
    drop((world, gpus, devices));
    let more = POLICY.replace("{ids}\"\n", "{ids}\"\n        \"NEW_{RESOURCE}\": \"new\"\n");
    for (policy, node_text, gone) in [
        (POLICY.to_owned(), NODE.to_owned(), None),
        (more, NODE.to_owned(), None),
        (
            POLICY.replace("GPUS_{RESOURCE}", "OTHERS_{RESOURCE}"),
            NODE.to_owned(),
            Some("environment variable GPUS_FAKE_COM_GPU is not granted (containers.env)"),
        ),
        (
            POLICY.replace("{subsystem: drm, name: \"card*\"}", "{subsystem: drm, name: \"card*\", access: r}"),
            NODE.to_owned(),
            Some("node /dev/dri/card0 was given with access rw, and the policy grants r now"),
        ),
    ] {
        let allocations = Allocations::open(dir.path()).unwrap();
        let node = devgate_fake_node::RecordedNode::parse("test", &node_text).unwrap();
        let mut fake = Fake::gpus();
        fake.allocate = Box::new(|_, _| Ok(devgate_types::Edits::default()));
        let around = around(&node, FakeLoader::with([("fake.wasm", fake)]), &allocations);
        let plugins = Plugins::start(&parse(&policy), around);
        let world = World { node, plugins };
        let offer = world.offer(GPU).await;
        wait(&offer, |list| list.devices.len() == 2).await;
        let devices = world.plugins.devices();
        assert_eq!(devices.held(&who), told, "as it was told");
        let restored = devices.restore(&who, told[0].id).await.unwrap();
        match gone {
            None => assert_eq!(restored, Ok(told[0].clone())),
            Some(why) => {
                let error = restored.unwrap_err();
                assert_eq!(error.why, why);
                let again = get(&devices, &who, &[ask(&[FIRST])]).await.unwrap_err();
                assert_eq!(again, format!("allocation {} of resource fake.com/gpu: {why}", told[0].id));
            }
        }
    }
}

/// A host that is killed while a component makes devices ready: a claim is asked for again and begins anew, a lease reached no caller.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_reached_no_consumer_before_the_host_was_killed_is_over_or_begins_anew() {
    let (dir, script) = (tempfile::tempdir().unwrap(), Script::default());
    let (world, gpus, devices) = host(dir.path(), &policy(), script.gpus()).await;
    let (one, two) = (claim("d", "uid"), lease("x"));
    let gate = script.wait("prepare");
    let other = script.wait("prepare");
    let lost = [(one.clone(), FIRST), (two.clone(), SECOND)].map(|(who, id)| {
        let devices = Arc::clone(&devices);
        tokio::spawn(async move { get(&devices, &who, &[ask(&[id])]).await })
    });
    until("both are made ready", || script.said().len() == 2).await;
    assert_eq!(recorded(dir.path()).len(), 2, "on the disk before anything is done to them");
    lost.iter().for_each(tokio::task::JoinHandle::abort);
    drop((world, gpus, devices));
    // What a killed host leaves.
    let killed = tempfile::tempdir().unwrap();
    let copied = std::process::Command::new("cp").arg("-a").arg(dir.path().join(".")).arg(killed.path()).status();
    assert!(copied.unwrap().success());
    drop((gate, other));
    let script = Script::default();
    let allocations = Allocations::open(killed.path()).unwrap();
    let (world, gpus) = super::held_units::world(&policy(), script.gpus(), &allocations, HoldersFeed::none()).await;
    let devices = world.plugins.devices();
    listed(&gpus, [Some("it is in use by claim uid of d"), None]).await;
    until("the lease is over", || recorded(killed.path()) == ["claim uid of d: 0000:00:01.0"]).await;
    assert_eq!(script.said(), [format!("release {SECOND}")]);
    script.forget();
    assert!(!devices.held(&one)[0].told);
    get(&devices, &one, &[ask(&[FIRST])]).await.unwrap();
    assert!(devices.held(&one)[0].told);
    let calls = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), calls);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_ends_when_its_time_is_over_unless_it_is_renewed() {
    let dir = tempfile::tempdir().unwrap();
    let (_world, gpus, devices) = host(dir.path(), POLICY, Fake::gpus()).await;
    let short = Some(Duration::from_millis(300));
    for (name, id) in [("a", FIRST), ("b", SECOND)] {
        devices.allocate(&lease(name), &[ask(&[id])], short).await.unwrap();
    }
    assert!(devices.renew(&lease("b"), Some(Duration::from_secs(3_600))));
    assert!(!devices.renew(&lease("none"), None));
    listed(&gpus, [None, Some("it is in use by lease b")]).await;
    until("one is left", || recorded(dir.path()) == ["lease b: 0000:00:02.0"]).await;
    tokio::time::sleep(A_WHILE).await;
    let left: Vec<_> = devices.held(&lease("b")).iter().map(|granted| granted.left).collect();
    let hour = Duration::from_secs(3_500)..=Duration::from_secs(3_600);
    assert!(matches!(left[..], [Some(left)] if hour.contains(&left)), "{left:?}");
    assert!(devices.renew(&lease("b"), None));
    assert_eq!(devices.held(&lease("b"))[0].left, None);
    assert!(devices.renew(&lease("b"), Some(Duration::ZERO)));
    listed_healthy(&gpus).await;
}

/// The disk is gone: an end is an end all the same, and nothing is given that cannot be recorded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_does_not_fail_for_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let (_world, _gpus, devices) = host(dir.path(), POLICY, Fake::gpus()).await;
    let who = claim("d", "uid");
    get(&devices, &who, &[ask(&[FIRST])]).await.unwrap();
    std::fs::remove_dir_all(dir.path()).unwrap();
    assert_eq!(devices.release(&who, BOUND).await, Released::Clean);
    assert_eq!(devices.held(&who), []);
    let refused = get(&devices, &who, &[ask(&[SECOND])]).await.unwrap_err();
    assert!(refused.contains("cannot be recorded"), "{refused}");
    assert_eq!(devices.held(&who), []);
}
