//! An API server that conflicts, refuses, drops, forgets and goes away.

use super::{DRIVER, FIRST, Host, devices, taint};
use crate::tests::fake::Fake;
use devgate_agent_protocol::{Counters, Device, Takes};
use http::Method;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const SLICES: &str = "/apis/resource.k8s.io/v1/resourceslices";

fn refuse(fake: &Fake, method: Method, status: u16, after: Option<&'static str>, message: &str) {
    fake.with(|state| state.refused.push_back((method, SLICES, status, after, message.to_owned())));
}

#[tokio::test]
async fn what_is_never_taken_stops_its_driver_until_the_devices_are_others() {
    let fake = Fake::new();
    let mut host = Host::of(&fake).await;
    refuse(&fake, Method::POST, 422, None, "ResourceSlice is invalid: spec.devices[0].name: no");
    host.publish(DRIVER, &devices(1)).await;
    let (driver, generation, _, error) = host.hear().await;
    assert_eq!((driver.as_str(), generation), (DRIVER, None));
    assert!(error.ends_with("422: ResourceSlice is invalid: spec.devices[0].name: no"), "{error}");
    host.publish("nic.example.com", &devices(1)).await;
    assert_eq!(host.hear().await, ("nic.example.com".to_owned(), Some(1), Vec::new(), String::new()));
    // Asked again, it is said again and not tried again.
    host.publish(DRIVER, &devices(1)).await;
    assert_eq!(host.hear().await.3, error);
    sleep(Duration::from_millis(1500)).await;
    assert_eq!(fake.with(|state| state.writes().len()), 2);
    host.publish(DRIVER, &devices(2)).await;
    assert_eq!(host.published().await, 1);
}

#[tokio::test]
async fn a_server_that_asks_for_patience_has_it() {
    let fake = Fake::new();
    let mut host = Host::of(&fake).await;
    refuse(&fake, Method::POST, 429, Some("3"), "slow down");
    host.publish(DRIVER, &devices(1)).await;
    assert!(host.hear().await.3.ends_with("429: slow down"));
    let start = Instant::now();
    assert_eq!(host.published().await, 1);
    assert!((2500..10_000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
}

#[tokio::test]
async fn passing_failures_are_tried_again_without_a_flood() {
    let fake = Fake::new();
    let mut host = Host::of(&fake).await;
    for (status, message) in [(403, "forbidden"), (500, "etcd"), (409, "modified")] {
        refuse(&fake, Method::POST, status, None, message);
    }
    host.publish(DRIVER, &devices(1)).await;
    assert!(host.hear().await.3.ends_with("create slice: 403: forbidden"));
    assert!(host.hear().await.3.ends_with("create slice: 500: etcd"));
    // A conflict is looked into, and is not the host's business.
    assert_eq!(host.published().await, 1);
    let tries = fake.with(|state| {
        let posts = state.log.iter().filter(|(_, method, _)| *method == Method::POST);
        posts.map(|(when, ..)| *when).collect::<Vec<_>>()
    });
    let gaps: Vec<u128> = tries.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
    assert!(gaps.len() == 3 && gaps[0] >= 1000 && gaps[1] >= 2000 && gaps[2] >= 4000, "{gaps:?}");
}

#[tokio::test]
async fn a_server_that_is_away_is_waited_for() {
    let fake = Fake::new();
    let mut host = Host::of(&fake).await;
    host.publish(DRIVER, &devices(1)).await;
    host.published().await;
    let away = Instant::now();
    fake.with(|state| {
        state.is_away = true;
        state.end_watches(None);
    });
    host.publish(DRIVER, &devices(2)).await;
    assert!(host.hear().await.3.contains("connection refused"));
    let asked = fake.with(|state| state.log.len());
    sleep(Duration::from_secs(4)).await;
    fake.with(|state| state.is_away = false);
    assert_eq!(host.published().await, 1);
    assert!(away.elapsed() < Duration::from_secs(20));
    assert!(fake.with(|state| state.log.len()) <= asked + 4);
}

#[tokio::test]
async fn what_is_too_long_ago_is_listed_again() {
    let fake = Fake::new();
    let mut host = Host::of(&fake).await;
    host.publish(DRIVER, &devices(1)).await;
    host.published().await;
    let lists = |state: &crate::tests::fake::State| {
        state.log.iter().filter(|(_, method, name)| *method == Method::GET && name == "resourceslices").count()
    };
    let before = fake.with(|state| lists(state));
    // The slice goes, and no event tells it.
    fake.with(|state| {
        state.slices.remove(FIRST);
        let status = json!({"kind": "Status", "code": 410, "message": "too old resource version"});
        state.end_watches(Some(&json!({"type": "ERROR", "object": status})));
    });
    fake.until("made again", |state| state.slices.contains_key(FIRST)).await;
    assert!(fake.with(|state| lists(state)) >= before + 2);
    // An end without a word goes on where it was.
    fake.with(|state| state.end_watches(None));
    fake.with(|state| state.delete(FIRST));
    fake.until("made again", |state| state.slices.contains_key(FIRST)).await;
}

#[tokio::test]
async fn a_server_that_never_knows_is_not_asked_without_end() {
    let fake = Fake::new();
    for _ in 0..100 {
        let never = (Method::GET, "watch=true", 410, None, "too old".to_owned());
        fake.with(|state| state.refused.push_back(never));
    }
    let _host = Host::of(&fake).await;
    sleep(Duration::from_secs(4)).await;
    let asked = fake.with(|state| state.log.len());
    assert!((3..=6).contains(&asked), "{asked}");
}

#[tokio::test]
async fn a_field_that_is_dropped_is_said_and_written_once() {
    let fake = Fake::new();
    fake.with(|state| state.drops = &["taints"]);
    let mut host = Host::of(&fake).await;
    let mut all = devices(1);
    taint(&mut all[0]);
    host.publish(DRIVER, &all).await;
    assert_eq!(host.hear().await, (DRIVER.to_owned(), Some(1), vec!["taints".to_owned()], String::new()));
    sleep(Duration::from_millis(2500)).await;
    assert_eq!(fake.with(|state| state.writes().len()), 1);
    // It is known of the server, whatever the devices have, until it is another version.
    host.publish(DRIVER, &devices(1)).await;
    assert_eq!(host.hear().await.2, ["taints"]);
    host.publish(DRIVER, &all).await;
    assert_eq!(host.hear().await.2, ["taints"]);
    fake.with(|state| {
        (state.drops, state.git_version) = (&[], "v1.37.0".to_owned());
        state.end_watches(None);
    });
    assert_eq!(host.hear().await, (DRIVER.to_owned(), Some(1), Vec::new(), String::new()));
    assert_eq!(
        fake.with(|state| state.slices[FIRST]["spec"]["devices"][0]["taints"][0]["key"].clone()),
        "devgate.dev/unhealthy"
    );
}

/// As versions before 1.36 do it, where gates are off.
#[tokio::test]
async fn what_an_older_server_drops_is_said_by_name_and_what_is_left_stands() {
    let fake = Fake::new();
    fake.with(|state| {
        state.drops = &["taints", "sharedCounters", "consumesCounters", "allowMultipleAllocations"];
    });
    let mut host = Host::of(&fake).await;
    let mut all = devices(2);
    taint(&mut all[0]);
    let amounts = BTreeMap::from([("gpu-1".to_owned(), 64)]);
    all[1].takes = Some(Takes { set: "gpu-1".to_owned(), amounts: amounts.clone() });
    all[1].shares = Some(4);
    let counters: Counters = [("gpu-1".to_owned(), amounts)].into();
    host.publish_with(DRIVER, &all, counters.clone()).await;
    let dropped: Vec<_> = ["counters", "shares", "taints"].map(str::to_owned).into();
    let said = "API server: keeps no counters of wholes and parts; others are published";
    assert_eq!(host.hear().await, (DRIVER.to_owned(), None, dropped.clone(), said.to_owned()));
    // The pool is not whole: no scheduler has seen both.
    sleep(Duration::from_millis(2500)).await;
    assert_eq!(fake.with(|state| state.writes().len()), 1);
    let spec = |n: usize| fake.with(|state| state.slices.values().nth(n).unwrap()["spec"].clone());
    assert_eq!(spec(0)["pool"]["resourceSliceCount"], 2);
    let alone = [Device { takes: None, ..all[1].clone() }];
    host.publish(DRIVER, &alone).await;
    let (_, generation, still, error) = host.hear().await;
    assert!(generation.is_some() && still == dropped && error.is_empty(), "{generation:?} {still:?} {error}");
    let shares = json!({"devgate.dev/shares": {"value": "4", "requestPolicy": {"default": "1", "validValues": ["1"]}}});
    assert_eq!((&spec(0)["devices"][0]["capacity"], &spec(0)["pool"]["resourceSliceCount"]), (&shares, &json!(1)));
    fake.with(|state| {
        (state.drops, state.git_version) = (&[], "v1.37.0".to_owned());
        state.end_watches(None);
    });
    assert_eq!(host.hear().await.2, [""; 0]);
    assert_eq!(spec(0)["devices"][0]["allowMultipleAllocations"], true);
    host.publish_with(DRIVER, &all, counters).await;
    assert_eq!(host.hear().await.3, "");
    assert_eq!(spec(1)["sharedCounters"], json!([{"name": "gpu-1", "counters": {"gpu-1": {"value": "64"}}}]));
    assert_eq!(spec(1)["devices"], json!(null));
}

#[tokio::test]
async fn a_field_that_is_kept_again_is_said_and_all_of_it_written() {
    let (fake, other) = (Fake::new(), "nic.example.com");
    fake.with(|state| state.drops = &["taints"]);
    let mut host = Host::of(&fake).await;
    let mut all = devices(2);
    taint(&mut all[0]);
    for driver in [DRIVER, other] {
        host.publish(driver, &all).await;
        assert_eq!(host.hear().await, (driver.to_owned(), Some(1), vec!["taints".to_owned()], String::new()));
    }
    // Switched on, in the same version; found by the next list.
    fake.with(|state| state.drops = &[]);
    taint(&mut all[1]);
    host.publish(DRIVER, &all).await;
    let mut told = [host.hear().await, host.hear().await];
    told.sort();
    assert_eq!(told, [DRIVER, other].map(|driver| (driver.to_owned(), Some(1), Vec::new(), String::new())));
    let taints = |name: &str| fake.with(|state| state.slices[name]["spec"]["devices"][0]["taints"].clone());
    assert_eq!(taints(&format!("00000-{other}-node-1")), taints(FIRST));
    assert_eq!(taints(FIRST)[0]["key"], "devgate.dev/unhealthy");
}

#[tokio::test]
async fn a_server_without_the_api_is_said_to_have_none() {
    let fake = Fake::new();
    for _ in 0..3 {
        refuse(&fake, Method::GET, 404, None, "");
    }
    let mut host = Host::of(&fake).await;
    host.publish(DRIVER, &devices(1)).await;
    let (_, generation, _, error) = host.hear().await;
    assert_eq!(generation, None);
    assert!(error.contains("list slices: 404: it has no resource.k8s.io/v1"), "{error}");
    assert_eq!(host.published().await, 1);
}

#[tokio::test]
async fn devices_by_the_thousand_are_written_at_the_pace() {
    let fake = Fake::new();
    let mut host = Host::of(&fake).await;
    let start = Instant::now();
    host.publish(DRIVER, &devices(64 * 20)).await;
    assert_eq!(host.published().await, 1);
    let took = start.elapsed();
    assert!((1500..20_000).contains(&took.as_millis()), "{took:?}");
    assert_eq!(fake.with(|state| state.writes().len()), 20);
}
