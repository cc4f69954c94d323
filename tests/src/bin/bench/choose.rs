//! The default for `GetPreferredAllocation`, in this process: from the kubelet's ids to the answer, without the socket.

use crate::table::{Table, median_and_p99};
use anyhow::{Context, ensure};
use devgate_core::offer::{DeviceList, Offer};
use devgate_core::{Allocations, HoldersFeed, LoadFailure, Loader, Plugins, Surroundings};
use devgate_fake_node::RecordedNode;
use devgate_policy::{PluginPolicy, PolicyFile};
use devgate_runner::{LoadRequest, Programs, Runners};
use devgate_types::component::Component;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long so many devices may take until they are offered.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Measures choices on a small node and on a large one.
pub(crate) async fn measure(table: &mut Table, calls: usize) -> anyhow::Result<()> {
    let (_plugins, small) = offered(16, 4).await?;
    let (median, p99) = time(&small, 4, calls).await?;
    table.figure("choose of 4 of 16, median", median, "ms");
    table.budget("choose of 4 of 16, p99", p99, "ms", 1.0);
    let (_plugins, large) = offered(10_000, 100).await?;
    for size in [8, 5_000] {
        let (median, p99) = time(&large, size, calls.min(100)).await?;
        table.figure(&format!("choose of {size} of 10,000, median"), median, "ms");
        table.budget(&format!("choose of {size} of 10,000, p99"), p99, "ms", 50.0);
    }
    Ok(())
}

async fn time(offer: &Arc<dyn Offer>, size: usize, calls: usize) -> anyhow::Result<(f64, f64)> {
    let list = Arc::clone(&offer.devices().borrow());
    // Some are in use, so that no part of the tree is like another.
    let free = list.devices.iter().enumerate().filter(|(n, _)| n % 7 != 3 && n % 11 != 5);
    let mut available: Vec<String> = free.map(|(_, device)| device.id.clone()).collect();
    let mut samples = Vec::with_capacity(calls);
    for _ in 0..calls {
        // Another order each time, as the kubelet's sets have none.
        let third = available.len() / 3;
        available.rotate_left(third);
        let begun = Instant::now();
        let chosen = offer.choose(&available, &[], size).await;
        samples.push(begun.elapsed().as_secs_f64() * 1e3);
        ensure!(chosen.len() == size, "{} of {size} were chosen", chosen.len());
    }
    Ok(median_and_p99(&mut samples))
}

/// So many devices, this many on each switch, five switches to a root complex and half of those to a NUMA node.
async fn offered(devices: usize, on_a_switch: usize) -> anyhow::Result<(Plugins, Arc<dyn Offer>)> {
    let node = RecordedNode::parse("bench", &recording(devices, on_a_switch))?;
    let file = PolicyFile { name: "bench.yaml", text: POLICY };
    let policy = devgate_policy::parse(&[file]).map_err(|errors| anyhow::anyhow!("{errors}"))?;
    let loader: Arc<dyn Loader> = Arc::new(Generic {
        runners: Runners::new(Programs::beside()?, None)?,
        bytes: std::fs::read(devgate_tests::components()?.join("generic.wasm"))?,
    });
    let around =
        Surroundings { node: node.into(), loader, allocations: Allocations::forgetful(), holders: HoldersFeed::none() };
    let plugins = Plugins::start(&policy, around);
    let ready = |list: &Arc<DeviceList>| {
        list.devices.len() == devices && list.devices.iter().all(|device| device.unhealthy.is_none())
    };
    let wait = async {
        let mut offers = plugins.offers();
        let offers = offers.wait_for(|offers| !offers.is_empty()).await?;
        let offer = offers.first().map(Arc::clone).context("nothing is offered")?;
        drop(offers);
        offer.devices().wait_for(ready).await?;
        anyhow::Ok(offer)
    };
    let offer = tokio::time::timeout(TIMEOUT, wait).await.context("the devices are not offered")??;
    Ok((plugins, offer))
}

const POLICY: &str = "\
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  bench:
    component: {file: generic.wasm}
    resources: [devgate.dev/bench]
    hardware:
      - {subsystem: bench, use: offer, nodes: [{access: rw}]}
    health: {check-every: 10s, enumerate-every: 60s}
    config:
      devices:
        - {resource: devgate.dev/bench, subsystem: bench}
";

fn recording(devices: usize, on_a_switch: usize) -> String {
    let switches = devices.div_ceil(on_a_switch);
    let mut text = String::new();
    for n in 0..devices {
        let switch = n / on_a_switch;
        let (root, numa) = (switch / 5, 2 * switch / switches);
        let above = format!("/devices/pci{root:04x}:00/{root:04x}:00:{switch:02x}.0/{root:04x}:{switch:02x}:00.0");
        let _ = write!(
            text,
            "P: {above}/{root:04x}:{switch:02x}:01.0/bench{n}\nN: bench{n}\nE: SUBSYSTEM=bench\n\
             E: DEVNAME=/dev/bench{n}\nE: MAJOR=240\nE: MINOR={n}\nA: dev=240:{n}\\n\nA: numa_node={numa}\\n\n\n"
        );
    }
    text
}

/// Loads the component `generic`, whatever the policy names.
struct Generic {
    runners: Runners,
    bytes: Vec<u8>,
}

impl Loader for Generic {
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        let request = LoadRequest {
            plugin: policy.name.as_str(),
            bytes: &self.bytes,
            sha256: None,
            limits: policy.limits.clone(),
            grants: &|_| devgate_types::Grant::Granted,
        };
        let loaded = self.runners.load(&request).map_err(|e| LoadFailure::Host(e.to_string()))?;
        Ok(Arc::new(loaded))
    }
    fn digest(&self, _: &PluginPolicy) -> Result<Option<[u8; 32]>, LoadFailure> {
        Ok(None)
    }
}
