//! Preparing a unit, and undoing that.

use super::*;

/// What is not made ready is released, and tried again before anybody is offered it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_preparation_is_undone_and_tried_again() {
    let script = Script::default();
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), HoldersFeed::none()).await;
    script.fail("prepare", FailureKind::Io);
    let refused = give(&gpus, &[FIRST]).await.unwrap_err();
    insta::assert_snapshot!(refused, @"plugin gpus: prepare failed: it does not answer");
    assert_eq!(script.said(), [format!("prepare {FIRST}"), format!("release {FIRST}")]);
    let list = wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    assert!(list.contains("0000:00:01.0 {1} plugin gpus: prepare failed"), "{list}");
    script.heal();
    wait(&gpus, all_healthy).await;
    script.forget();
    // Nothing is wrong with what only is not ready yet.
    script.fail("prepare", FailureKind::Busy);
    let busy = give(&gpus, &[FIRST]).await.unwrap_err();
    assert!(matches!(busy, AllocateError::Busy(_)), "{busy}");
    tokio::time::sleep(A_WHILE).await;
    assert!(all_healthy(&gpus.devices().borrow()));
    script.heal();
    script.fail("allocate", FailureKind::Io);
    script.forget();
    give(&gpus, &[SECOND]).await.unwrap_err();
    let expected = ["prepare", "allocate", "release"].map(|call| format!("{call} {SECOND}"));
    assert_eq!(script.said(), expected);
}

/// An answer that reached no kubelet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_taken_back_is_released_unless_somebody_had_it_before() {
    let script = Script::default();
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    script.forget();
    gpus.take_back(&strings(&[FIRST, SECOND])).await;
    assert_eq!(script.said(), [format!("release {FIRST}")], "the other one was not given");
    gpus.take_back(&strings(&[FIRST])).await;
    assert_eq!(script.said().len(), 1, "it is clean");
    let dir = tempfile::tempdir().unwrap();
    let allocations = Allocations::of_new_node(dir.path()).unwrap();
    let (_world, gpus) = ready(POLICY, Fake::gpus(), &allocations, HoldersFeed::none()).await;
    give(&gpus, &[FIRST]).await.unwrap();
    give(&gpus, &[FIRST]).await.unwrap();
    gpus.take_back(&strings(&[FIRST])).await;
    give(&gpus, &[SECOND]).await.unwrap();
    gpus.take_back(&strings(&[SECOND])).await;
    until("forgotten", || !remembered(dir.path()).contains(SECOND)).await;
    assert!(remembered(dir.path()).contains(FIRST), "an init container may have had it");
}

/// By the policy's word, units are made ready when a container starts, as often as it does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn units_are_made_ready_at_each_start_where_the_policy_says_so() {
    let (pods, script) = (Pods::default(), Script::default());
    let policy = policy() + "    prepare: start\n";
    let (world, gpus) = ready(&policy, script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    assert!(gpus.starts());
    let refused = gpus.start(&strings(&[FIRST])).await.unwrap_err();
    insta::assert_snapshot!(refused, @"plugin gpus: resource fake.com/gpu: device 0000:00:01.0 was not allocated to any container");
    pods.begin(&gpus, &[FIRST]).await;
    gpus.start(&strings(&[FIRST])).await.unwrap();
    gpus.start(&strings(&[FIRST])).await.unwrap();
    let expected = ["allocate", "prepare", "prepare"].map(|call| format!("{call} {FIRST}"));
    assert_eq!(script.said(), expected);
    script.fail("prepare", FailureKind::Io);
    gpus.start(&strings(&[FIRST])).await.unwrap_err();
    wait(&gpus, |list| list.devices.iter().any(|d| d.unhealthy.is_some())).await;
    script.heal();
    gpus.start(&strings(&[FIRST])).await.unwrap();
    wait(&gpus, all_healthy).await;
    // What is not what it was when it was allocated starts nothing.
    let card = world.node.node_at("/dev/dri/card0").unwrap();
    world.node.apply(devgate_fake_node::Change::RemoveNode(card.path)).unwrap();
    let refused = gpus.start(&strings(&[FIRST])).await.unwrap_err();
    assert!(refused.to_string().contains("/dev/dri/card0"), "{refused}");
}

/// A task that looks at one unit after the other may have looked before the next one was given anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_given_anew_while_others_are_released_is_not_released() {
    let (pods, script) = (Pods::default(), Script::default());
    let (_world, gpus) = ready(&policy(), script.gpus(), &Allocations::forgetful(), pods.feed()).await;
    pods.begin(&gpus, &[FIRST, SECOND]).await;
    tokio::time::sleep(A_WHILE).await;
    script.forget();
    let gate = script.wait("release");
    pods.hold(&[]);
    script.until(&format!("release {FIRST}")).await;
    // The next release waits for this one to be given up, with a deadline of its own: later than this one's by so much.
    tokio::time::sleep(A_WHILE).await;
    script.fail("allocate", FailureKind::Io);
    give(&gpus, &[SECOND]).await.unwrap_err();
    script.heal();
    pods.begin(&gpus, &[SECOND]).await;
    script.forget();
    drop(gate);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(script.said(), Vec::<String>::new());
}
