//! Lines 2 to 10: how the kubelet finds drivers.

use crate::devices::{DRIVER, GPU, Listed};
use crate::fake_agent::given;
use crate::world::{LONG, World, device};
use devgate_dra::{DraConfig, Phase};
use devgate_kubelet::api::dra;
use devgate_kubelet::api::dra::v1beta1::dra_plugin_client::DraPluginClient;
use devgate_kubelet::api::registration::registration_client::RegistrationClient;
use devgate_kubelet::api::registration::{InfoRequest, RegistrationStatus};
use devgate_kubelet::transport;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn dra02_who_finds_the_registration_is_answered_by_the_service() {
    let world = World::idle();
    world.start(|_| {});
    let (registration, service) = (world.registration(DRIVER), world.service(DRIVER));
    let begun = Instant::now();
    while !registration.exists() {
        assert!(begun.elapsed() < LONG);
        tokio::task::yield_now().await;
    }
    assert_eq!(std::os::unix::net::UnixStream::connect(&service).map(drop).map_err(|error| error.to_string()), Ok(()));
    for path in [&registration, &service] {
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let asked = Instant::now();
    let info = world.registered(DRIVER).await;
    assert!(asked.elapsed() < Duration::from_secs(1));
    assert_eq!(info.endpoint, service.display().to_string());
    assert_eq!((&*info.r#type, &*info.name), ("DRAPlugin", DRIVER));
}

#[tokio::test]
async fn dra03_both_versions_answer_alike() {
    let world = World::new().await;
    let info = world.registered(DRIVER).await;
    assert_eq!(info.supported_versions, ["v1.DRAPlugin", "v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"]);
    world.allocate("a", &[given("gpu", "gpu0")]);
    let mut older = DraPluginClient::new(transport::connect(world.service(DRIVER), LONG).await.unwrap());
    let request = dra::NodePrepareResourcesRequest { claims: vec![crate::world::claim("a")] };
    let answer = older.node_prepare_resources(request).await.unwrap().into_inner();
    assert_eq!(answer.claims["a"].devices, [device("a", "gpu", "gpu0")]);
    assert_eq!(world.prepare_one("a").await.unwrap(), answer.claims["a"].devices);
    let request = dra::NodeUnprepareResourcesRequest { claims: vec![crate::world::claim("a")] };
    assert_eq!(older.node_unprepare_resources(request).await.unwrap().into_inner().claims["a"].error, "");
}

#[tokio::test]
async fn dra04_a_refusal_is_shown_until_the_kubelet_takes_it() {
    let world = World::idle();
    world.start(|_| {});
    world.until("the socket", || world.registration(DRIVER).exists()).await;
    assert_eq!(world.status(DRIVER).unwrap().phase, Phase::Waiting);
    let mut client = RegistrationClient::new(transport::connect(world.registration(DRIVER), LONG).await.unwrap());
    client.get_info(InfoRequest {}).await.unwrap();
    let status = RegistrationStatus { plugin_registered: false, error: "no\nway".into() };
    client.notify_registration_status(status).await.unwrap();
    let status = world.status(DRIVER).unwrap();
    assert_eq!((status.phase, status.error.as_deref()), (Phase::Refused, Some("the kubelet refuses it: no\\nway")));
    world.registered(DRIVER).await;
    let status = world.status(DRIVER).unwrap();
    assert_eq!((status.phase, status.error), (Phase::Registered, None));
}

#[tokio::test]
async fn dra05_dra06_sockets_that_a_crash_has_left_are_no_obstacle() {
    let world = World::new().await;
    world.allocate("a", &[given("gpu", "gpu0")]);
    let mut connected = world.client().await;
    world.prepare_one("a").await.unwrap();
    world.kill().await;
    assert!(world.registration(DRIVER).exists() && world.service(DRIVER).exists());
    let begun = Instant::now();
    world.start(|_| {});
    let answers = async || {
        let client = transport::connect(world.registration(DRIVER), LONG).await.map(RegistrationClient::new);
        let Ok(mut client) = client else { return false };
        client.get_info(InfoRequest {}).await.is_ok()
    };
    while !answers().await {
        assert!(begun.elapsed() < Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The connection of before is made again by itself.
    let claims = vec![crate::world::claim("a")];
    while connected.node_prepare_resources(dra::NodePrepareResourcesRequest { claims: claims.clone() }).await.is_err() {
        assert!(begun.elapsed() < LONG);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn dra07_a_directory_that_comes_late_or_is_made_anew_is_found() {
    let world = World::idle();
    let registry = world.root().join("plugins_registry");
    std::fs::remove_dir(&registry).unwrap();
    world.start(|_| {});
    world.until("it waits", || world.status(DRIVER).is_some_and(|status| status.error.is_some())).await;
    std::fs::create_dir(&registry).unwrap();
    world.registered(DRIVER).await;
    for time in 0..2 {
        // Away in one step: the host may make a socket between a removal's.
        std::fs::rename(&registry, world.root().join(format!("away-{time}"))).unwrap();
        std::fs::create_dir(&registry).unwrap();
        world.registered(DRIVER).await;
    }
    std::fs::remove_file(world.service(DRIVER)).unwrap();
    world.until("the service is back", || world.service(DRIVER).exists()).await;
    world.registered(DRIVER).await;
}

#[tokio::test]
async fn dra08_the_end_takes_the_registration_first_and_answers_what_is_in_flight() {
    let world = Arc::new(World::new().await);
    world.allocate("a", &[given("gpu", "gpu0")]);
    world.devices.hangs.lock().unwrap().insert("gpu0".into());
    let asking = Arc::clone(&world);
    let call = tokio::spawn(async move { asking.prepare_one("a").await });
    world.until("it is asked", || world.agent.asked() > 0).await;
    world.begin_stop();
    world.until("the registration is gone", || !world.registration(DRIVER).exists()).await;
    assert!(world.service(DRIVER).exists(), "what is in flight is not done");
    let answer = call.await.unwrap();
    assert_eq!(answer, Err("no answer within 4s; it is tried again".into()));
    world.stop().await;
    assert!(!world.service(DRIVER).exists());
}

#[tokio::test]
async fn dra09_a_driver_comes_and_goes_and_fails_alone() {
    let world = World::new().await;
    let other = "other.com";
    // What is in its way is no socket, and stays.
    std::fs::write(world.registration(other), "a file").unwrap();
    let listed = Listed::new("other.com/x", Some(other), &["x"]);
    world.devices.offer(&[Arc::clone(&world.gpus), Arc::clone(&listed)]);
    world.until("it fails", || world.status(other).is_some_and(|status| status.error.is_some())).await;
    assert_eq!(world.status(DRIVER).unwrap().phase, Phase::Registered);
    std::fs::remove_file(world.registration(other)).unwrap();
    world.registered(other).await;
    assert_eq!(world.status(other).unwrap().devices, 1);
    let made = || std::fs::metadata(world.registration(DRIVER)).and_then(|socket| socket.modified()).ok();
    let before = made();
    world.devices.offer(&[listed]);
    let is_anew = || made().is_some() && made() != before;
    world.until("the first goes", || world.status(DRIVER).is_none() && is_anew()).await;
    // For pods whose claims the kubelet has noted, and nothing was ever prepared of.
    world.registered(DRIVER).await;
    world.allocate("late", &[given("gpu", "gpu0")]);
    let error = world.prepare_one("late").await.unwrap_err();
    assert!(error.contains("put that back") && error.contains("gpu0"), "{error}");
    assert_eq!(world.unprepare(&["late"]).await["late"], "");
    world.devices.offer(&[Listed::new(GPU, Some(DRIVER), &["gpu0"])]);
    world.until("the first is back", || world.status(DRIVER).is_some()).await;
    world.registered(DRIVER).await;
    assert_eq!(world.status(DRIVER).unwrap().devices, 1);
}

#[tokio::test]
async fn dra10_a_directory_without_room_for_sockets_is_said() {
    let world = World::idle();
    let long = world.root().join("d".repeat(80));
    world.start(|_| {});
    world.stop().await;
    let keeper = Arc::new(devgate_cdi::Keeper::new(devgate_cdi::KeeperConfig {
        devices: Arc::clone(&world.devices) as Arc<dyn devgate_core::Devices>,
        node: devgate_fake_node::RecordedNode::parse("test", "").unwrap().into(),
        dir: world.cdi(),
        state: None,
        hook: None,
    }));
    let named = tokio::sync::watch::Sender::new([].into()).subscribe();
    let agent = world.agent.path.clone();
    let config = DraConfig::new(long, agent, named, keeper, Arc::new(|| Box::pin(async { None })));
    let offers = devgate_core::Devices::offers(&*world.devices);
    let error = devgate_dra::serve(config, offers, CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("mount it at a path of at most"), "{error}");
}
