//! Lines 27 and 33: what the agent is told to publish.

use crate::devices::{DRIVER, Listed};
use crate::fake_agent::given;
use crate::world::{LONG, World, device};
use devgate_agent_protocol::{Effect, FromAgent, ToAgent};
use devgate_core::offer::{Facts, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[tokio::test]
async fn dra27_a_fault_is_a_taint_within_a_second_and_goes_with_it() {
    let world = World::new().await;
    let first = world.agent.list(DRIVER, 1).await;
    let names: Vec<_> = first.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["gpu0", "gpu1", "gpu2", "gpu3", "nic0", "nic1"]);
    assert!(first.iter().all(|device| device.taints.is_empty()));
    assert_eq!(world.agent.heard.borrow()[0].1, ToAgent::Drivers(vec![DRIVER.into()]));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begun = Instant::now();
    world.gpus.change("gpu1", |device| device.unhealthy = Some("too hot".into()));
    let list = world.agent.list(DRIVER, 2).await;
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    let taint = &list[1].taints[0];
    assert_eq!((taint.key.as_str(), taint.effect), ("devgate.dev/unhealthy", Effect::NoSchedule));
    world.gpus.change("gpu1", |device| device.unhealthy = None);
    assert_eq!(world.agent.list(DRIVER, 3).await, first);
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn dra27_where_taints_are_dropped_devices_are_left_out() {
    let world = World::new().await;
    let dropped = FromAgent::Published {
        driver: DRIVER.into(),
        generation: Some(4),
        dropped: vec!["taints".into()],
        error: None,
    };
    world.agent.says.lock().unwrap().published = Some(dropped);
    world.gpus.change("gpu1", |device| device.unhealthy = Some("too hot".into()));
    world.until("it is left out", || world.agent.lists(DRIVER).last().is_some_and(|list| list.len() == 5)).await;
    let status = world.status(DRIVER).unwrap();
    assert_eq!((status.generation, status.devices), (Some(4), 6));
    assert_eq!(status.dropped, ["taints"]);
    // What has no taints is published whole, and drops nothing.
    let fine = FromAgent::Published { driver: DRIVER.into(), generation: Some(5), dropped: Vec::new(), error: None };
    world.agent.says.lock().unwrap().published = Some(fine);
    world.gpus.change("gpu1", |device| device.unhealthy = None);
    world.until("it is back", || world.agent.lists(DRIVER).last().is_some_and(|list| list.len() == 6)).await;
}

#[tokio::test]
async fn dra35_a_device_that_lacks_what_is_required_is_not_published_and_stays_its_claims() {
    let world = World::new().await;
    world.agent.list(DRIVER, 1).await;
    world.allocate("a", &[given("gpu", "gpu1")]);
    world.gpus.change("gpu1", |device| device.facts = None);
    let names: Vec<_> = world.agent.list(DRIVER, 2).await.into_iter().map(|device| device.name).collect();
    assert_eq!(names, ["gpu0", "gpu2", "gpu3", "nic0", "nic1"]);
    // It was scheduled before.
    assert_eq!(world.prepare_one("a").await, Ok(vec![device("a", "gpu", "gpu1")]));
    assert_eq!(world.status(DRIVER).unwrap().devices, 6);
}

#[tokio::test]
async fn dra33_a_driver_without_devices_is_an_empty_list_and_one_that_goes_is_not_named() {
    let world = World::new().await;
    world.agent.list(DRIVER, 1).await;
    let (other, none) = (Listed::new("other.com/x", Some("other.com"), &[]), "other.com");
    world.devices.offer(&[Arc::clone(&world.gpus), other.clone()]);
    world.registered(none).await;
    assert_eq!(world.agent.list(none, 1).await, []);
    world.devices.offer(&[other]);
    let drivers = || {
        let heard = world.agent.heard.borrow();
        let drivers = heard.iter().rev().find_map(|(_, said)| match said {
            ToAgent::Drivers(drivers) => Some(drivers.clone()),
            _ => None,
        });
        drivers.unwrap_or_default()
    };
    world.until("only one is named", || drivers() == [none]).await;
    world.agent.list(none, 2).await;
}

#[tokio::test]
async fn dra33_a_driver_that_the_policy_has_and_nothing_offers_is_an_empty_list_after_a_while() {
    let (world, slow) = (World::idle(), "slow.com");
    world.agent.begin();
    let named = tokio::sync::watch::Sender::new([DRIVER.to_owned()].into());
    world.start(|config| {
        config.named = named.subscribe();
        config.unoffered = Duration::from_secs(1);
    });
    world.registered(DRIVER).await;
    let first = world.agent.list(DRIVER, 1).await;
    // It comes with a policy.
    let begun = Instant::now();
    named.send_replace([DRIVER, slow].map(str::to_owned).into());
    world.registered(slow).await;
    assert_eq!(world.agent.list(slow, 1).await, []);
    assert!(begun.elapsed() > Duration::from_millis(900), "{:?}", begun.elapsed());
    // One comes back in time, and one does not.
    for away in [Duration::from_millis(300), Duration::from_secs(2)] {
        let lists = world.agent.lists(DRIVER).len();
        world.devices.offer(&[]);
        tokio::time::sleep(away).await;
        assert_eq!(world.agent.lists(DRIVER).len() > lists, away > Duration::from_secs(1));
        assert_eq!(world.agent.lists(DRIVER).last().unwrap().is_empty(), away > Duration::from_secs(1));
        world.devices.offer(&[Arc::clone(&world.gpus)]);
        world.until("it is back", || world.agent.lists(DRIVER).last().unwrap()[..] == first[..4]).await;
    }
    assert!(world.registration(DRIVER).exists());
}

#[tokio::test]
async fn all_is_told_again_to_an_agent_that_comes_back_and_the_drivers_first() {
    let world = World::new().await;
    let first = world.agent.list(DRIVER, 1).await;
    world.until("it is connected", || world.watch.status().unwrap().agent.connected).await;
    world.agent.end().await;
    world.until("it is away", || world.watch.status().unwrap().agent.error.is_some()).await;
    world.agent.heard.send_replace(Vec::new());
    world.agent.begin();
    assert_eq!(world.agent.list(DRIVER, 1).await, first);
    assert_eq!(world.agent.heard.borrow()[0].1, ToAgent::Drivers(vec![DRIVER.into()]));
    let error = FromAgent::Published {
        driver: DRIVER.into(),
        generation: None,
        dropped: vec!["x".repeat(1_000); 100],
        error: Some(format!("the API server says\n{}", "no".repeat(1_000))),
    };
    world.agent.says.lock().unwrap().published = Some(error);
    world.gpus.change("gpu1", |device| device.unhealthy = Some("too hot".into()));
    world.until("it is shown", || world.status(DRIVER).unwrap().unpublished.is_some()).await;
    let status = world.status(DRIVER).unwrap();
    let why = status.unpublished.unwrap();
    assert!(why.starts_with("the API server says\\nno") && why.chars().count() <= 520, "{why}");
    assert!(status.dropped.iter().all(|field| field.chars().count() <= 65));
}

#[tokio::test]
async fn nothing_is_published_before_the_kubelet_knows_the_driver() {
    let world = World::idle();
    world.agent.begin();
    world.start(|_| {});
    let mut heard = world.agent.heard.subscribe();
    let named = heard.wait_for(|heard| !heard.is_empty());
    drop(tokio::time::timeout(LONG, named).await.unwrap().unwrap());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(world.agent.lists(DRIVER).len(), 0);
    world.registered(DRIVER).await;
    world.agent.list(DRIVER, 1).await;
}

#[tokio::test]
async fn dra37_more_than_a_line_takes_is_said_and_costs_that_driver_alone() {
    let world = World::new().await;
    let other = "other.com";
    let ids: Vec<String> = (0..10_000).map(|n| format!("x{n}")).collect();
    let many = Listed::new("other.com/x", Some(other), &ids.iter().map(String::as_str).collect::<Vec<_>>());
    let text = |n: u32| (format!("attribute{n}"), Value::Text("a text of some length that says much".into()));
    let facts = Arc::new(Facts { attributes: (0..10).map(text).collect(), ..Facts::default() });
    many.change_all(|device| device.facts = Some(Arc::clone(&facts)));
    world.devices.offer(&[Arc::clone(&world.gpus), many]);
    world.registered(other).await;
    let why = || world.status(other).and_then(|status| status.unpublished);
    world.until("it is said", || why().is_some_and(|why| why.contains("a message of more than 4194304 bytes"))).await;
    assert_eq!(world.status(other).unwrap().devices, 10_000);
    let lists = world.agent.lists(DRIVER).len();
    world.gpus.change("gpu1", |device| device.unhealthy = Some("too hot".into()));
    world.agent.list(DRIVER, lists + 1).await;
}

#[tokio::test]
async fn a_driver_that_the_policy_has_keeps_its_slices_while_its_plugin_starts() {
    let world = World::idle();
    world.agent.begin();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let named = tokio::sync::watch::Sender::new(names(&[DRIVER, "slow.com"]));
    world.start(|config| {
        config.named = named.subscribe();
    });
    world.registered(DRIVER).await;
    world.agent.list(DRIVER, 1).await;
    let drivers = || {
        let heard = world.agent.heard.borrow();
        let drivers = heard.iter().filter_map(|(_, said)| match said {
            ToAgent::Drivers(drivers) => Some(drivers.clone()),
            _ => None,
        });
        drivers.collect::<Vec<_>>()
    };
    assert_eq!(drivers(), [[DRIVER, "slow.com"]]);
    world.devices.offer(&[Arc::clone(&world.gpus), Listed::new("slow.com/x", Some("slow.com"), &["x"])]);
    world.registered("slow.com").await;
    world.agent.list("slow.com", 1).await;
    assert_eq!(drivers().len(), 1, "it was named before");
    world.devices.offer(&[Arc::clone(&world.gpus)]);
    named.send_replace(names(&[DRIVER]));
    world.until("it is named no more", || drivers().last().is_some_and(|last| *last == [DRIVER])).await;
}
