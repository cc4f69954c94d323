//! What pods ask of attackers, and of the good plugin all the while.

use super::host::{GOOD, TIMEOUT};
use crate::conformance::{allocate, client};
use devgate_kubelet::api;
use devgate_tests::Host;
use devgate_tests::attackers::{Ask, Attacker};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest that a pod of the good plugin may wait, on a machine that does other things too.
const SERVED_WITHIN: Duration = Duration::from_secs(10);

/// The fewest pods of it that are served, however short a trial is.
const LEAST: usize = 20;

/// What one pod was told, and after how long.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) said: Vec<String>,
    pub(super) took: Duration,
}

/// What an answer gives a container, a line each.
fn lines(answer: &api::ContainerAllocateResponse) -> Vec<String> {
    let mut lines = vec!["answer".to_owned()];
    lines.extend(answer.envs.iter().map(|(name, value)| format!("env {name}={value}")));
    lines.extend(answer.annotations.iter().map(|(key, value)| format!("annotation {key}={value}")));
    lines.extend(answer.cdi_devices.iter().map(|cdi| format!("cdi {}", cdi.name)));
    lines.extend(answer.devices.iter().map(|device| format!("node {}", device.host_path)));
    lines.extend(answer.mounts.iter().map(|mount| format!("mount {}", mount.host_path)));
    lines
}

/// Asks, as a pod would; what it is told.
pub(super) async fn pods(host: &Host, attacker: &Attacker, ask: &Ask) -> anyhow::Result<Vec<Told>> {
    let (Ask::Allocate { ids, .. } | Ask::Prefer { ids, .. }) = ask else {
        return Ok(vec![]);
    };
    let ids: Vec<&str> = match ids.as_slice() {
        [] => vec![&attacker.name],
        ids => ids.iter().map(String::as_str).collect(),
    };
    let resource = attacker.resource();
    host.wait(|kubelet| kubelet.allocatable(&resource).is_some_and(|count| count > 0)).await?;
    let mut client = client(host, &resource).await?;
    let mut told = Vec::new();
    let times = if let Ask::Allocate { times, .. } = ask { *times } else { 1 };
    for _ in 0..times {
        let begun = Instant::now();
        let said = match ask {
            Ask::Prefer { size, .. } => {
                let request = api::PreferredAllocationRequest {
                    container_requests: vec![api::ContainerPreferredAllocationRequest {
                        available_device_i_ds: ids.iter().map(|id| (*id).to_owned()).collect(),
                        must_include_device_i_ds: vec![],
                        allocation_size: *size,
                    }],
                };
                let answer = client.get_preferred_allocation(request).await;
                answer.map(|answer| {
                    let all = answer.into_inner().container_responses;
                    all.into_iter().flat_map(|one| one.device_i_ds).map(|id| format!("chosen {id}")).collect()
                })
            }
            _ => allocate(&mut client, &ids).await.map(|answer| lines(&answer)),
        };
        let said = said.unwrap_or_else(|error| vec![error.message().to_owned()]);
        let took = begun.elapsed();
        anyhow::ensure!(took < TIMEOUT, "a pod waited for {took:?}");
        told.push(Told { said, took });
    }
    Ok(told)
}

/// How the good plugin's pods are served while attackers are there.
#[derive(Debug, Default)]
pub(super) struct Service {
    pub(super) is_over: AtomicBool,
    served: Mutex<(usize, Duration)>,
}

impl Service {
    /// Asks for a device of the good plugin again and again until it is over.
    pub(super) async fn go_on(&self, host: &Host) -> anyhow::Result<()> {
        let mut client = client(host, &GOOD.resource()).await?;
        while !self.is_over.load(Ordering::Relaxed) || self.served().0 < LEAST {
            let begun = Instant::now();
            allocate(&mut client, &["bench0-0"]).await?;
            let took = begun.elapsed();
            anyhow::ensure!(took < SERVED_WITHIN, "a pod of the good plugin waited for {took:?}");
            if let Ok(mut served) = self.served.lock() {
                *served = (served.0 + 1, served.1.max(took));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// How many were served, and how long one waited at most.
    pub(super) fn served(&self) -> (usize, Duration) {
        self.served.lock().map(|served| *served).unwrap_or_default()
    }
}
