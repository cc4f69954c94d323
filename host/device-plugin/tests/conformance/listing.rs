//! Lines 16 to 29: ListAndWatch.

use std::time::{Duration, Instant};

use devgate_device_plugin::FrontEndConfig;
use devgate_fake_kubelet::{Event, StandIn};
use devgate_kubelet::api;

use crate::fake::{Fake, device, on_nodes, unhealthy};
use crate::harness::{GPU, Host, LONG, Logged, Pair, count, eventually, ids, next, quick, registrations};

fn lists(kubelet: &StandIn) -> usize {
    count(kubelet, |event| matches!(event, Event::List { .. }))
}

#[tokio::test]
async fn c16_first_message_comes_at_once_even_when_empty() {
    let pair = Pair::new(&[&Fake::new(GPU, &[])]).await;
    assert_eq!(pair.kubelet.capacity(GPU), Some(0));
    let mut client = pair.client(GPU).await;
    // A machine that stands still for a moment does so now and then, and not each time.
    let mut fastest = LONG;
    for _ in 0..10 {
        let asked = Instant::now();
        let mut stream = client.list_and_watch(api::Empty {}).await.unwrap().into_inner();
        assert_eq!(next(&mut stream).await, []);
        fastest = fastest.min(asked.elapsed());
        if fastest < Duration::from_secs(1) {
            return;
        }
    }
    panic!("the fastest of ten took {fastest:?}");
}

#[tokio::test]
async fn c17_every_message_is_the_complete_list() {
    let fake = Fake::new(GPU, &["a", "b"]);
    let pair = Pair::new(&[&fake]).await;
    let mut stream = pair.client(GPU).await.list_and_watch(api::Empty {}).await.unwrap().into_inner();
    assert_eq!(ids(&next(&mut stream).await), ["a", "b"]);
    fake.set(vec![device("a"), device("b"), device("c")]);
    assert_eq!(ids(&next(&mut stream).await), ["a", "b", "c"]);
    fake.set(vec![device("c")]);
    assert_eq!(ids(&next(&mut stream).await), ["c"]);
}

#[tokio::test]
async fn c18_no_devices_are_an_empty_list_and_not_the_end() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::new(&[&fake]).await;
    fake.set(Vec::new());
    pair.until(|kubelet| kubelet.capacity(GPU) == Some(0)).await;
    fake.set(vec![device("a")]);
    pair.until(|kubelet| kubelet.capacity(GPU) == Some(1)).await;
    assert_eq!(registrations(&pair.kubelet, GPU), 1);
    assert_eq!(count(&pair.kubelet, |event| matches!(event, Event::StreamEnded { .. })), 0);
}

#[tokio::test]
async fn c19_health_is_one_of_the_two_words() {
    let fake = Fake::new(GPU, &[]);
    fake.set(vec![device("a"), unhealthy("b")]);
    let pair = Pair::new(&[&fake]).await;
    let mut stream = pair.client(GPU).await.list_and_watch(api::Empty {}).await.unwrap().into_inner();
    let devices = next(&mut stream).await;
    assert_eq!(devices.iter().map(|d| d.health.as_str()).collect::<Vec<_>>(), ["Healthy", "Unhealthy"]);
    pair.until(|kubelet| (kubelet.capacity(GPU), kubelet.allocatable(GPU)) == (Some(2), Some(1))).await;
}

#[tokio::test]
async fn c20_an_id_is_listed_once() {
    let fake = Fake::new(GPU, &[]);
    // What the plugin layer promises not to do.
    fake.set(vec![device("a"), unhealthy("a"), device("b")]);
    let pair = Pair::new(&[&fake]).await;
    let mut stream = pair.client(GPU).await.list_and_watch(api::Empty {}).await.unwrap().into_inner();
    assert_eq!(ids(&next(&mut stream).await), ["a", "b"]);
    pair.until(|kubelet| (kubelet.capacity(GPU), kubelet.allocatable(GPU)) == (Some(2), Some(1))).await;
}

#[tokio::test]
async fn c21_ids_are_passed_on_as_they_are_across_restarts() {
    let names = ["0000:3b:00.0", "GPU-1234::3", "a+b@c!d"];
    let mut sorted = names;
    sorted.sort_unstable();
    let fake = Fake::new(GPU, &sorted);
    let pair = Pair::new(&[&fake]).await;
    let listed = |kubelet: &StandIn| kubelet.devices(GPU).into_keys().collect::<Vec<_>>();
    pair.until(|kubelet| listed(kubelet) == sorted).await;
    pair.kubelet.restart().await.unwrap();
    pair.until(|kubelet| listed(kubelet) == sorted).await;
    pair.host.stop().await.unwrap();
    let _again = Host::start(quick(&pair.dir), &[&fake]);
    pair.kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(3)).await.unwrap();
    assert_eq!(listed(&pair.kubelet), sorted);
}

#[tokio::test]
async fn c22_a_change_goes_out_at_once_and_a_burst_as_one() {
    let fake = Fake::new(GPU, &["a"]);
    // So long that what waits for it does not come in time: a change after a pause does not.
    let pair = Pair::with(&[&fake], |config| config.coalesce = LONG * 10, |_| {}).await;
    fake.set(vec![device("a"), device("b")]);
    pair.until(|kubelet| kubelet.capacity(GPU) == Some(2)).await;

    let fake = Fake::new(GPU, &["a"]);
    let coalesce = Duration::from_millis(400);
    let pair = Pair::with(&[&fake], |config| config.coalesce = coalesce, |_| {}).await;
    let mut stream = pair.client(GPU).await.list_and_watch(api::Empty {}).await.unwrap().into_inner();
    assert_eq!(next(&mut stream).await.len(), 1);
    // Nothing was sent for a while: a change does not wait.
    tokio::time::sleep(coalesce).await;
    let start = Instant::now();
    fake.set(vec![device("a"), device("b")]);
    assert_eq!(next(&mut stream).await.len(), 2);
    // The burst after it does, and only its end is sent.
    for n in 0..50 {
        fake.set((0..=n).map(|n| device(&format!("burst-{n:02}"))).collect());
        tokio::task::yield_now().await;
    }
    assert_eq!(next(&mut stream).await.len(), 50);
    assert!(start.elapsed() >= coalesce, "{:?}", start.elapsed());
}

#[tokio::test]
async fn c22_an_identical_list_is_not_sent_again() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::new(&[&fake]).await;
    let before = lists(&pair.kubelet);
    for _ in 0..10 {
        fake.set(vec![device("a")]);
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    // A message that does come, to have seen that the others did not.
    fake.set(vec![device("a"), device("b")]);
    pair.until(|kubelet| kubelet.capacity(GPU) == Some(2)).await;
    assert_eq!(lists(&pair.kubelet), before + 1);
}

#[tokio::test]
async fn c23_a_device_recovers_on_the_same_stream() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::new(&[&fake]).await;
    for _ in 0..3 {
        fake.set(vec![unhealthy("a")]);
        pair.until(|kubelet| (kubelet.capacity(GPU), kubelet.allocatable(GPU)) == (Some(1), Some(0))).await;
        fake.set(vec![device("a")]);
        pair.until(|kubelet| kubelet.allocatable(GPU) == Some(1)).await;
    }
    assert_eq!(registrations(&pair.kubelet, GPU), 1);
}

#[tokio::test]
async fn c24_a_list_that_is_too_large_is_refused_and_the_previous_one_stands() {
    let fake = Fake::new(GPU, &["a"]);
    let logged = Logged::start();
    let pair = Pair::new(&[&fake]).await;
    let many = |n: usize| (0..n).map(|n| device(&format!("{n:063}"))).collect::<Vec<_>>();
    fake.set(many(60_000));
    eventually("refusal is logged", || logged.has("list of 60000 devices takes")).await;
    assert_eq!(pair.kubelet.capacity(GPU), Some(1));
    // The largest that fits is sent, and the kubelet takes it.
    fake.set(many(45_000));
    pair.until(|kubelet| kubelet.capacity(GPU) == Some(45_000)).await;
    assert_eq!(registrations(&pair.kubelet, GPU), 1);
}

#[tokio::test]
async fn c25_numa_nodes_are_listed_as_they_are() {
    let fake = Fake::new(GPU, &[]);
    fake.set(vec![device("none"), on_nodes("one", &[0]), on_nodes("two", &[0, 1])]);
    let pair = Pair::new(&[&fake]).await;
    pair.until(|kubelet| kubelet.capacity(GPU) == Some(3)).await;
    let devices = pair.kubelet.devices(GPU);
    let nodes = |id: &str| devices[id].1.iter().copied().collect::<Vec<_>>();
    assert_eq!((nodes("none"), nodes("one"), nodes("two")), (vec![], vec![0], vec![0, 1]));
    let mut stream = pair.client(GPU).await.list_and_watch(api::Empty {}).await.unwrap().into_inner();
    let listed = next(&mut stream).await;
    assert_eq!(listed[0].topology, None);
}

#[tokio::test]
async fn c27_a_stream_that_the_kubelet_ends_is_followed_by_a_new_registration() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    for times in 2..=4 {
        let old = pair.socket(GPU);
        pair.kubelet.drop_streams(GPU);
        pair.until_registered(GPU, times).await;
        pair.until(|kubelet| kubelet.allocatable(GPU) == Some(1)).await;
        assert!(!old.exists(), "nothing is left of the old one");
    }
}

#[tokio::test]
async fn c28_another_stream_on_the_same_server_gets_the_newest_list() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::new(&[&fake]).await;
    fake.set(vec![device("b"), device("c")]);
    pair.until(|kubelet| kubelet.capacity(GPU) == Some(2)).await;
    let mut client = pair.client(GPU).await;
    for _ in 0..3 {
        let mut stream = client.list_and_watch(api::Empty {}).await.unwrap().into_inner();
        assert_eq!(ids(&next(&mut stream).await), ["b", "c"]);
    }
    assert_eq!(registrations(&pair.kubelet, GPU), 1);
}

#[tokio::test]
async fn c29_shutdown_ends_the_stream_and_removes_the_socket() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    pair.until(|kubelet| kubelet.allocatable(GPU) == Some(1)).await;
    let socket = pair.socket(GPU);
    pair.host.stop().await.unwrap();
    pair.kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(0)).await.unwrap();
    assert_eq!(pair.kubelet.capacity(GPU), Some(1), "devices are unhealthy, not gone, during the grace period");
    assert!(!socket.exists());
    let ended = pair.kubelet.events().into_iter().find_map(|moment| match moment.event {
        Event::StreamEnded { error, .. } => Some(error),
        _ => None,
    });
    assert_eq!(ended.as_deref(), Some("EOF"), "an orderly end");
}

#[tokio::test]
async fn c29_after_the_grace_period_the_capacity_is_zero() {
    let grace = Duration::from_millis(300);
    let pair = Pair::with(&[&Fake::new(GPU, &["a"])], |_: &mut FrontEndConfig| {}, |config| config.grace = grace).await;
    pair.host.stop().await.unwrap();
    pair.kubelet.wait_for(LONG, |kubelet| kubelet.capacity(GPU) == Some(0)).await.unwrap();
}
