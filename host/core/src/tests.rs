//! The plugin layer as a whole, over a recorded node and components that are closures.

mod allocations;
mod by_name;
mod consumers;
mod control;
mod events;
mod files;
mod gate;
mod health;
mod held_units;
mod here;
mod kept;
mod life;
mod look;
mod maps;
mod mounts;
mod nodes;
mod offers;
mod order;
mod pieces;
mod property;
mod reading;
mod reload;
mod resting;
pub(crate) mod support;
mod survey;
mod threads;
mod values;
mod vfio;

use crate::allocations::Allocations;
use crate::offer::{DeviceList, Offer};
use crate::plugins::Plugins;
use crate::testing::*;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);

struct World {
    node: devgate_fake_node::RecordedNode,
    plugins: Plugins,
}

fn start(policy: &str, fakes: impl IntoIterator<Item = (&'static str, Fake)>) -> World {
    start_on(&node(), policy, fakes)
}

fn start_on(
    node: &devgate_fake_node::RecordedNode,
    policy: &str,
    fakes: impl IntoIterator<Item = (&'static str, Fake)>,
) -> World {
    let allocations = Allocations::forgetful();
    let plugins = Plugins::start(&parse(policy), around(node, FakeLoader::with(fakes), &allocations));
    let node = node.clone();
    World { node, plugins }
}

impl World {
    async fn offer(&self, resource: &str) -> Arc<dyn Offer> {
        let mut offers = self.plugins.offers();
        let found =
            tokio::time::timeout(TIMEOUT, offers.wait_for(|all| all.iter().any(|o| o.resource().as_str() == resource)));
        let all = found.await.expect("offered in time").unwrap().clone();
        all.iter().find(|o| o.resource().as_str() == resource).unwrap().clone()
    }
}

async fn wait(offer: &Arc<dyn Offer>, what: impl FnMut(&Arc<DeviceList>) -> bool) -> String {
    let mut devices = offer.devices();
    let found = tokio::time::timeout(TIMEOUT, devices.wait_for(what)).await;
    show(&found.expect("seen in time").unwrap())
}

/// What a plugin lists of its resource `fake.com/NAME` once it has looked at all of it.
async fn settled(world: &World, name: &str) -> String {
    let offer = world.offer(&format!("fake.com/{name}")).await;
    let known = wait(&offer, |list| {
        let new = |why: &Arc<str>| why.contains("not found healthy yet");
        !list.devices.is_empty() && !list.devices.iter().any(|d| d.unhealthy.as_ref().is_some_and(new))
    });
    known.await
}

fn show(list: &DeviceList) -> String {
    let one = |d: &crate::offer::Device| match &d.unhealthy {
        None => format!("{} {:?}", d.id, d.numa_nodes),
        Some(reason) => format!("{} {:?} {reason}", d.id, d.numa_nodes),
    };
    list.devices.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn all_healthy(list: &Arc<DeviceList>) -> bool {
    !list.devices.is_empty() && list.devices.iter().all(|d| d.unhealthy.is_none())
}

fn strings(ids: &[&str]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}
