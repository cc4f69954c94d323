//! The whole program: start, memory and idleness, with 1, 8 and 64 plugins of 8 devices.
//!
//! Every plugin has a component of its own: the same code, but another file with another digest, as if each came from
//! another vendor, so that nothing can be compiled once for all of them.

use crate::table::{Table, median_and_p99};
use devgate_tests::process::{processor_time, resident};
use devgate_tests::{Host, Kind, Setup, generic_policy, recording};
use rustix::process::Signal;
use std::time::{Duration, Instant};

const DEVICES: u32 = 8;
const MANY: u32 = 64;
/// After this long, what start-up needed and freed has been given back, or never will be; and the threads that waited for files, of
/// which a count of processor time would lose what they used, have ended.
const SETTLED: Duration = Duration::from_secs(13);

fn kinds(plugins: u32) -> Vec<Kind> {
    (0..plugins).map(|class| Kind { class, count: DEVICES }).collect()
}

/// Measures start, memory and idle processor time.
pub(crate) async fn measure(table: &mut Table, idle: u64) -> anyhow::Result<()> {
    let (mut starts, mut again) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let (mut host, start) = started(8).await?;
        starts.push(start.as_secs_f64() * 1e3);
        again.push(started_again(&mut host, 8).await?.as_secs_f64() * 1e3);
    }
    let (start, _) = median_and_p99(&mut starts);
    table.budget("start to registered, 8 plugins, cold", start, "ms", 500.0);
    let (start, _) = median_and_p99(&mut again);
    table.budget("the same, code kept", start, "ms", 150.0);

    let (one, _) = started(1).await?;
    let (eight, _) = started(8).await?;
    tokio::time::sleep(SETTLED).await;
    let (small, small_own) = resident(one.pid()?)?;
    let (large, large_own) = resident(eight.pid()?)?;
    table.figure("resident memory, 1 plugin of 8 devices", small, "MiB");
    table.figure("the same, without what is a file's", small_own, "MiB");
    table.budget("resident memory, 8 plugins of 8 devices", large, "MiB", 32.0);
    table.figure("the same, without what is a file's", large_own, "MiB");
    table.budget("each further plugin", (large - small) / 7.0, "MiB", 1.0);

    let (before, begun) = (processor_time(eight.pid()?)?, Instant::now());
    tokio::time::sleep(Duration::from_secs(idle)).await;
    let used = processor_time(eight.pid()?)? - before;
    table.budget(
        "idle, 8 plugins, 64 devices, of one core",
        used / begun.elapsed().as_secs_f64() * 100.0,
        "%",
        0.2,
    );
    drop((one, eight));
    many(table, idle).await
}

/// The same with as many plugins as no node has: what grows with them must grow slowly.
async fn many(table: &mut Table, idle: u64) -> anyhow::Result<()> {
    let (mut host, start) = started(MANY).await?;
    table.figure("start to registered, 64 plugins, cold", start.as_secs_f64() * 1e3, "ms");
    let start = started_again(&mut host, MANY).await?;
    table.budget("the same, code kept", start.as_secs_f64() * 1e3, "ms", 800.0);
    tokio::time::sleep(SETTLED).await;
    let (memory, own) = resident(host.pid()?)?;
    table.figure("resident memory, 64 plugins of 8 devices", memory, "MiB");
    table.figure("the same, without what is a file's", own, "MiB");
    let (before, begun) = (processor_time(host.pid()?)?, Instant::now());
    tokio::time::sleep(Duration::from_secs(idle)).await;
    let used = processor_time(host.pid()?)? - before;
    let share = used / begun.elapsed().as_secs_f64() * 100.0;
    table.figure("idle, 64 plugins, 512 devices, of one core", share, "%");
    Ok(())
}

/// Starts a host and waits until the kubelet has all of it.
async fn started(plugins: u32) -> anyhow::Result<(Host, Duration)> {
    let kinds = kinds(plugins);
    let generic = std::fs::read(devgate_tests::components()?.join("generic.wasm"))?;
    let mut policy = generic_policy(&kinds);
    for kind in &kinds {
        policy = policy.replacen("{file: generic.wasm}", &format!("{{file: {}}}", own_file(kind)), 1);
    }
    let mut setup = Setup::new(&policy).on(&recording(&kinds));
    for kind in &kinds {
        setup = setup.with(&own_file(kind), own_component(&generic, kind));
    }
    let begun = Instant::now();
    let host = setup.start().await?;
    has_each(&host, plugins, usize::try_from(DEVICES)?).await?;
    Ok((host, begun.elapsed()))
}

/// Ends a host, and starts it where it was.
async fn started_again(host: &mut Host, plugins: u32) -> anyhow::Result<Duration> {
    host.end(Signal::TERM).await?;
    has_each(host, plugins, 0).await?;
    let begun = Instant::now();
    host.spawn()?;
    has_each(host, plugins, usize::try_from(DEVICES)?).await?;
    Ok(begun.elapsed())
}

/// Waits until the kubelet has so many devices of each plugin.
async fn has_each(host: &Host, plugins: u32, count: usize) -> anyhow::Result<()> {
    let kinds = kinds(plugins);
    let has = |kind: &Kind| host.kubelet.allocatable(&kind.resource()).unwrap_or_default() == count;
    host.wait(|_| kinds.iter().all(has)).await?;
    Ok(())
}

fn own_file(kind: &Kind) -> String {
    format!("generic-{}.wasm", kind.class)
}

/// The component with one more custom section, which means nothing but makes it another component.
fn own_component(generic: &[u8], kind: &Kind) -> Vec<u8> {
    let number = kind.class.to_le_bytes();
    // Section 0: length of the rest, length of the name, the name, the contents.
    let mut bytes = generic.to_vec();
    bytes.extend([0, 5 + 4, 4]);
    bytes.extend(b"copy");
    bytes.extend(number);
    bytes
}
