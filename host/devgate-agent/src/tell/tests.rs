//! What is told, and how much of it, before an API server that does what those do.

use super::{Heard, LOOK, Teller, WHILE};
use crate::tests::fake::Fake;
use devgate_agent_protocol::{Holds, Judged, Unhealthy, User};
use devgate_types::Bucket;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

const GPU: &str = "vendor.com/gpu";

struct World {
    fake: Fake,
    host: watch::Sender<Heard>,
    teller: Teller,
}

impl World {
    fn new() -> Self {
        let fake = Fake::new();
        let (host, heard) = watch::channel(Heard::nothing());
        let teller = Teller::new(&fake.server(), "node-1", heard, true, true);
        Self { fake, host, teller }
    }

    async fn hear(&mut self, judged: &Judged) {
        self.host.send_replace(Heard { judged: Some(Arc::new(judged.clone())), away: None });
        self.teller.look().await;
    }

    /// Reason, kind and name, note, and how often it was.
    fn told(&self) -> Vec<(String, String, String, u64)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of = |event: &Value| {
            let of = format!("{} {}", text(&event["regarding"]["kind"]), text(&event["regarding"]["name"]));
            (text(&event["reason"]), of, text(&event["note"]), event["series"]["count"].as_u64().unwrap_or(1))
        };
        self.fake.with(|state| state.told.iter().map(of).collect())
    }

    fn reasons(&self) -> Vec<String> {
        self.told().into_iter().map(|(reason, ..)| reason).collect()
    }

    fn condition(&self) -> Value {
        self.fake.with(|state| state.conditions.first().cloned().unwrap_or_default())
    }

    /// Status and reason.
    fn says(&self) -> [String; 2] {
        ["status", "reason"].map(|key| self.condition()[key].as_str().unwrap_or_default().to_owned())
    }

    fn lost(&self) -> u64 {
        self.teller.events.as_ref().unwrap().lost
    }

    fn turns(&mut self, turns: u32) {
        self.teller.events.as_mut().unwrap().turns = Bucket::new(turns, Duration::from_secs(30));
    }

    /// As if so much time had gone by.
    fn later(&mut self, time: Duration) {
        let before = |at: &mut Instant| *at = at.checked_sub(time).unwrap();
        self.turns(16);
        self.teller.holds.0.values_mut().for_each(before);
        let events = self.teller.events.as_mut().unwrap();
        events.known.iter_mut().for_each(|known| before(&mut known.last));
        let condition = self.teller.condition.as_mut().unwrap();
        condition.turns = Bucket::new(4, Duration::from_secs(60));
        before(&mut condition.again);
        condition.written.iter_mut().for_each(|written| before(&mut written.at));
        self.host.send_modify(|heard| heard.away.iter_mut().for_each(before));
    }
}

fn judged(summary: &str, conditions: &[(&str, &str, bool)], devices: &[(&str, &str)]) -> Judged {
    let holds = |(condition, of, starting): &(&str, &str, bool)| Holds {
        condition: (*condition).to_owned(),
        of: (*of).to_owned(),
        why: format!("{of} has a reason"),
        starting: *starting,
    };
    let device = |(id, why): &(&str, &str)| Unhealthy {
        resource: GPU.to_owned(),
        id: (*id).to_owned(),
        why: (*why).to_owned(),
        users: Vec::new(),
    };
    let (conditions, devices) = (conditions.iter().map(holds), devices.iter().map(device));
    Judged { summary: summary.to_owned(), conditions: conditions.collect(), devices: devices.collect(), more: 0 }
}

const SICK: (&str, &str, bool) = (Judged::DEVICES, "resource vendor.com/gpu", false);

fn well() -> Judged {
    judged("all is well: 1 plugin", &[], &[])
}

#[tokio::test]
async fn what_is_wrong_and_what_is_not_any_more_is_told_of_the_node_and_its_pods() {
    let mut world = World::new();
    world.fake.with(|state| {
        let user = |of: &str, name: &str| json!({"resource": of, "name": name, "uid": "u3"});
        let status = json!({"reservedFor": [user("pods", "by-claim"), user("others", "no")]});
        state
            .claims
            .insert("c".to_owned(), json!({"metadata": {"name": "c", "uid": "u2"}, "spec": {}, "status": status}));
    });
    world.hear(&well()).await;
    assert_eq!((world.told(), world.says()), (vec![], ["True", "AllIsWell"].map(str::to_owned)));
    assert_eq!(world.condition()["lastTransitionTime"], world.condition()["lastHeartbeatTime"]);

    let refused = ("policy-refused", "policy", false);
    let mut sick = judged("NOT well: 1 of 1 device unhealthy", &[SICK, refused], &[("gpu0", "XID 79")]);
    let text = str::to_owned;
    sick.devices[0].users = vec![
        User::Pod { namespace: text("team"), name: text("p"), uid: Some(text("u1")) },
        User::Claim { namespace: text("team"), name: text("c"), uid: text("u2") },
        User::Pod { namespace: text("../.."), name: text("p"), uid: None },
    ];
    world.hear(&sick).await;
    let of = |reason: &str, of: &str, note: &str| (text(reason), text(of), text(note), 1);
    let (node, is) = ("Node node-1", "device gpu0 of vendor.com/gpu, which this pod has, is");
    let told = [
        of("DeviceUnhealthy", node, "device gpu0 of vendor.com/gpu is unhealthy: XID 79"),
        of("DeviceUnhealthy", "Pod p", &format!("{is} unhealthy: XID 79")),
        of("DeviceUnhealthy", "Pod by-claim", &format!("{is} unhealthy: XID 79")),
        of("PolicyRefused", node, "policy: policy has a reason"),
    ];
    assert_eq!(world.told(), told);
    let uid = |event: &Value| event["regarding"]["uid"].clone();
    assert_eq!(
        world.fake.with(|state| state.told.iter().map(uid).collect::<Vec<_>>()),
        ["node-1", "u1", "u3", "node-1"]
    );
    assert_eq!(world.says(), ["False", "DevicesUnhealthy"]);

    world.hear(&sick).await;
    assert_eq!(world.told().len(), 4, "nothing is new");
    world.hear(&well()).await;
    // What had its turn last comes last.
    let told = [
        of("Recovered", node, "policy: no longer policy-refused"),
        of("DeviceHealthy", node, "device gpu0 of vendor.com/gpu is not unhealthy any more"),
        of("DeviceHealthy", "Pod p", &format!("{is} not unhealthy any more")),
        of("DeviceHealthy", "Pod by-claim", &format!("{is} not unhealthy any more")),
    ];
    assert_eq!(world.told().split_off(4), told);
    assert_eq!(world.says(), ["True", "AllIsWell"]);
}

#[tokio::test]
async fn what_comes_and_goes_costs_a_bounded_number_of_writes_and_keeps_nothing_else_from_being_told() {
    let mut world = World::new();
    let sick = judged("NOT well", &[SICK], &[("gpu0", "flaps")]);
    for _ in 0..500 {
        world.hear(&sick).await;
        world.hear(&well()).await;
    }
    // Two Events, each again with a count; and the condition.
    let told: Vec<_> = world.told().into_iter().map(|(reason, _, _, count)| (reason, count)).collect();
    assert_eq!(told, [("DeviceUnhealthy".to_owned(), 8), ("DeviceHealthy".to_owned(), 8)]);
    assert_eq!(world.fake.with(|state| state.tells), 16 + 4);
    let both = judged("NOT well", &[SICK, ("plugin-quarantined", "plugin gpus", false)], &[("gpu0", "flaps")]);
    for _ in 0..3 {
        world.turns(1);
        world.hear(&both).await;
    }
    assert!(world.reasons().contains(&"PluginQuarantined".to_owned()), "{:?}", world.told());
}

#[tokio::test]
async fn thousands_of_devices_at_once_are_one_event() {
    let mut world = World::new();
    let names: Vec<String> = (0..Judged::MOST).map(|n| format!("gpu{n}")).collect();
    let all: Vec<_> = names.iter().map(|name| (name.as_str(), "hot")).collect();
    let mut many = judged("NOT well: 3000 of 3000 devices unhealthy", &[SICK], &all);
    many.more = 2488;
    for (at, device) in many.devices.iter_mut().enumerate() {
        device.users = vec![User::Pod { namespace: "team".to_owned(), name: format!("p{at}"), uid: None }];
    }
    world.hear(&many).await;
    let begin = "at least 512 devices of vendor.com/gpu are unhealthy: gpu0 (hot), gpu1 (hot), ";
    let told = world.told();
    assert!(told[0].2.starts_with(begin), "{}", told[0].2);
    assert_eq!((told.len(), world.lost()), (16, 512 - 15));
    // Some of those that were left out are named now: that the first are not named says nothing of them.
    world.later(Duration::from_secs(600));
    many.devices.drain(..100);
    world.hear(&many).await;
    assert_eq!(world.told().len(), 16);
    many.more = 0;
    world.hear(&many).await;
    let note = &world.told()[16].2;
    assert!(note.starts_with("100 devices of vendor.com/gpu are not unhealthy any more: gpu0, "), "{note}");
}

#[tokio::test]
async fn an_api_server_that_is_away_or_refuses_costs_the_event_and_what_is_so_is_told_later() {
    let mut world = World::new();
    world.fake.with(|state| state.is_away = true);
    let sick = judged("NOT well", &[SICK], &[("gpu0", "hot")]);
    for _ in 0..50 {
        world.hear(&sick).await;
    }
    assert_eq!((world.told(), world.lost()), (vec![], 1), "it is not tried again");
    world.fake.with(|state| state.is_away = false);
    world.hear(&sick).await;
    assert_eq!(world.condition(), Value::Null, "it is not tried at once");
    world.later(Duration::from_secs(60));
    world.hear(&sick).await;
    assert_eq!((world.told(), world.says()), (vec![], ["False", "DevicesUnhealthy"].map(str::to_owned)));

    // Without a right to it, or too fast.
    let forbidden = (http::Method::POST, "/events", 403, None, "forbidden".to_owned());
    let slower = (http::Method::PATCH, "/status", 429, Some("20"), "slower".to_owned());
    world.fake.with(|state| state.refused.extend([forbidden, slower]));
    world.hear(&well()).await;
    assert_eq!((world.told(), world.lost()), (vec![], 2));
    assert!(world.teller.condition.as_ref().unwrap().again > Instant::now() + Duration::from_secs(15));
    // What is new is told, and an Event that was deleted is made anew.
    world.hear(&sick).await;
    assert_eq!(world.reasons(), ["DeviceUnhealthy"]);
    world.fake.with(|state| state.told.clear());
    for _ in 0..2 {
        world.hear(&well()).await;
        world.hear(&sick).await;
    }
    assert_eq!(world.reasons(), ["DeviceHealthy", "DeviceUnhealthy"]);
}

#[tokio::test]
async fn of_a_host_that_starts_nothing_is_told_that_may_be_otherwise_in_a_moment() {
    let mut world = World::new();
    let sick = judged("NOT well", &[SICK, ("plugin-failing", "plugin gpus", false)], &[("gpu0", "hot")]);
    world.hear(&sick).await;
    assert_eq!(world.reasons(), ["DeviceUnhealthy", "PluginFailing"]);
    let starts = judged("NOT well: 1 of 1 plugin loading", &[("plugin-loading", "plugin gpus", true)], &[]);
    let before = world.condition();
    world.hear(&starts).await;
    assert_eq!((world.told().len(), world.condition()), (2, before), "it is not known yet whether it is well");
    world.hear(&sick).await;
    assert_eq!(world.told().len(), 2);
    world.hear(&starts).await;
    world.later(WHILE);
    world.hear(&starts).await;
    assert_eq!(world.reasons(), ["DeviceUnhealthy", "PluginFailing", "PluginLoading"]);
    assert_eq!(world.says(), ["False", "PluginLoading"]);
}

#[tokio::test]
async fn the_condition_lives_and_is_unknown_where_nobody_says_how_it_is() {
    let mut world = World::new();
    world.hear(&well()).await;
    let first = world.condition();
    world.later(Duration::from_secs(599));
    world.hear(&well()).await;
    assert_eq!(world.fake.with(|state| state.tells), 1);
    world.later(Duration::from_secs(2));
    world.hear(&well()).await;
    assert_eq!(world.fake.with(|state| state.tells), 2);
    assert_eq!(world.condition()["lastTransitionTime"], first["lastTransitionTime"]);
    // The same host may be there again in time.
    world.host.send_modify(|heard| heard.away = Some(Instant::now()));
    world.teller.look().await;
    assert_eq!(world.says()[0], "True");
    world.later(WHILE);
    world.fake.with(|state| state.is_away = true);
    world.teller.look().await;
    world.fake.with(|state| state.is_away = false);
    world.teller.look().await;
    assert_eq!(world.says()[0], "True", "it is not tried at once");
    world.later(Duration::from_secs(60));
    world.teller.look().await;
    world.teller.look().await;
    assert_eq!((world.says(), world.fake.with(|state| state.tells)), (["Unknown", "HostAway"].map(str::to_owned), 3));
    world.hear(&well()).await;
    assert_eq!(world.says()[0], "True");
    world.teller.end().await;
    assert_eq!(world.says(), ["Unknown", "AgentEnded"]);
    // One that wrote nothing takes nothing back, and what another has written by now stands.
    world.hear(&well()).await;
    let server = world.fake.server();
    Teller::new(&server, "node-1", world.host.subscribe(), false, true).end().await;
    assert_eq!(world.says()[0], "True");
    world.fake.with(|state| state.conditions[0]["lastHeartbeatTime"] = json!("2026-01-02T03:04:05Z"));
    world.teller.end().await;
    assert_eq!(world.says()[0], "True");
    // But not what is left of one that writes no more, as before a boot.
    Teller::new(&server, "node-1", world.host.subscribe(), false, true).end().await;
    assert_eq!(world.says()[0], "Unknown");
}

#[tokio::test]
async fn what_waits_for_long_keeps_no_device_from_being_told_of() {
    let mut world = World::new();
    let waits = ("resource-not-registered", "resource vendor.com/nic", true);
    let (sick, fine) = (judged("NOT well", &[SICK, waits], &[("gpu0", "hot")]), judged("NOT well", &[waits], &[]));
    world.hear(&sick).await;
    world.later(WHILE);
    world.hear(&sick).await;
    world.hear(&fine).await;
    world.later(Duration::from_secs(400));
    world.hear(&sick).await;
    let told = world.told().into_iter().map(|(reason, ..)| reason).filter(|reason| reason.starts_with("Device"));
    assert_eq!(told.collect::<Vec<_>>(), ["DeviceUnhealthy", "DeviceHealthy", "DeviceUnhealthy"]);
}

#[tokio::test]
async fn it_runs_by_what_it_hears_and_does_nothing_where_nothing_is_wanted() {
    let World { fake, host, teller: mut wanted } = World::new();
    let mut unwanted = Teller::new(&fake.server(), "node-1", host.subscribe(), false, false);
    let said = async {
        host.send_replace(Heard { judged: Some(Arc::new(well())), away: None });
        fake.until("the condition", |state| !state.conditions.is_empty()).await;
    };
    tokio::select! {
        () = wanted.run() => panic!("it ended"),
        () = unwanted.run() => panic!("it ended"),
        told = timeout(LOOK, said) => told.unwrap(),
    }
    drop(host);
    timeout(LOOK, wanted.run()).await.unwrap();
}
