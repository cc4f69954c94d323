//! Lines 11 to 20: pods that start.

use crate::devices::GPU;
use crate::fake_agent::{Manner, allocated, given};
use crate::world::{LONG, World, consumer, device};
use devgate_agent_protocol::{Allocated, Claim, MAX_LINE};
use devgate_core::{Consumer, Devices as _, Gone};
use devgate_kubelet::api::dra;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

#[tokio::test]
async fn dra11_every_claim_is_answered_once() {
    let world = World::new().await;
    assert_eq!(world.prepare(&[]).await.len(), 0);
    world.allocate("a", &[given("gpu", "gpu0")]);
    let all = world.prepare(&["a", "a", "b"]).await;
    assert_eq!(all.len(), 2);
    assert_eq!(all["a"], Ok(vec![device("a", "gpu", "gpu0")]));
    assert_eq!(all["b"], Err("claim team/claim-b (b): there is none of this uid, or it is not allocated".into()));
    let many: Vec<String> = (0..256).map(|n| format!("many-{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let answered = world.prepare(&many).await;
    assert_eq!(answered.len(), 256);
    assert!(answered.values().all(Result::is_err));
}

#[tokio::test]
async fn dra12_the_same_claim_is_the_same_however_often_it_is_asked_for() {
    let world = World::new().await;
    world.allocate("a", &[given("gpu", "gpu0"), given("gpu", "gpu1"), given("nic", "nic0")]);
    let expected = Ok(vec![device("a", "gpu", "gpu0"), device("a", "gpu", "gpu1"), device("a", "nic", "nic0")]);
    let (one, other) = tokio::join!(world.prepare_one("a"), world.prepare_one("a"));
    assert_eq!((&one, &other), (&expected, &expected));
    assert_eq!(world.devices.calls.load(SeqCst), 2, "once for each request");
    let files = world.files();
    assert_eq!(world.prepare_one("a").await, expected);
    assert_eq!(world.devices.calls.load(SeqCst), 2, "no component is asked for what is prepared");
    for agent in [Claim::Unknown("the API server is away".into()), allocated(&[])] {
        let is_slow = matches!(agent, Claim::Allocated { .. });
        world.agent.claim("a", agent);
        world.agent.manner(if is_slow { Manner::Silent } else { Manner::Honest });
        assert_eq!(world.prepare_one("a").await, expected, "what it has is not waited for");
    }
    world.stop().await;
    world.agent.end().await;
    // As after a reboot: files are where a restart of the machine takes them.
    std::fs::remove_dir_all(world.cdi()).unwrap();
    world.start(|_| {});
    world.registered(crate::devices::DRIVER).await;
    assert_eq!(world.files(), files, "they are there before the kubelet hears of the driver");
    assert_eq!(world.prepare_one("a").await, expected);
    assert_eq!(world.devices.calls.load(SeqCst), 2);
}

#[tokio::test]
async fn dra12_a_claim_that_is_allocated_anew_has_what_it_is_given_now() {
    let world = World::new().await;
    world.until("it is connected", || world.watch.status().unwrap().agent.connected).await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    world.prepare_one("a").await.unwrap();
    // Its end was missed. Two pods have it, which come at the same time.
    world.allocate("a", &[given("gpu", "gpu1")]);
    let expected = Ok(vec![device("a", "gpu", "gpu1")]);
    let (one, other) = tokio::join!(world.prepare_one("a"), world.prepare_one("a"));
    assert_eq!((&one, &other), (&expected, &expected));
    assert_eq!(world.devices.held(&consumer("a"))[0].ids, ["gpu1"]);
    assert_eq!(world.devices.calls.load(SeqCst), 2);
    let files = world.files().concat();
    assert!(files.contains("/dev/gpu1") && !files.contains("/dev/gpu0"), "{files}");
    // Another request of the same device is another thing, too.
    world.allocate("a", &[given("other", "gpu1")]);
    assert_eq!(world.prepare_one("a").await, Ok(vec![device("a", "other", "gpu1")]));
    for (now, why) in [(Claim::Gone, "or it is not allocated"), (allocated(&[]), "no device of this driver")] {
        world.agent.claim("a", now);
        let error = world.prepare_one("a").await.unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(world.devices.held(&consumer("a")), []);
}

#[tokio::test]
async fn dra13_a_file_is_there_before_the_answer_and_comes_back() {
    let world = World::new().await;
    world.allocate("a", &[given("gpu", "gpu0"), given("gpu", "gpu1")]);
    world.prepare_one("a").await.unwrap();
    let file = world.files().concat();
    for part in ["\"kind\": \"devgate.gpu.vendor.com/claim\"", "\"a_gpu_gpu0\"", "\"a_gpu_gpu1\"", "/dev/gpu1"] {
        assert!(file.contains(part), "{part} in {file}");
    }
    let path = std::fs::read_dir(world.cdi()).unwrap().next().unwrap().unwrap().path();
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_file(&path).unwrap();
    world.prepare_one("a").await.unwrap();
    assert_eq!(world.files().concat(), file, "missing, it is back before the answer");
    std::fs::write(&path, "{}").unwrap();
    world.until("the file is right again", || world.files().concat() == file).await;
}

#[tokio::test]
async fn dra14_what_cannot_be_had_is_an_error_of_that_claim_alone() {
    let world = World::new().await;
    world.gpus.change("gpu1", |device| device.unhealthy = Some("too hot".into()));
    world.devices.hold(Consumer::Lease { name: "job".into() }, GPU, "gpu2", true, "");
    world.allocate("good", &[given("r", "gpu0")]);
    world.allocate("unhealthy", &[given("r", "gpu3"), given("r", "gpu1")]);
    world.allocate("taken", &[given("r", "gpu2")]);
    world.allocate("unknown", &[given("r", "gpu3"), given("r", "gpu7")]);
    world.allocate("pools", &[given("r", "gpu3"), Allocated { pool: "node-2".into(), ..given("r", "nic0") }]);
    world.allocate("odd", &[given("r\n", "gpu3")]);
    world.allocate("none", &[]);
    world.agent.claim("down", Claim::Unknown("API server: \u{1b}[31mdown".into()));
    let uids = ["good", "unhealthy", "taken", "unknown", "pools", "odd", "none", "down", "../up"];
    let all = world.prepare(&uids).await;
    assert_eq!(all.len(), uids.len());
    for (uid, why) in [
        ("unhealthy", "device gpu1: too hot"),
        ("taken", "device gpu2 is in use by lease job"),
        ("unknown", "device gpu7: there is none of this name"),
        ("pools", "device nic0: is in another pool than the others"),
        ("odd", "device gpu3: the names of its request, pool or share are none of the API's"),
        ("none", "it was given no device of this driver on this node"),
        ("down", "the agent does not know it: API server: \\u{1b}[31mdown"),
        ("../up", "it has a uid that none can have"),
    ] {
        assert_eq!(all[uid], Err(format!("claim team/claim-{uid} ({uid}): {why}")));
        assert_eq!(world.devices.held(&consumer(uid)), [], "{uid} holds nothing");
    }
    assert_eq!(all["good"], Ok(vec![device("good", "r", "gpu0")]));
    assert_eq!(world.files().len(), 1);
}

#[tokio::test]
async fn dra15_subrequests_are_left_out_and_what_gives_nothing_has_no_name() {
    let world = World::new().await;
    world.devices.empty.lock().unwrap().insert("nic0".into());
    world.allocate("a", &[given("gpu/large", "gpu0"), given("nic", "nic0")]);
    let nothing = dra::Device { cdi_device_ids: Vec::new(), ..device("a", "nic", "nic0") };
    assert_eq!(world.prepare_one("a").await, Ok(vec![device("a", "gpu", "gpu0"), nothing]));
    assert_eq!(world.files().len(), 1, "a device without edits is no file");
    let shared = |share: &str| Allocated { share: Some(share.into()), ..given("gpu", "gpu1") };
    world.allocate("b", &[shared("s1"), shared("s2")]);
    let named = |share: &str| dra::Device {
        cdi_device_ids: vec![format!("devgate.gpu.vendor.com/claim=b_gpu_{share}_gpu1")],
        share_id: Some(share.into()),
        ..device("b", "gpu", "gpu1")
    };
    assert_eq!(world.prepare_one("b").await, Ok(vec![named("s1"), named("s2")]));
}

#[tokio::test]
async fn dra16_each_of_two_requests_has_its_own_nodes() {
    let world = World::new().await;
    world.allocate("a", &[given("one", "gpu0"), given("two", "gpu1")]);
    world.prepare_one("a").await.unwrap();
    let files = world.files();
    let of = |name: &str| files.iter().find(|file| file.contains(name)).unwrap();
    assert!(of("a_one_gpu0").contains("/dev/gpu0") && !of("a_one_gpu0").contains("gpu1"), "{files:?}");
    assert!(of("a_two_gpu1").contains("/dev/gpu1") && !of("a_two_gpu1").contains("gpu0"), "{files:?}");
}

#[tokio::test]
async fn dra18_an_agent_that_is_away_slow_or_lies_is_an_error_in_time_and_a_claim_gets_through_after_it() {
    let world = World::new().await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    let error = async || {
        let begun = Instant::now();
        let error = world.prepare_one("a").await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        assert!(error.starts_with("claim team/claim-a (a): the agent"), "{error}");
        error
    };
    for manner in
        [Manner::Silent, Manner::Wrong, Manner::Garbage(b"\xff\xfe{}\n"), Manner::Garbage(b"{}\n"), Manner::Endless]
    {
        world.agent.manner(manner);
        let error = error().await;
        assert!(error.contains("not said within") || error.contains("is away"), "{manner:?}: {error}");
    }
    world.agent.end().await;
    assert!(error().await.contains("is away"));
    world.agent.manner(Manner::Honest);
    // More than a line may have.
    world.agent.claim("a", allocated(&vec![given(&"r".repeat(MAX_LINE / 400), "gpu0"); 300]));
    world.agent.begin();
    world.allocate("a", &vec![given("gpu", "gpu0"); 600]);
    let begun = Instant::now();
    while !matches!(world.prepare_one("a").await, Err(error) if error.contains("600 devices, more than there can be")) {
        assert!(begun.elapsed() < LONG);
    }
    world.allocate("a", &[given("gpu", "gpu0")]);
    assert_eq!(world.prepare_one("a").await, Ok(vec![device("a", "gpu", "gpu0")]));
}

#[tokio::test]
async fn dra18_a_claim_that_is_asked_for_before_the_agent_is_there_waits_for_it() {
    let world = World::idle();
    world.start(|_| {});
    world.registered(crate::devices::DRIVER).await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    let (prepared, ()) = tokio::join!(world.prepare_one("a"), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        world.agent.begin();
    });
    assert_eq!(prepared, Ok(vec![device("a", "gpu", "gpu0")]));
}

#[tokio::test]
async fn dra18_a_question_that_a_connection_took_with_it_is_asked_again_soon() {
    let world = World::idle();
    world.start(|config| (config.ask_timeout, config.prepare_timeout) = (LONG, LONG));
    world.registered(crate::devices::DRIVER).await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    // So long that the pause after it is over 3 s.
    tokio::time::sleep(Duration::from_secs(3)).await;
    world.agent.manner(Manner::Garbage(b"{}\n"));
    world.agent.begin();
    world.until("it is connected", || world.watch.status().unwrap().agent.connected).await;
    let (prepared, broken) = tokio::join!(world.prepare_one("a"), async {
        world.until("it is asked", || world.agent.asked() == 1).await;
        world.agent.manner(Manner::Honest);
        Instant::now()
    });
    assert_eq!(prepared, Ok(vec![device("a", "gpu", "gpu0")]));
    assert!(broken.elapsed() < Duration::from_secs(2), "{:?}", broken.elapsed());
}

#[tokio::test]
async fn dra19_a_component_that_hangs_costs_its_claim_and_no_other() {
    let world = World::new().await;
    world.devices.hangs.lock().unwrap().insert("gpu0".into());
    world.allocate("hangs", &[given("gpu", "gpu0")]);
    world.allocate("good", &[given("gpu", "gpu1")]);
    let begun = Instant::now();
    let all = world.prepare(&["hangs", "good"]).await;
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    assert_eq!(all["good"], Ok(vec![device("good", "gpu", "gpu1")]));
    assert_eq!(all["hangs"], Err("no answer within 4s; it is tried again".into()));
    world.devices.hangs.lock().unwrap().clear();
    // As it was asked for, or as it is allocated by now.
    world.allocate("hangs", &[given("gpu", "gpu2")]);
    assert_eq!(world.prepare_one("hangs").await, Ok(vec![device("hangs", "gpu", "gpu2")]));
}

#[tokio::test]
async fn dra20_what_was_noted_and_not_told_is_asked_for_again() {
    let world = World::idle();
    world.agent.begin();
    world.devices.hold(consumer("a"), GPU, "gpu3", false, "gpu node-1 team claim-a");
    world.start(|_| {});
    world.registered(crate::devices::DRIVER).await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    assert_eq!(world.prepare_one("a").await, Ok(vec![device("a", "gpu", "gpu0")]));
    assert_eq!(world.devices.held(&consumer("a")).len(), 1);
}

#[tokio::test]
async fn dra20_a_host_that_is_killed_between_has_the_same_answer_after_it() {
    let world = World::new().await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    let before = world.prepare_one("a").await;
    world.kill().await;
    world.start(|_| {});
    world.until("the socket is new", || world.status(crate::devices::DRIVER).is_some()).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    world.registered(crate::devices::DRIVER).await;
    assert_eq!(world.prepare_one("a").await, before);
}

#[tokio::test]
async fn what_comes_with_annotations_is_refused_and_given_back() {
    let world = World::new().await;
    world.devices.annotated.lock().unwrap().insert("gpu0".into());
    world.allocate("a", &[given("gpu", "gpu0")]);
    let error = world.prepare_one("a").await.unwrap_err();
    assert!(error.contains("resource vendor.com/gpu: its devices come with annotations"), "{error}");
    assert_eq!(world.devices.held(&consumer("a")), []);
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_and_given_back() {
    let world = World::new().await;
    std::fs::write(world.cdi(), "no directory").unwrap();
    world.allocate("a", &[given("gpu", "gpu0")]);
    let error = world.prepare_one("a").await.unwrap_err();
    assert!(error.contains("could not be written"), "{error}");
    assert_eq!(world.devices.held(&consumer("a")), []);
    std::fs::remove_file(world.cdi()).unwrap();
    assert_eq!(world.prepare_one("a").await, Ok(vec![device("a", "gpu", "gpu0")]));
}

#[tokio::test]
async fn what_has_gone_since_is_said_and_stays_the_claims() {
    let world = World::new().await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    world.prepare_one("a").await.unwrap();
    let gone = Gone {
        allocation: serde_json::from_str("1").unwrap(),
        resource: GPU.into(),
        why: "the hardware is gone".into(),
        may_come: false,
    };
    *world.devices.restored.lock().unwrap() = Some(Err(gone));
    let error = world.prepare_one("a").await.unwrap_err();
    assert!(error.ends_with("allocation 1 of resource vendor.com/gpu: the hardware is gone"), "{error}");
    assert_eq!(world.devices.held(&consumer("a")).len(), 1);
}

#[tokio::test]
async fn a_claims_tag_is_of_this_version_or_it_is_said() {
    let world = World::new().await;
    world.devices.hold(consumer("a"), GPU, "gpu3", true, "2;whatever");
    world.allocate("a", &[given("gpu", "gpu0")]);
    let error = world.prepare_one("a").await.unwrap_err();
    assert!(error.ends_with("another version of devgate has noted what it has; delete its pods"), "{error}");
    assert_eq!(world.unprepare(&["a"]).await["a"], "");
}
