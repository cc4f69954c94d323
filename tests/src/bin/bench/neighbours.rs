//! A plugin's `Allocate` beside each attacker, and without one: what a plugin costs that does its worst.

use crate::socket::{connect, sockets, time};
use crate::table::{Table, median_and_p99};
use anyhow::Context;
use devgate_kubelet::api::device_plugin_client::DevicePluginClient;
use devgate_tests::attackers::{Attacker, all};
use devgate_tests::{Host, Kind, Setup, generic_policy};
use tonic::transport::Channel;

const GOOD: Kind = Kind { class: 0, count: 8 };
/// Devices for the attackers.
const OWN: Kind = Kind { class: 1, count: 64 };
/// Calls of each measurement, and those before it that are not counted.
const CALLS: usize = 1_000;
const WARM_UP: usize = 200;
/// Once in so many attackers it is measured without one as well.
const QUIET_EVERY: usize = 8;

pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let (mut quiet, mut beside) = (Vec::new(), Vec::new());
    // What becomes another file, or needs its machine code patched, is no neighbour by itself.
    let attackers = all()?.into_iter().filter(|attacker| attacker.class != "native");
    for (n, attacker) in attackers.enumerate() {
        if n % QUIET_EVERY == 0 {
            quiet.push(p99(None).await?);
        }
        let p99 = p99(Some(&attacker)).await.with_context(|| attacker.name.clone())?;
        beside.push((p99, format!("{}/{}", attacker.class, attacker.name)));
    }
    let (without, _) = median_and_p99(&mut quiet);
    beside.sort_by(|a, b| b.0.total_cmp(&a.0));
    table.figure("Allocate without an attacker, p99, median of several hosts", without, "µs");
    for (p99, name) in beside.iter().take(8) {
        table.figure(&format!("Allocate beside {name}, p99"), *p99, "µs");
    }
    let within = beside.iter().filter(|(p99, _)| *p99 <= 2.0 * without).count();
    table.figure("attackers beside which it is at most 2 x as long, of all", within as f64 / beside.len() as f64, "");
    let (worst, name) = beside.first().context("there is no attacker")?;
    table.budget(&format!("Allocate beside the worst ({name}) / without, p99"), worst / without, "×", 2.0);
    Ok(())
}

/// Of one host with the good plugin and at most one attacker.
async fn p99(attacker: Option<&Attacker>) -> anyhow::Result<f64> {
    let entry = attacker.map(|attacker| attacker.entry(&[])).unwrap_or_default();
    let mut setup = Setup::new(&(generic_policy(&[GOOD]) + &entry)).of(&[GOOD, OWN]);
    if let Some(attacker) = attacker {
        setup = setup.with(&format!("{}.wasm", attacker.name), attacker.component(0)?);
    }
    let host = setup.start().await?;
    host.allocatable(&GOOD.resource(), 8).await?;
    let mut client = good(&host).await?;
    let id: Vec<_> = host.kubelet.devices(&GOOD.resource()).into_keys().take(1).collect();
    let mut times = Vec::new();
    for _ in 0..WARM_UP + CALLS {
        times.push(time(&mut client, &id).await?);
    }
    Ok(median_and_p99(&mut times.split_off(WARM_UP)).1)
}

/// The good plugin is the first that answers for its devices.
async fn good(host: &Host) -> anyhow::Result<DevicePluginClient<Channel>> {
    let id: Vec<_> = host.kubelet.devices(&GOOD.resource()).into_keys().take(1).collect();
    for socket in sockets(host.dir())? {
        let mut client = connect(&socket).await?;
        if time(&mut client, &id).await.is_ok() {
            return Ok(client);
        }
    }
    anyhow::bail!("no plugin of the host has {id:?}")
}
