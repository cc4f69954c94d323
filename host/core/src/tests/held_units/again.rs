//! Hardware that goes, comes back or has another name while it is held or released.

use super::*;

/// What a pod had before the memory was lost is released after it, and so is what had an unknown owner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_pods_have_is_known_again_where_the_memory_was_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, script) = (Pods::default(), Script::default());
    pods.hold(&[FIRST]);
    let allocations = Allocations::open(dir.path()).unwrap();
    let policy = policy() + "    prepare: start\n";
    let (_world, gpus) = ready(&policy, script.gpus(), &allocations, pods.feed()).await;
    let started = || async { gpus.start(&strings(&[FIRST])).await.is_ok() };
    let deadline = Instant::now() + TIMEOUT;
    while !started().await {
        assert!(Instant::now() < deadline, "a container of a pod that runs starts again");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    script.forget();
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    script.forget();
    for _ in 0..2 {
        pods.begin(&gpus, &[SECOND]).await;
        gpus.take_back(&strings(&[SECOND])).await;
    }
    let calls = ["release", "allocate", "release", "allocate", "release"].map(|call| format!("{call} {SECOND}"));
    assert_eq!(script.said(), calls, "released before it is given, once");
}

/// What a restart cleans not: each unit is released once before it is given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_can_say_who_had_it_is_released_once_however_often_the_host_starts() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, script) = (Pods::default(), Script::default());
    pods.hold(&[FIRST]);
    let policy = policy() + "    prepare: start\n";
    let start = || async { ready(&policy, script.gpus(), &Allocations::open(dir.path()).unwrap(), pods.feed()).await };
    let lost = start().await;
    until("saved", || remembered(dir.path()).contains(FIRST)).await;
    drop(lost);
    // No pod gets it from the second host, one from the third one.
    drop(start().await);
    let third = start().await;
    pods.begin(&third.1, &[FIRST, SECOND]).await;
    pods.hold(&[FIRST]);
    script.until(&format!("release {SECOND}")).await;
    let both = ["release", "allocate"].map(|call| format!("{call} {FIRST} {SECOND}"));
    assert_eq!(script.said().first_chunk(), Some(&both));
    until("saved", || remembered(dir.path()).contains(SECOND) && !is_remembered(dir.path(), SECOND)).await;
    drop(third);
    script.forget();
    let fourth = start().await;
    give(&fourth.1, &[SECOND]).await.unwrap();
    assert_eq!(script.said().first(), Some(&format!("allocate {SECOND}")));
}

/// A kubelet writes its records when it allocates something: on a quiet node they name for long what pods do not have any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hardware_that_has_another_name_by_now_is_free_when_its_pod_was_seen_to_go() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (first, gpus) = ready(POLICY, Fake::gpus(), &allocations, HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    drop((first, gpus));
    let pods = Pods::default();
    pods.hold(&[FIRST]);
    pods.set(|told| told.recorded = [FIRST.to_owned()].into());
    let mut other = Fake::gpus();
    other.enumerate = Box::new(|host| {
        let mut pools = gpu_pool(host)?;
        pools[0].units.iter_mut().for_each(|unit| unit.id.insert_str(0, "gpu-"));
        Ok(pools)
    });
    let allocations = Allocations::open(dir.path()).unwrap();
    let (_world, gpus) = world(POLICY, other, &allocations, pods.feed()).await;
    wait(&gpus, |list| !list.devices.is_empty()).await;
    tokio::time::sleep(A_WHILE).await;
    let list = show(&gpus.devices().borrow());
    assert!(list.contains("was handed out as 0000:00:01.0"), "{list}");
    pods.set(|told| told.held.clear());
    wait(&gpus, all_healthy).await;
}

/// What this kubelet was never seen to show may be with a pod that it does not show.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hardware_that_has_another_name_by_now_stays_held_while_the_records_name_it() {
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (world, gpus) = ready(POLICY, Fake::gpus(), &allocations, HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    drop((world, gpus));
    let pods = Pods::default();
    pods.hold(&[FIRST]);
    let allocations = Allocations::open(dir.path()).unwrap();
    let unclaimed = tokio::spawn(reclaim(Registry::default(), allocations.clone(), pods.feed()));
    tokio::time::sleep(A_WHILE).await;
    pods.set(|told| {
        told.held.clear();
        told.recorded = [FIRST.to_owned()].into();
        told.process += 1;
    });
    tokio::time::sleep(A_WHILE).await;
    assert!(!allocations.is_empty(), "another kubelet has shown it");
    pods.set(|told| told.recorded.clear());
    until("forgotten", || allocations.is_empty()).await;
    unclaimed.abort();
}

/// A device may come back as its pod left it: what it was told while it was away it has not heard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_released_while_it_was_away_is_released_again() {
    let (pods, script) = (Pods::default(), Script::default());
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (world, gpus) = ready(&policy(), script.gpus(), &allocations, pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    tokio::time::sleep(A_WHILE).await;
    let card = world.node.node_at("/dev/dri/card0").unwrap();
    let (path, number) = (card.path.clone(), card.number);
    world.node.apply(devgate_fake_node::Change::RemoveNode(path.clone())).unwrap();
    wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    script.forget();
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    let expected = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
    until("forgotten", || !is_remembered(dir.path(), FIRST)).await;
    let kept = remembered(dir.path());
    world.node.apply(devgate_fake_node::Change::AddNode { path, number }).unwrap();
    wait(&gpus, all_healthy).await;
    script.forget();
    pods.begin(&gpus, &[FIRST]).await;
    assert_eq!(script.said(), expected);
    // The same for a host that starts meanwhile.
    drop(world);
    pods.hold(&[]);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("handed-out.json"), kept).unwrap();
    let allocations = Allocations::open(dir.path()).unwrap();
    let (_world, gpus) = ready(&policy(), script.gpus(), &allocations, pods.feed()).await;
    script.forget();
    pods.begin(&gpus, &[FIRST]).await;
    assert_eq!(script.said(), expected);
}

/// Takes a node away and puts it back before anybody has looked.
fn flicker(world: &World) {
    let card = world.node.node_at("/dev/dri/card0").unwrap();
    let (path, number) = (card.path.clone(), card.number);
    let there_again = devgate_fake_node::Change::AddNode { path, number };
    for change in [devgate_fake_node::Change::RemoveNode(card.path), there_again] {
        world.node.apply(change).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_went_away_and_came_back_while_it_was_released_is_released_again() {
    let (pods, script) = (Pods::default(), Script::default());
    let (world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    tokio::time::sleep(A_WHILE).await;
    script.forget();
    let goes_on = script.wait("release");
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    flicker(&world);
    drop(goes_on);
    script.forget();
    pods.begin(&gpus, &[FIRST]).await;
    let expected = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), expected);
}

/// The same where the next pod waits for it, and gets nothing that does not stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_went_away_while_it_was_released_for_the_next_pod_is_released_again_or_not_given() {
    let script = Script::default();
    let (world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), HoldersFeed::none()).await;
    let world = Arc::new(world);
    for (times, given) in [(1, true), (2, false)] {
        give(&gpus, &[FIRST]).await.unwrap();
        let held: Vec<_> = (0..times).map(|_| script.wait("release")).collect();
        script.forget();
        let next = tokio::spawn({
            let gpus = Arc::clone(&gpus);
            async move { give(&gpus, &[FIRST]).await }
        });
        for (n, goes_on) in held.into_iter().enumerate() {
            until("released", || script.said().len() == n + 1).await;
            flicker(&world);
            drop(goes_on);
        }
        let next = next.await.unwrap();
        let mut expected = vec![format!("release {FIRST}"); 2];
        if given {
            expected.extend(["prepare", "allocate"].map(|call| format!("{call} {FIRST}")));
        }
        assert_eq!((next.is_ok(), script.said()), (given, expected), "{next:?}");
    }
    // What it is refused for is over.
    give(&gpus, &[FIRST]).await.unwrap();
}
