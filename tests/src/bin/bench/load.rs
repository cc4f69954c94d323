//! The whole program: start, memory and idleness, with 1, 8 and 64 plugins of 8 devices.
//!
//! Every plugin has a component of its own: the same code, but another file with another digest, as if each came from
//! another vendor, so that nothing can be compiled once for all of them.

use crate::table::{Table, median_and_p99};
use devgate_tests::process::{children, processor_time, proportional, resident};
use devgate_tests::{Host, Kind, Setup, generic_policy};
use rustix::process::Signal;
use std::time::{Duration, Instant};

const DEVICES: u32 = 8;
const MANY: u32 = 64;
/// After this long, what start-up needed and freed has been given back, or never will be; and the threads that waited for files, of
/// which a count of processor time would lose what they used, have ended.
pub(crate) const SETTLED: Duration = Duration::from_secs(13);

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
    let (_, runner) = memory(one.pid()?)?;
    table.budget("the runner of 1 plugin, PSS", runner, "MiB", 2.5);
    let (large, own) = resident(eight.pid()?)?;
    table.budget("host alone, 8 plugins of 8 devices, resident", large, "MiB", 12.0);
    table.figure("the same, without what is a file's", own, "MiB");
    let (all, runners) = memory(eight.pid()?)?;
    table.budget("each runner of 8 plugins, PSS", runners / 8.0, "MiB", 1.5);
    table.budget("all processes, 8 plugins, PSS", all, "MiB", 24.0);

    let share = busy(&eight, idle).await?;
    table.budget("idle, all processes, 8 plugins, 64 devices, of one core", share, "%", 0.3);
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
    let (alone, _) = resident(host.pid()?)?;
    table.figure("host alone, 64 plugins of 8 devices, resident", alone, "MiB");
    let (all, _) = memory(host.pid()?)?;
    table.budget("all processes, 64 plugins, PSS", all, "MiB", 100.0);
    let share = busy(&host, idle).await?;
    table.figure("idle, all processes, 64 plugins, 512 devices, of one core", share, "%");
    Ok(())
}

/// What a host and its runners have in memory, and what the runners have of it; in MiB.
fn memory(host: u32) -> anyhow::Result<(f64, f64)> {
    let mut runners = 0.0;
    for runner in children(host)? {
        runners += proportional(runner)?;
    }
    Ok((proportional(host)? + runners, runners))
}

/// How much of a core a host and its runners take within so many seconds, in percent.
async fn busy(host: &Host, seconds: u64) -> anyhow::Result<f64> {
    let all = || -> anyhow::Result<f64> {
        let own = processor_time(host.pid()?)?;
        let children = children(host.pid()?)?;
        children.into_iter().try_fold(own, |sum, child| Ok(sum + processor_time(child)?))
    };
    let (before, begun) = (all()?, Instant::now());
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    Ok((all()? - before) / begun.elapsed().as_secs_f64() * 100.0)
}

/// Starts a host and waits until the kubelet has all of it.
async fn started(plugins: u32) -> anyhow::Result<(Host, Duration)> {
    let kinds = kinds(plugins);
    let generic = std::fs::read(devgate_tests::components()?.join("generic.wasm"))?;
    let mut policy = generic_policy(&kinds);
    for kind in &kinds {
        policy = policy.replacen("{file: generic.wasm}", &format!("{{file: {}}}", own_file(kind)), 1);
    }
    let mut setup = Setup::new(&policy).of(&kinds);
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
