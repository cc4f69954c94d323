//! Siblings of one piece of hardware go to one pod.

use super::{settled, start};
use crate::testing::*;
use devgate_types::{CallError, Pool, Unit};
use std::fmt::Write as _;

/// Offers each granted DRM device by itself, as `fake.com/NAME` with the first letters of its name.
fn nodes() -> Fake {
    Fake {
        enumerate: Box::new(|host| {
            let mut pools: Vec<Pool> = Vec::new();
            for device in host.devices("drm").map_err(|_| lost())? {
                let name = host.device_name(device).map_err(|_| lost())?;
                let unit = Unit {
                    backing: vec![device],
                    nodes: host.nodes(device).unwrap_or_default(),
                    properties: vec![],
                    id: name.clone(),
                };
                let resource = format!("fake.com/{}", name.trim_end_matches(|c: char| c.is_ascii_digit()));
                match pools.iter_mut().find(|pool| pool.resource == resource) {
                    Some(pool) => pool.units.push(unit),
                    None => pools.push(Pool { resource, units: vec![unit], shared_nodes: vec![], properties: vec![] }),
                }
            }
            Ok(pools)
        }),
        ..Fake::gpus()
    }
}

fn lost() -> CallError {
    CallError::Host(devgate_types::HostFault("the tree is not there".into()))
}

/// Plugins by their name, what they are granted of DRM, and further lines of their entries.
fn policy(plugins: &[(&str, &str, &str)]) -> String {
    let mut text = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n".to_owned();
    for (name, hardware, more) in plugins {
        let resources: Vec<_> = ["card", "renderD"]
            .into_iter()
            .filter(|class| hardware.contains(class))
            .map(|class| format!("fake.com/{class}"))
            .collect();
        let resources = resources.join(", ");
        write!(
            text,
            "  {name}:\n    component: {{file: fake.wasm}}\n    resources: [{resources}]\n    hardware: [{hardware}]\n{more}    \
             health: {{check-every: 100ms, enumerate-every: 100ms}}\n"
        )
        .unwrap();
    }
    text
}

const CARDS: &str = "{subsystem: drm, name: \"card*\", use: offer, nodes: [{access: rw}]}";
const SHARED_CARDS: &str = "{subsystem: drm, name: \"card*\", use: offer, nodes: [{access: rw, shared: true}]}";
const RENDERERS: &str = "{subsystem: drm, name: \"renderD*\", use: offer, nodes: [{access: rw}]}";

/// What is listed as a card and as a renderer, with why one is not to be had.
async fn listed(policy: &str) -> [String; 2] {
    let world = start(policy, [("fake.wasm", nodes())]);
    let mut lists = Vec::new();
    for class in ["card", "renderD"] {
        lists.push(settled(&world, class).await);
    }
    lists.try_into().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_of_one_device_are_not_offered_to_two() {
    let cards = "card0 {1}\ncard1 {}\ncard2 {}";
    let refused = |plugin: &str| {
        format!(
            "renderD128 {{1}} it is of one piece of hardware (0000:00:01.0) with card0 of plugin {plugin}, and a pod has the whole; one unit \
             may have both, or the policy says what is apart (partitions, shares-hardware)"
        )
    };
    let two = listed(&policy(&[("cards", CARDS, ""), ("renderers", RENDERERS, "")])).await;
    assert_eq!(two, [cards.to_owned(), refused("cards")]);
    // Units of one plugin as well: the kubelet gives each to another pod.
    let both = format!("{CARDS}, {RENDERERS}");
    let one = listed(&policy(&[("all", &both, "")])).await;
    assert_eq!(one, [cards.to_owned(), refused("all")]);
    // The ways out: nodes that the device keeps apart, hardware that the policy lets be shared, and a node that is.
    let parts = "    partitions: {own: [\"/dev/dri/*\"]}\n";
    let shares = "    shares-hardware: true\n";
    for apart in [
        policy(&[("all", &both, parts)]),
        policy(&[("all", &both, shares)]),
        policy(&[("cards", CARDS, shares), ("renderers", RENDERERS, shares)]),
        policy(&[("cards", SHARED_CARDS, ""), ("renderers", RENDERERS, "")]),
    ] {
        assert_eq!(listed(&apart).await, [cards, "renderD128 {1}"], "{apart}");
    }
    // One of them alone does not decide for both, nor do parts for another plugin.
    for (first, second) in [(shares, ""), ("", shares), (parts, parts)] {
        let text = policy(&[("cards", CARDS, first), ("renderers", RENDERERS, second)]);
        assert_eq!(listed(&text).await, [cards.to_owned(), refused("cards")], "{text}");
    }
}
