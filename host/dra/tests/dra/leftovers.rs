//! Line 25: claims that the kubelet did not end.

use crate::devices::{DRIVER, GPU};
use crate::fake_agent::{Manner, given};
use crate::world::{World, consumer};
use devgate_agent_protocol::{Claim, ToAgent};
use devgate_core::Devices as _;
use devgate_dra::ClaimName;
use std::collections::BTreeSet;
use std::time::Duration;

#[tokio::test]
async fn dra25_what_is_left_is_released_with_both_witnesses_and_never_with_one() {
    let world = World::idle();
    world.agent.begin();
    let start = || {
        world.start(|config| {
            config.leftovers_first = Duration::from_millis(50);
            config.leftovers_every = Duration::from_millis(50);
            config.ask_timeout = Duration::from_millis(300);
        });
    };
    start();
    world.registered(DRIVER).await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    world.prepare_one("a").await.unwrap();
    let is_held = || !world.devices.held(&consumer("a")).is_empty();
    let stays = async |why: &str| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(is_held(), "{why}");
    };
    let pods = |names: &[&str]| {
        let name = |name: &&str| ClaimName { namespace: "team".into(), name: (*name).to_owned() };
        *world.in_use.lock().unwrap() = Some(names.iter().map(name).collect());
    };
    pods(&[]);
    stays("it is allocated").await;
    world.agent.claim("a", Claim::Unknown("the API server is away".into()));
    stays("nothing is known of it").await;
    *world.in_use.lock().unwrap() = None;
    world.agent.claim("a", Claim::Gone);
    stays("it is not known what pods have").await;
    pods(&["claim-a", "other"]);
    stays("a pod has it").await;
    pods(&["other"]);
    stays("a container of this boot may have it").await;
    world.agent.manner(Manner::Silent);
    world.devices.boot();
    stays("the agent does not answer").await;
    world.prepare_one("a").await.unwrap();
    world.agent.manner(Manner::Honest);
    stays("it was prepared again since the boot").await;
    // It boots another time.
    world.stop().await;
    start();
    let asked = world.agent.asked();
    world.until("it is released", || !is_held()).await;
    assert!(world.agent.asked() >= asked + 2, "it was gone twice");
    world.until("its file is gone", || world.files().is_empty()).await;
    // It has other devices by now, or none of this node.
    for others in [[].as_slice(), &[given("gpu", "gpu1")]] {
        world.allocate("a", &[given("gpu", "gpu0")]);
        world.prepare_one("a").await.unwrap();
        world.devices.boot();
        world.allocate("a", others);
        world.until("it is released again", || !is_held()).await;
    }
}

#[tokio::test]
async fn dra25_what_is_left_of_a_driver_that_the_policy_has_no_more_is_released() {
    let world = World::idle();
    world.devices.offer(&[]);
    world.devices.hold(consumer("a"), GPU, "gpu0", true, "gpu node-1 team claim-a");
    world.devices.boot();
    *world.in_use.lock().unwrap() = Some(BTreeSet::new());
    world.agent.begin();
    let named = tokio::sync::watch::Sender::new(BTreeSet::new());
    world.start(|config| {
        config.named = named.subscribe();
        config.leftovers_first = Duration::from_millis(50);
        config.leftovers_every = Duration::from_millis(50);
    });
    world.until("it is released", || world.devices.held(&consumer("a")).is_empty()).await;
    assert_eq!(world.agent.heard.borrow()[0].1, ToAgent::Drivers(Vec::new()));
}
