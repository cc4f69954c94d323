//! Line 21: what a claim asks for that the policy may refuse.

use crate::devices::{GPU, Listed};
use crate::fake_agent::given;
use crate::world::{LONG, World, consumer, prepare};
use devgate_agent_protocol::{Allocated, Claim, Parameters};
use devgate_core::{Consumer, Devices as _, Mode};
use devgate_kubelet::api::dra;
use devgate_types::{Origin, Setting};
use std::sync::atomic::Ordering::SeqCst;

#[tokio::test]
async fn dra21_admin_access_and_parameters_are_as_the_policy_says() {
    let world = World::new().await;
    let admin = |request: &str, device: &str| Allocated { admin: true, ..given(request, device) };
    world.allocate("a", &[admin("look", "gpu0")]);
    world.agent.claim("b", parametrised(&[given("gpu", "gpu1")], &[(true, &[], "{}")]));
    let all = world.prepare(&["a", "b"]).await;
    assert_eq!(
        all["a"],
        Err("claim team/claim-a (a): request look: asks for admin access, which the policy refuses (dra.admin-access)"
            .into())
    );
    let error = all["b"].clone().unwrap_err();
    let why = "which the policy refuses (dra.parameters): take `config` out of both, or allow them";
    assert!(error.ends_with(why), "{error}");
    assert_eq!(world.devices.held(&consumer("b")), []);
    // A policy that allows it.
    let name = "admin.vendor.com";
    let client = other(&world, name).await;
    let who = |uid: &str| Consumer::Claim { driver: name.into(), uid: uid.into() };
    world.allocate("c", &[given("gpu", "gpu0")]);
    for uid in ["c", "a"] {
        prepare(client.clone(), &[uid]).await.remove(uid).unwrap().unwrap();
    }
    assert_eq!(world.devices.modes(&who("a")), [Mode::Observe]);
    assert_eq!(world.devices.modes(&who("c")), [Mode::Hold]);
}

/// The gpus are another driver's.
async fn other(world: &World, name: &str) -> dra::dra_plugin_client::DraPluginClient<tonic::transport::Channel> {
    world.devices.offer(&[Listed::new(GPU, Some(name), &["gpu0", "gpu1", "gpu2"])]);
    world.registered(name).await;
    let service = devgate_kubelet::transport::connect(world.service(name), LONG).await.unwrap();
    dra::dra_plugin_client::DraPluginClient::new(service)
}

/// A claim that has these parameters: whether they are of a class, for which requests, and what they are.
fn parametrised(devices: &[Allocated], parameters: &[(bool, &[&str], &str)]) -> Claim {
    let parameters = parameters.iter().map(|(of_class, requests, json)| Parameters {
        requests: requests.iter().map(|name| (*name).to_owned()).collect(),
        of_class: *of_class,
        json: (*json).to_owned(),
    });
    Claim::Allocated { devices: devices.to_vec(), parameters: parameters.collect() }
}

#[tokio::test]
async fn dra21_a_component_is_told_what_is_meant_for_each_request() {
    let world = World::new().await;
    let client = other(&world, "told.vendor.com").await;
    let devices = [given("one", "gpu0"), given("two/large", "gpu1"), given("three", "gpu2")];
    let parameters: [(bool, &[&str], &str); 5] = [
        (true, &[], "1"),
        (true, &["one"], "2"),
        (false, &["two/large", "one"], "3"),
        (false, &["two/small"], "4"),
        (false, &["two"], "5"),
    ];
    world.agent.claim("a", parametrised(&devices, &parameters));
    for _ in 0..2 {
        prepare(client.clone(), &["a"]).await.remove("a").unwrap().unwrap();
    }
    assert_eq!(world.devices.calls.load(SeqCst), 3, "not again for what is prepared");
    let told = world.devices.settings.lock().unwrap().clone();
    let told = |request: &str| {
        let setting = |setting: &Setting| {
            format!("{}{}", if setting.origin == Origin::Class { "class " } else { "" }, setting.json)
        };
        told[request].iter().map(setting).collect::<Vec<_>>()
    };
    assert_eq!(told("one"), ["class 1", "class 2", "3"]);
    assert_eq!(told("two"), ["class 1", "3", "5"]);
    assert_eq!(told("three"), ["class 1"]);
}

#[tokio::test]
async fn dra21_parameters_that_are_ignored_reach_nobody() {
    let world = World::new().await;
    let client = other(&world, "deaf.vendor.com").await;
    world.agent.claim("a", parametrised(&[given("one", "gpu0")], &[(false, &[], "1")]));
    prepare(client, &["a"]).await.remove("a").unwrap().unwrap();
    assert_eq!(world.devices.settings.lock().unwrap()["one"], []);
}

#[tokio::test]
async fn dra21_more_parameters_than_there_can_be_are_refused_before_anybody_reads_them() {
    let world = World::new().await;
    let client = other(&world, "told.vendor.com").await;
    let long = "x".repeat((10 << 10) + 1);
    let many: [(bool, &[&str], &str); 65] = [(false, &[], "1"); 65];
    world.agent.claim("long", parametrised(&[given("one", "gpu0")], &[(false, &[], &long)]));
    world.agent.claim("many", parametrised(&[given("one", "gpu1")], &many));
    let mixed = [given("one/a", "gpu0"), given("one/b", "gpu1")];
    world.agent.claim("mixed", parametrised(&mixed, &[(false, &[], "1")]));
    for (uid, why) in [
        ("long", "claim team/claim-long (long): request one: has parameters of 10241 bytes, more than 10240"),
        ("many", "claim team/claim-many (many): request one: has 65 parameters, more than 64"),
        ("mixed", "claim team/claim-mixed (mixed): device gpu1: is of another subrequest than others of its request"),
    ] {
        assert_eq!(prepare(client.clone(), &[uid]).await.remove(uid).unwrap(), Err(why.to_owned()));
    }
    assert_eq!(world.devices.calls.load(SeqCst), 0);
}
