//! The publisher and the watch, before an API server that does what those do.

use super::{Input, Publisher};
use crate::fake::Fake;
use crate::server::{Pace, watch};
use devgate_agent_protocol::{Device, Effect, FromAgent, Taint, Value};
use http::Method;
use serde_json::json;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep, timeout};

const DRIVER: &str = "gpu.example.com";
const SLICES: &str = "/apis/resource.k8s.io/v1/resourceslices";
const FIRST: &str = "00000-gpu.example.com-node-1";

struct Host {
    say: Sender<Input>,
    hear: Receiver<FromAgent>,
}

impl Host {
    async fn of(fake: &Fake) -> Self {
        let (say, inputs) = channel(4);
        let (tell, events) = channel(16);
        let (server, pace) = (fake.server(), Pace::new());
        tokio::spawn(watch(server.clone(), pace.clone(), "node-1".to_owned(), tell));
        tokio::spawn(Publisher::new(server, pace, "node-1".to_owned()).run(inputs, events));
        Self::again(say, 1, &[DRIVER, "nic.example.com"]).await
    }

    async fn again(say: Sender<Input>, id: u64, drivers: &[&str]) -> Self {
        let (to, hear) = channel(64);
        say.send(Input::Host(id, to)).await.unwrap();
        say.send(Input::Drivers(id, drivers.iter().map(|name| (*name).to_owned()).collect())).await.unwrap();
        Self { say, hear }
    }

    async fn publish(&self, driver: &str, devices: &[Device]) {
        self.say.send(Input::Publish(1, driver.to_owned(), devices.to_vec())).await.unwrap();
    }

    /// The driver, generation, what is dropped, and the error of the next answer.
    async fn hear(&mut self) -> (String, Option<i64>, Vec<String>, String) {
        match timeout(Duration::from_secs(20), self.hear.recv()).await.expect("an answer").expect("a publisher") {
            FromAgent::Published { driver, generation, dropped, error } => {
                (driver, generation, dropped, error.unwrap_or_default())
            }
            other @ FromAgent::Claim { .. } => panic!("{other:?}"),
        }
    }

    async fn published(&mut self) -> i64 {
        let (_, generation, _, error) = self.hear().await;
        assert_eq!(error, "");
        generation.unwrap()
    }
}

fn devices(most: usize) -> Vec<Device> {
    let device =
        |n| Device { name: format!("gpu-{n}"), attributes: [].into(), capacity: [].into(), taints: Vec::new() };
    (0..most).map(device).collect()
}

fn taint(device: &mut Device) {
    let key = "devgate.dev/unhealthy".to_owned();
    device.taints = vec![Taint { key, value: None, effect: Effect::NoSchedule }];
}

#[tokio::test]
async fn what_changes_is_written_and_nothing_else() {
    let fake = Fake::new();
    let mut host = Host::of(&fake).await;
    let mut all = devices(130);
    host.publish(DRIVER, &all).await;
    assert_eq!(host.published().await, 1);
    assert_eq!(fake.with(|state| state.writes().len()), 3);
    let slice = fake.with(|state| state.slices[FIRST].clone());
    assert_eq!(slice["metadata"]["labels"]["app.kubernetes.io/managed-by"], "devgate");
    assert_eq!(slice["metadata"]["ownerReferences"][0]["uid"], "node-uid");
    assert_eq!(slice["spec"]["pool"], json!({"name": "node-1", "generation": 1, "resourceSliceCount": 3}));
    // One slice, in its generation; the time of a taint stays.
    taint(&mut all[70]);
    host.publish(DRIVER, &all).await;
    assert_eq!(host.published().await, 1);
    assert_eq!(fake.with(|state| state.writes().split_off(3)), ["PUT 00001-gpu.example.com-node-1"]);
    // Two: all of them, in the next.
    taint(&mut all[0]);
    taint(&mut all[129]);
    host.publish(DRIVER, &all).await;
    assert_eq!(host.published().await, 2);
    assert_eq!(fake.with(|state| state.writes().len()), 7);
    // The same again, as from a host that began anew: an answer and nothing else.
    host.publish(DRIVER, &all).await;
    assert_eq!(host.published().await, 2);
    // None: one that is empty.
    host.publish(DRIVER, &[]).await;
    assert_eq!(host.published().await, 3);
    let writes = fake.with(|state| state.writes().split_off(7));
    assert_eq!(writes.iter().filter(|write| write.starts_with("DELETE")).count(), 2);
    assert_eq!(writes.last().unwrap(), &format!("PUT {FIRST}"));
    assert_eq!(fake.with(|state| state.slices.len()), 1);
}

#[tokio::test]
async fn an_attribute_alone_waits_and_a_taint_goes_out_at_once() {
    let fake = Fake::new();
    let mut host = Host::of(&fake).await;
    let mut all = devices(2);
    host.publish(DRIVER, &all).await;
    host.published().await;
    all[0].attributes.insert("model".to_owned(), Value::Int(1));
    host.publish(DRIVER, &all).await;
    sleep(Duration::from_millis(1500)).await;
    assert_eq!(fake.with(|state| state.writes().len()), 1);
    taint(&mut all[1]);
    host.publish(DRIVER, &all).await;
    host.published().await;
    assert_eq!(
        fake.with(|state| state.slices[FIRST]["spec"]["devices"][0]["attributes"]["model"].clone()),
        json!({"int": 1})
    );
}

#[tokio::test]
async fn what_others_do_is_repaired_a_second_later() {
    let fake = Fake::new();
    let mut host = Host::of(&fake).await;
    host.publish(DRIVER, &devices(70)).await;
    assert_eq!(host.published().await, 1);
    let was = fake.with(|state| state.slices.clone());
    let start = Instant::now();
    fake.with(|state| state.delete(FIRST));
    fake.until("made again", |state| state.slices.contains_key(FIRST)).await;
    assert!((900..1600).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    // Changed, without the label even: it is known to be devgate's.
    fake.with(|state| {
        let mut slice = state.slices["00001-gpu.example.com-node-1"].clone();
        slice["metadata"]["labels"] = json!({});
        slice["spec"]["devices"] = json!([]);
        state.put(slice);
    });
    let same = |state: &crate::fake::State| {
        state.slices.iter().all(|(name, slice)| {
            slice["spec"] == was[name]["spec"] && !slice["metadata"]["labels"]["app.kubernetes.io/managed-by"].is_null()
        })
    };
    fake.until("changed back", same).await;
    // All of them, as the kubelet does when it starts, with a node of another uid.
    fake.with(|state| {
        state.node_uid = "another".to_owned();
        for name in was.keys() {
            state.delete(name);
        }
    });
    fake.until("all again", |state| state.slices.len() == 2).await;
    assert_eq!(fake.with(|state| state.slices[FIRST]["metadata"]["ownerReferences"][0]["uid"].clone()), "another");
}

#[tokio::test]
async fn slices_of_others_are_left_and_those_of_drivers_that_are_gone_are_not() {
    let fake = Fake::new();
    let slice = |name: &str, node: &str, labels: serde_json::Value| {
        json!({"metadata": {"name": name, "labels": labels},
            "spec": {"driver": "old.example.com", "nodeName": node, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}, "devices": []}})
    };
    let ours = || json!({"app.kubernetes.io/managed-by": "devgate"});
    fake.with(|state| {
        for n in 0..20 {
            state.put(slice(&format!("ours-{n:02}"), "node-1", ours()));
        }
        state.put(slice("others", "node-1", json!({"app.kubernetes.io/managed-by": "vendor"})));
        state.put(slice("elsewhere", "node-2", ours()));
    });
    let mut host = Host::of(&fake).await;
    host.publish(DRIVER, &devices(1)).await;
    host.published().await;
    fake.until("gone", |state| state.slices.len() == 3).await;
    let names = |fake: &Fake| fake.with(|state| state.slices.keys().cloned().collect::<Vec<_>>());
    assert_eq!(names(&fake), [FIRST, "elsewhere", "others"]);
    // The host goes: what it said stands, and is not kept, as another one may be there with an agent of its own.
    host.say.send(Input::Left(1)).await.unwrap();
    fake.with(|state| state.delete(FIRST));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(names(&fake), ["elsewhere", "others"]);
    let host = Host::again(host.say, 2, &[DRIVER]).await;
    fake.until("kept", |state| state.slices.contains_key(FIRST)).await;
    // One that comes without the driver has its slices taken away.
    let _host = Host::again(host.say, 3, &["nic.example.com"]).await;
    fake.until("taken away", |state| !state.slices.contains_key(FIRST)).await;
    assert_eq!(names(&fake), ["elsewhere", "others"]);
}

#[tokio::test]
async fn one_that_is_there_is_taken_over_if_it_is_devgate_s() {
    let fake = Fake::new();
    let mut host = Host::of(&fake).await;
    fake.until("watched", |state| state.log.len() >= 2).await;
    // It comes between the list and the watch, so to say.
    let there = |labels: serde_json::Value| {
        json!({"metadata": {"name": FIRST, "uid": "u", "resourceVersion": "1", "labels": labels},
            "spec": {"driver": DRIVER, "nodeName": "node-1", "pool": {"name": "node-1", "generation": 4, "resourceSliceCount": 1}, "devices": []}})
    };
    fake.with(|state| state.slices.insert(FIRST.to_owned(), there(json!({}))));
    host.publish(DRIVER, &devices(1)).await;
    let (_, generation, _, error) = host.hear().await;
    assert_eq!(generation, None);
    assert!(error.contains(&format!("{FIRST} is there and not devgate's")), "{error}");
    assert_eq!(fake.with(|state| state.writes()), ["POST resourceslices"]);
    let ours = there(json!({"app.kubernetes.io/managed-by": "devgate"}));
    fake.with(|state| state.slices.insert(FIRST.to_owned(), ours));
    assert_eq!(host.published().await, 4);
    assert_eq!(fake.with(|state| state.slices[FIRST]["spec"]["devices"][0]["name"].clone()), "gpu-0");
}

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
    assert!((2500..4000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
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
    assert!(away.elapsed() < Duration::from_secs(12));
    assert!(fake.with(|state| state.log.len()) <= asked + 4);
}

#[tokio::test]
async fn what_is_too_long_ago_is_listed_again() {
    let fake = Fake::new();
    let mut host = Host::of(&fake).await;
    host.publish(DRIVER, &devices(1)).await;
    host.published().await;
    let lists = |state: &crate::fake::State| {
        state.log.iter().filter(|(_, method, name)| *method == Method::GET && name == "resourceslices").count()
    };
    let before = fake.with(|state| lists(state));
    // The slice goes, and its event is lost.
    fake.with(|state| {
        state.delete(FIRST);
        state.forget();
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
    assert!((4..=6).contains(&asked), "{asked}");
}

#[tokio::test]
async fn a_field_that_is_dropped_is_said_and_written_once() {
    let fake = Fake::new();
    fake.with(|state| state.drops_taints = true);
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
        (state.drops_taints, state.git_version) = (false, "v1.37.0".to_owned());
        state.end_watches(None);
    });
    assert_eq!(host.hear().await, (DRIVER.to_owned(), Some(1), Vec::new(), String::new()));
    assert_eq!(
        fake.with(|state| state.slices[FIRST]["spec"]["devices"][0]["taints"][0]["key"].clone()),
        "devgate.dev/unhealthy"
    );
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
    assert!((1500..6000).contains(&took.as_millis()), "{took:?}");
    assert_eq!(fake.with(|state| state.writes().len()), 20);
}
