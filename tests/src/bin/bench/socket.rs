//! `Allocate` over the socket of the real program, and the same call of the floor, taken in turn.

use crate::table::{Table, median_and_p99};
use anyhow::Context;
use devgate_kubelet::api::AllocateRequest;
use devgate_kubelet::api::ContainerAllocateRequest;
use devgate_kubelet::api::device_plugin_client::DevicePluginClient;
use devgate_tests::{Kind, Setup, generic_policy};
use hyper_util::rt::TokioIo;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tonic::transport::{Channel, Endpoint};

type Client = DevicePluginClient<Channel>;

const KIND: Kind = Kind { class: 0, count: 8 };
/// Calls that are not counted.
const WARM_UP: usize = 500;

/// Measures with 1 and with 8 callers.
pub(crate) async fn measure(table: &mut Table, calls: usize) -> anyhow::Result<()> {
    let host = Setup::new(&generic_policy(&[KIND])).of(&[KIND]).start().await?;
    host.allocatable(&KIND.resource(), 8).await?;
    let plugin = sockets(host.dir())?.pop().context("the host has no socket")?;
    let ids: Vec<_> = host.kubelet.devices(&KIND.resource()).into_keys().collect();
    let floor = host.dir().join("floor.sock");
    let _floor = start_floor(&floor).await?;
    for callers in [1, 8] {
        let (empty, allocate) = side_by_side(&floor, &plugin, &ids, callers, calls).await?;
        let ((empty_p50, empty_p99), (p50, p99)) = (empty, allocate);
        let of = |what: &str| format!("{what}, {callers} caller{}", if callers == 1 { "" } else { "s" });
        table.figure(&of("empty call over the socket, median"), empty_p50, "µs");
        table.figure(&of("Allocate over the socket, median"), p50, "µs");
        table.figure(&of("empty call over the socket, p99"), empty_p99, "µs");
        table.figure(&of("Allocate over the socket, p99"), p99, "µs");
        if callers == 1 {
            table.budget(&of("Allocate / empty call, median"), p50 / empty_p50, "×", 1.5);
            table.budget(&of("Allocate / empty call, p99"), p99 / empty_p99, "×", 1.5);
        } else {
            table.figure(&of("Allocate / empty call, median"), p50 / empty_p50, "×");
            table.figure(&of("Allocate / empty call, p99"), p99 / empty_p99, "×");
        }
    }
    Ok(())
}

type Percentiles = (f64, f64);

/// Calls both in turn, so that whatever else the machine does hits both.
async fn side_by_side(
    floor: &Path,
    plugin: &Path,
    ids: &[String],
    callers: usize,
    calls: usize,
) -> anyhow::Result<(Percentiles, Percentiles)> {
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let (mut empty, mut real) = (connect(floor).await?, connect(plugin).await?);
        let ids = ids.get(caller % ids.len()).cloned().into_iter().collect::<Vec<_>>();
        let calls = WARM_UP + calls / callers;
        tasks.spawn(async move {
            let (mut floor, mut host) = (Vec::new(), Vec::new());
            for _ in 0..calls {
                floor.push(time(&mut empty, &ids).await?);
                host.push(time(&mut real, &ids).await?);
            }
            anyhow::Ok((floor.split_off(WARM_UP), host.split_off(WARM_UP)))
        });
    }
    let (mut floor, mut host) = (Vec::new(), Vec::new());
    while let Some(done) = tasks.join_next().await {
        let (one, other) = done??;
        floor.extend(one);
        host.extend(other);
    }
    Ok((median_and_p99(&mut floor), median_and_p99(&mut host)))
}

/// One call, in µs.
pub(crate) async fn time(client: &mut Client, ids: &[String]) -> anyhow::Result<f64> {
    let request = AllocateRequest { container_requests: vec![ContainerAllocateRequest { devices_ids: ids.to_vec() }] };
    let begun = Instant::now();
    client.allocate(request).await?;
    Ok(begun.elapsed().as_secs_f64() * 1e6)
}

pub(crate) async fn connect(socket: &Path) -> anyhow::Result<Client> {
    channel(socket).await.map(DevicePluginClient::new)
}

pub(crate) async fn channel(socket: &Path) -> anyhow::Result<Channel> {
    let socket = socket.to_owned();
    let connector = tower::service_fn(move |_| {
        let socket = socket.clone();
        async move { UnixStream::connect(socket).await.map(TokioIo::new) }
    });
    Ok(Endpoint::from_static("http://localhost").connect_with_connector(connector).await?)
}

/// The plugins' sockets.
pub(crate) fn sockets(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut sockets = Vec::new();
    for entry in std::fs::read_dir(dir.join("plugins"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ext| ext == "sock") && !path.ends_with("kubelet.sock") {
            sockets.push(path);
        }
    }
    Ok(sockets)
}

async fn start_floor(socket: &Path) -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    let child = command.arg("--floor").arg(socket).stdin(Stdio::null()).kill_on_drop(true).spawn()?;
    for _ in 0..500 {
        if connect(socket).await.is_ok() {
            return Ok(child);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err(anyhow::anyhow!("no answer")).context("the floor's server")
}
