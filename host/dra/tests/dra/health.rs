//! Line 26: what the kubelet is told of health.

use crate::devices::{DRIVER, GPU, Listed};
use crate::fake_agent::given;
use crate::world::{LONG, World};
use devgate_core::offer::Facts;
use devgate_kubelet::api::dra::health::dra_resource_health_client::DraResourceHealthClient;
use devgate_kubelet::api::dra::health::{HealthStatus, NodeWatchResourcesRequest, NodeWatchResourcesResponse};
use devgate_kubelet::transport;
use devgate_types::{Condition, Effect};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tonic::Streaming;

async fn open(world: &World) -> Streaming<NodeWatchResourcesResponse> {
    let channel = transport::connect(world.service(DRIVER), LONG).await.unwrap();
    let mut client = DraResourceHealthClient::new(channel);
    client.node_watch_resources(NodeWatchResourcesRequest {}).await.unwrap().into_inner()
}

type Told = Vec<(String, HealthStatus, String)>;

/// The next message.
async fn next(stream: &mut Streaming<NodeWatchResourcesResponse>) -> Told {
    let message = tokio::time::timeout(LONG, stream.message()).await.unwrap().unwrap().unwrap();
    let told = message.devices.into_iter().map(|told| {
        assert_eq!(told.health_check_timeout_seconds, 120);
        assert!(told.last_updated_time > 1_600_000_000 && told.message.chars().count() <= 1_024);
        let (device, health) = (told.device.clone().unwrap(), told.health());
        assert_eq!(device.pool_name, "node-1");
        (device.device_name, health, told.message)
    });
    told.collect()
}

fn is(name: &str, health: HealthStatus, message: &str) -> (String, HealthStatus, String) {
    (name.to_owned(), health, message.to_owned())
}

#[tokio::test]
async fn dra26_all_that_claims_have_is_told_at_once_and_at_each_change() {
    let world = World::new().await;
    let mut stream = open(&world).await;
    let begun = Instant::now();
    assert_eq!(next(&mut stream).await, []);
    assert!(begun.elapsed() < Duration::from_secs(1));
    world.allocate("a", &[given("gpu", "gpu0"), given("nic", "nic0")]);
    world.prepare_one("a").await.unwrap();
    let (fine, unhealthy) = (HealthStatus::Healthy, HealthStatus::Unhealthy);
    assert_eq!(next(&mut stream).await, [is("gpu0", fine, ""), is("nic0", fine, "")]);
    // A burst is one message, and what no claim has is none.
    world.gpus.change("gpu1", |device| device.unhealthy = Some("too hot".into()));
    for n in 0..20 {
        world.gpus.change("gpu0", |device| device.unhealthy = Some(format!("{n}{}", "é".repeat(2_000)).into()));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut messages = Vec::new();
    while messages.last().is_none_or(|told: &Told| !told[0].2.starts_with("19é")) {
        messages.push(next(&mut stream).await);
    }
    assert!(messages.len() <= 2, "{}", messages.len());
    assert!(messages.iter().all(|told| told.len() == 2 && told[0].1 == unhealthy));
    // What is not as it should be with what works is told as well.
    let worn = Condition { key: "worn".into(), effect: Effect::NoNew, message: "as it is".into() };
    world.gpus.change("gpu0", |device| {
        device.unhealthy = None;
        device.facts = Some(Arc::new(Facts { conditions: [worn.clone()].into(), ..Facts::default() }));
    });
    messages.push(next(&mut stream).await);
    assert_eq!(messages.last().unwrap()[0], is("gpu0", fine, "worn: as it is"));
    // Another stream has it all.
    assert_eq!(next(&mut open(&world).await).await, *messages.last().unwrap());
    world.devices.offer(&[Listed::new(GPU, Some(DRIVER), &["gpu0"])]);
    let unknown = is("nic0", HealthStatus::Unknown, "no plugin offers it at the moment");
    assert_eq!(next(&mut stream).await, [is("gpu0", fine, ""), unknown]);
    world.unprepare(&["a"]).await;
    assert_eq!(next(&mut stream).await, []);
}

#[tokio::test]
async fn dra26_it_is_told_again_before_it_is_not_believed_any_more() {
    let world = World::idle();
    world.start(|config| {
        config.health_every = Duration::from_millis(700);
        config.health_calm = Duration::from_millis(10);
    });
    world.registered(DRIVER).await;
    let mut stream = open(&world).await;
    next(&mut stream).await;
    for _ in 0..2 {
        let begun = Instant::now();
        assert_eq!(next(&mut stream).await, []);
        assert!(begun.elapsed() > Duration::from_millis(600) && begun.elapsed() < Duration::from_secs(2));
    }
    // It ends with the driver, in good order.
    world.begin_stop();
    while let Some(message) = tokio::time::timeout(LONG, stream.message()).await.unwrap().unwrap() {
        assert_eq!(message.devices, []);
    }
    world.stop().await;
}
