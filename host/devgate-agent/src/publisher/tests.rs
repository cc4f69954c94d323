//! The publisher and the watch, before an API server that does what those do.

mod troubles;

use super::{Input, Publisher};
use crate::server::{Pace, watch};
use crate::tests::fake::Fake;
use devgate_agent_protocol::{Counters, Device, Effect, FromAgent, Taint, Value};
use serde_json::json;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep, timeout};

const DRIVER: &str = "gpu.example.com";
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
        tokio::spawn(Publisher::new(server, pace, "node-1".to_owned(), None).run(inputs, events));
        Self::again(say, 1, &[DRIVER, "nic.example.com"]).await
    }

    async fn again(say: Sender<Input>, id: u64, drivers: &[&str]) -> Self {
        let (to, hear) = channel(64);
        say.send(Input::Host(id, to)).await.unwrap();
        say.send(Input::Drivers(id, drivers.iter().map(|name| (*name).to_owned()).collect())).await.unwrap();
        Self { say, hear }
    }

    async fn publish(&self, driver: &str, devices: &[Device]) {
        self.publish_with(driver, devices, Counters::new()).await;
    }

    async fn publish_with(&self, driver: &str, devices: &[Device], counters: Counters) {
        self.say.send(Input::Publish(1, driver.to_owned(), devices.to_vec(), counters)).await.unwrap();
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
    let device = |n| Device { name: format!("gpu-{n}"), ..Device::default() };
    (0..most).map(device).collect()
}

fn taint(device: &mut Device) {
    let key = "devgate.dev/unhealthy".to_owned();
    device.taints = vec![Taint { key, effect: Effect::NoSchedule }];
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
    assert!((900..6000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    // Changed, without the label even: it is known to be devgate's.
    fake.with(|state| {
        let mut slice = state.slices["00001-gpu.example.com-node-1"].clone();
        slice["metadata"]["labels"] = json!({});
        slice["spec"]["devices"] = json!([]);
        state.put(slice);
    });
    let same = |state: &crate::tests::fake::State| {
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
