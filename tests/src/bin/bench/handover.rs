//! How long the kubelet misses devices while the host that serves hands over to the next one, with what pods hold.

use crate::table::{Table, median_and_p99};
use anyhow::{Context, ensure};
use devgate_fake_kubelet::Pod;
use devgate_tests::{Host, Kind, Line, Setup, generic_policy};
use std::time::{Duration, Instant};

/// Plugins, and devices of each, all of which pods have.
const HELD: [(u32, u32); 3] = [(8, 8), (8, 125), (1, 1_000)];
const TIMES: usize = 5;
/// A host may take a while until it is asked and done.
const TIMEOUT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_micros(500);

/// Measures.
pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    for (plugins, each) in HELD {
        measure_with(table, plugins, each).await?;
    }
    Ok(())
}

async fn measure_with(table: &mut Table, plugins: u32, each: u32) -> anyhow::Result<()> {
    let kinds: Vec<_> = (0..plugins).map(|class| Kind { class, count: each }).collect();
    let mut host = Setup::new(&generic_policy(&kinds)).of(&kinds).start().await?;
    for kind in &kinds {
        host.allocatable(&kind.resource(), usize::try_from(each)?).await?;
        let pod = Pod::new(&format!("holder{}", kind.class), &[(&kind.resource(), usize::try_from(each)?)]);
        host.kubelet.admit(&pod).await?;
    }
    host.options(&["--take-over"]);
    let mut gaps = Vec::new();
    for time in 0..TIMES {
        host.status_at(&format!("next{time}/status.sock"))?;
        let mut before = host.spawn_beside(&[])?.context("the host before")?;
        gaps.push(gap(&host, &kinds).await?.as_secs_f64() * 1e3);
        // As a rollout waits for each of its pods.
        let well = |line: &&Line| line.message.contains("took over, and serves well");
        host.logged(|_| host.lines().iter().filter(well).count() > time).await?;
        before.kill().await?;
    }
    let (median, worst) = median_and_p99(&mut gaps);
    let what = format!("handover, {plugins} plugins, {} held devices: the kubelet has fewer", plugins * each);
    table.budget(&format!("{what}, median"), median, "ms", 100.0);
    table.figure(&format!("{what}, worst of {TIMES}"), worst, "ms");
    Ok(())
}

/// From the first device that is missed until all are there.
async fn gap(host: &Host, kinds: &[Kind]) -> anyhow::Result<Duration> {
    let has_all = || {
        let has = |kind: &Kind| host.kubelet.allocatable(&kind.resource()) == usize::try_from(kind.count).ok();
        kinds.iter().all(has)
    };
    let (begun, mut since) = (Instant::now(), None);
    while begun.elapsed() < TIMEOUT {
        match (has_all(), since) {
            (false, None) => since = Some(Instant::now()),
            (true, Some(since)) => return Ok(since.elapsed()),
            _ => {}
        }
        tokio::time::sleep(LOOK).await;
    }
    ensure!(since.is_some(), "no host took over");
    anyhow::bail!("devices are still missed")
}
