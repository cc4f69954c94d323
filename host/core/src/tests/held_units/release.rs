//! When a unit is released, and what a release that fails or is under way means.

use super::*;

/// What pods no longer have is released once, and not before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_pod_has_any_more_is_released_and_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, script) = (Pods::default(), Script::default());
    let allocations = Allocations::open(dir.path()).unwrap();
    let (_world, gpus) = ready(&policy(), script.gpus(), &allocations, pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    let expected = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), expected, "it is not known who had it before");
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said().len(), 3, "a pod has it");
    assert!(remembered(dir.path()).contains("\"unreleased\": true"));
    script.forget();
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    until("forgotten", || !is_remembered(dir.path(), FIRST)).await;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said().len(), 1);
    script.forget();
    pods.begin(&gpus, &[FIRST]).await;
    assert_eq!(script.said(), [format!("prepare {FIRST}"), format!("allocate {FIRST}")]);
}

/// The next pod comes before anybody has seen that the last one went.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_of_what_is_not_clean_releases_it_first() {
    let script = Script::default();
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    script.forget();
    give(&gpus, &[FIRST, SECOND]).await.unwrap();
    let both = format!("{FIRST} {SECOND}");
    assert_eq!(script.said(), [format!("release {FIRST}"), format!("prepare {both}"), format!("allocate {both}")]);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said().len(), 3, "who knows nothing of pods frees nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_fails_makes_the_device_unhealthy_until_it_succeeds() {
    let (pods, script) = (Pods::default(), Script::default());
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    script.fail("release", FailureKind::Io);
    pods.hold(&[]);
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    insta::assert_snapshot!(list, @r"
    0000:00:01.0 {1} plugin gpus: release failed: it does not answer
    0000:00:02.0 {}
    ");
    let refused = give(&gpus, &[FIRST]).await.unwrap_err();
    assert!(refused.to_string().contains("does not answer"), "{refused}");
    script.heal();
    wait(&gpus, all_healthy).await;
    script.forget();
    pods.begin(&gpus, &[FIRST]).await;
    assert_eq!(script.said().len(), 2, "{:?}", script.said());
}

/// The same where the next pod is there already: it does not get what is not clean.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_fails_where_the_release_before_it_does() {
    let script = Script::default();
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    script.forget();
    script.fail("release", FailureKind::Io);
    let refused = give(&gpus, &[FIRST]).await.unwrap_err();
    insta::assert_snapshot!(refused, @"plugin gpus: release failed: it does not answer");
    assert!(script.said().iter().all(|said| said.starts_with("release")), "{:?}", script.said());
    wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    script.heal();
    // Tried again without anybody who knows of pods: the pod that would have had it is lost.
    wait(&gpus, all_healthy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_waits_for_the_release_that_is_under_way() {
    let (pods, script) = (Pods::default(), Script::default());
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    tokio::time::sleep(A_WHILE).await;
    script.forget();
    let gate = script.wait("release");
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    let next = tokio::spawn({
        let gpus = Arc::clone(&gpus);
        async move { give(&gpus, &[FIRST]).await }
    });
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said().len(), 1, "nothing overtakes it");
    pods.set(|told| told.recorded = [FIRST.to_owned()].into());
    drop(gate);
    next.await.unwrap().unwrap();
    pods.hold(&[FIRST]);
    let expected = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), expected, "released once");
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said().len(), 3, "the new pod has it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_last_look_sees_with_a_pod_is_not_released() {
    let (pods, script) = (Pods::default(), Script::default());
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    pods.begin(&gpus, &[FIRST]).await;
    tokio::time::sleep(A_WHILE).await;
    script.forget();
    pods.set(|told| told.last_look = Some([FIRST.to_owned()].into()));
    pods.hold(&[]);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new());
    pods.set(|told| told.last_look = None);
    script.until(&format!("release {FIRST}")).await;
}

/// What a pod has that no look shows: in an init container, or while a new kubelet has not heard of its pods.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_source_has_given_away_by_its_own_records_is_not_released() {
    let (pods, script) = (Pods::default(), Script::default());
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    let both: BTreeSet<_> = [FIRST.to_owned(), SECOND.to_owned()].into();
    pods.set(|told| told.recorded = both.clone());
    give(&gpus, &[FIRST]).await.unwrap();
    give(&gpus, &[SECOND]).await.unwrap();
    pods.set(|told| told.held = [SECOND.to_owned()].into());
    tokio::time::sleep(A_WHILE).await;
    // Another process of the source, which shows no pod yet.
    pods.set(|told| (told.process, told.held) = (2, BTreeSet::new()));
    script.forget();
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new());
    // Its records cannot be read: nothing is taken for free.
    pods.set(|told| told.no_records = true);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new());
    pods.set(|told| (told.no_records, told.recorded) = (false, [SECOND.to_owned()].into()));
    script.until(&format!("release {FIRST}")).await;
    // It was seen with a pod by this very process, whose records may be older than what it shows.
    pods.set(|told| told.held = [SECOND.to_owned()].into());
    tokio::time::sleep(A_WHILE).await;
    pods.set(|told| told.held.clear());
    script.until(&format!("release {SECOND}")).await;
}

/// Between `prepare` and the answer the host is killed: it does not know whether a pod has the device, but that it is not clean.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_made_ready_before_the_host_was_killed_is_released_before_it_is_given() {
    let dir = tempfile::tempdir().unwrap();
    let (pods, script) = (Pods::default(), Script::default());
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (first_world, gpus) = ready(&policy(), script.gpus(), &allocations, HoldersFeed::none()).await;
    let gate = script.wait("prepare");
    let lost = tokio::spawn({
        let gpus = Arc::clone(&gpus);
        async move { give(&gpus, &[FIRST]).await }
    });
    script.until(&format!("prepare {FIRST}")).await;
    let state = remembered(dir.path());
    assert!(state.contains(FIRST), "noted before it is made ready: {state}");
    lost.abort();
    drop((first_world, gpus, allocations));
    // As the disk has it.
    let killed = tempfile::tempdir().unwrap();
    std::fs::write(killed.path().join("handed-out.json"), &state).unwrap();
    drop(gate);
    let script = Script::default();
    let allocations = Allocations::open(killed.path()).unwrap();
    pods.set(|told| told.recorded = [FIRST.to_owned()].into());
    let (_world, gpus) = ready(&policy(), script.gpus(), &allocations, pods.feed()).await;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new(), "a pod may have it");
    give(&gpus, &[FIRST]).await.unwrap();
    let expected = ["release", "prepare", "allocate"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), expected);
    pods.set(|told| told.recorded.clear());
    until("released", || script.said().len() == 4).await;
}
