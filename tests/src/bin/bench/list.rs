//! Listing devices, without a kubelet: `enumerate` of the component `generic` on a recorded node, through the gate, up to whose
//! hardware is whose. What a plugin does at least once a minute, however many devices it has.

use crate::table::{Table, median_and_p99};
use anyhow::{anyhow, ensure};
use devgate_core::workbench::Workbench;
use devgate_fake_node::RecordedNode;
use devgate_policy::PolicyFile;
use devgate_runner::{LoadRequest, Programs, Runners};
use devgate_tests::{Kind, generic_policy, recording};
use devgate_types::Grant;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls that are not counted.
const WARM_UP: usize = 2;
/// The most that are.
const MAX_CALLS: usize = 50;

/// Measures lists of 1,000 and 8,192 devices.
pub(crate) fn measure(table: &mut Table, calls: usize) -> anyhow::Result<()> {
    let runners = Runners::new(Programs::beside()?, None)?;
    for (count, name, budget) in [(1_000, "1,000", 12.0), (8_192, "8,192", 250.0)] {
        let (mut took, mut used) = time(&runners, count, calls.min(MAX_CALLS))?;
        let (median, p99) = median_and_p99(&mut took);
        table.budget(&format!("enumerate of {name} devices, median"), median, "ms", budget);
        table.figure(&format!("enumerate of {name} devices, p99"), p99, "ms");
        let what = format!("the same, time of the processor, {name} devices, median");
        table.figure(&what, median_and_p99(&mut used).0, "ms");
    }
    Ok(())
}

/// For each call how long it took, and how long it kept a processor busy: the one that is the same on a busy machine. In ms.
fn time(runners: &Runners, count: u32, calls: usize) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let kind = Kind { class: 0, count };
    let node = RecordedNode::parse("bench", &recording(&[kind]))?;
    let text = generic_policy(&[kind]);
    let file = PolicyFile { name: "bench.yaml", text: &text };
    let policy = devgate_policy::parse(&[file])?;
    let plugin = policy.plugins.values().next().ok_or_else(|| anyhow!("no plugin"))?;
    let bytes = std::fs::read(devgate_tests::components()?.join("generic.wasm"))?;
    let component = runners.load(&LoadRequest {
        plugin: "bench",
        bytes: &bytes,
        sha256: None,
        limits: plugin.limits.clone(),
        grants: &|_: &str| Grant::Granted,
    })?;
    let bench = Workbench::new(&Arc::new(plugin.clone()), &node, Arc::new(component))?;
    let (mut times, mut used) = (Vec::with_capacity(calls), Vec::with_capacity(calls));
    for n in 0..calls + WARM_UP {
        let (begun, busy) = (Instant::now(), processor_time());
        let listed = bench.enumerate().map_err(|error| anyhow!("{error}"))?;
        let (took, busy) = (begun.elapsed(), processor_time().saturating_sub(busy));
        let units = listed.pools.iter().map(|pool| pool.units.len()).sum::<usize>();
        ensure!(
            u32::try_from(units) == Ok(count) && listed.rejected.is_empty() && listed.contested.is_empty(),
            "{units} of {count} were listed"
        );
        if n >= WARM_UP {
            times.push(took.as_secs_f64() * 1e3);
            used.push(busy.as_secs_f64() * 1e3);
        }
    }
    Ok((times, used))
}

/// Of this thread, since it started.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
