//! Lines 17 and 22 to 24: pods that have ended.

use crate::devices::{DRIVER, Listed};
use crate::fake_agent::given;
use crate::world::{World, consumer, device};
use devgate_agent_protocol::ToAgent;
use devgate_core::Devices as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

#[tokio::test]
async fn dra17_dra24_a_claim_that_is_over_has_neither_file_nor_devices() {
    let world = World::new().await;
    world.allocate("a", &[given("gpu", "gpu0"), given("nic", "nic0")]);
    world.prepare_one("a").await.unwrap();
    assert_eq!(world.files().len(), 2);
    assert_eq!(world.status(crate::devices::DRIVER).unwrap().claims, 1);
    assert_eq!(world.unprepare(&["a"]).await["a"], "");
    assert_eq!(world.files().len(), 0);
    assert_eq!(world.devices.held(&consumer("a")), []);
    // Of the same name, and another one.
    world.allocate("b", &[given("gpu", "gpu0")]);
    assert_eq!(world.prepare_one("b").await, Ok(vec![device("b", "gpu", "gpu0")]));
}

#[tokio::test]
async fn dra22_what_is_unknown_is_over_and_the_agent_is_not_asked() {
    let world = World::new().await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    world.prepare_one("a").await.unwrap();
    let asked = world.agent.asked();
    world.agent.end().await;
    world.stop().await;
    world.start(|_| {});
    world.registered(crate::devices::DRIVER).await;
    for _ in 0..2 {
        let all = world.unprepare(&["a", "never", "../odd"]).await;
        assert_eq!(all.len(), 3);
        assert!(all.values().all(String::is_empty), "{all:?}");
    }
    assert_eq!(world.agent.asked(), asked);
    assert_eq!(world.files().len(), 0);
}

#[tokio::test]
async fn dra22_claims_end_whose_plugin_does_not_load_or_whose_driver_the_policy_has_no_more() {
    for named in [[DRIVER].as_slice(), &[]] {
        let world = World::new().await;
        for uid in ["a", "b"] {
            world.allocate(uid, &[given("gpu", if uid == "a" { "gpu0" } else { "gpu1" })]);
            world.prepare_one(uid).await.unwrap();
        }
        world.stop().await;
        let offers: [Arc<Listed>; 0] = [];
        world.devices.offer(&offers);
        world.agent.heard.send_replace(Vec::new());
        let policy = watch::Sender::new(named.iter().map(|name| (*name).to_owned()).collect());
        world.start(|config| config.named = policy.subscribe());
        world.registered(DRIVER).await;
        world.until("the agent is told", || !world.agent.heard.borrow().is_empty()).await;
        let is_named = ToAgent::Drivers(named.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(world.agent.heard.borrow()[0].1, is_named);
        world.allocate("c", &[given("gpu", "gpu2")]);
        let error = world.prepare_one("c").await.unwrap_err();
        assert!(error.ends_with("device gpu2: there is none of this name"), "{error}");
        let socket = world.registration(DRIVER);
        for uid in ["a", "b"] {
            assert!(socket.exists());
            assert_eq!(world.unprepare(&[uid]).await[uid], "");
            assert_eq!(world.devices.held(&consumer(uid)), []);
        }
        world
            .until("it is told of where the policy has it", || world.status(DRIVER).is_some() != named.is_empty())
            .await;
        assert!(socket.exists(), "for pods whose claims have nothing yet");
        assert!(world.agent.lists(DRIVER).is_empty(), "its slices stand, or are the agent's to remove");
    }
}

#[tokio::test]
async fn dra23_what_is_not_released_is_over_for_its_claim() {
    let world = World::new().await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    world.prepare_one("a").await.unwrap();
    world.devices.dirty.lock().unwrap().insert("gpu0".into(), Duration::from_millis(200));
    let begun = Instant::now();
    assert_eq!(world.unprepare(&["a"]).await["a"], "");
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert_eq!(world.files().len(), 0);
}

#[tokio::test]
async fn a_file_that_cannot_be_removed_is_an_error_and_it_is_tried_again() {
    let world = World::new().await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    world.prepare_one("a").await.unwrap();
    let path = std::fs::read_dir(world.cdi()).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let error = &world.unprepare(&["a"]).await["a"];
    assert!(error.starts_with("claim team/claim-a (a): file ") && error.contains("could not be removed"), "{error}");
    assert_eq!(world.devices.held(&consumer("a")).len(), 1);
    std::fs::remove_dir(&path).unwrap();
    assert_eq!(world.unprepare(&["a"]).await["a"], "");
}
