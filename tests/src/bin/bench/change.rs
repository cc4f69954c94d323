//! From a change of the hardware to the list that says so, and how long a list may be.

use crate::table::{Table, median_and_p99};
use anyhow::Context;
use devgate_tests::process::resident;
use devgate_tests::{Host, Kind, Setup, generic_policy, recording};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Changes for each figure, of which the median is taken.
const CHANGES: u32 = 3;
/// After this, nothing of a change is still to come: it is longer than the pause between two lists and that between two looks.
const QUIET: Duration = Duration::from_secs(3);
const DAY: f64 = 86_400.0;

/// Measures lists of 8, 5,000 and 10,000 devices.
pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    for (count, name, budget) in [(8, "8", 50.0), (5_000, "5,000", 250.0)] {
        let (mut seen, mut made) = changes(Kind { class: 0, count }).await?;
        let what = format!("event to list, {name} devices");
        table.budget(&what, median_and_p99(&mut seen).0, "ms", budget);
        let what = format!("the same from the write of the recording on, {name} devices");
        table.figure(&what, median_and_p99(&mut made).0, "ms");
    }
    let kind = Kind { class: 0, count: 10_000 };
    let begun = Instant::now();
    let host = started(kind).await?;
    let took = begun.elapsed().as_secs_f64() * 1e3;
    table.figure("start to registered, 1 plugin of 10,000 devices", took, "ms");
    tokio::time::sleep(QUIET).await;
    let (all, _) = resident(host.pid()?)?;
    table.figure("resident memory, 1 plugin of 10,000 devices", all, "MiB");
    Ok(())
}

async fn started(kind: Kind) -> anyhow::Result<Host> {
    let setup = Setup::new(&generic_policy(&[kind])).on(&recording(&[kind]));
    let host = setup.start().await?;
    host.allocatable(&kind.resource(), usize::try_from(kind.count)?).await?;
    Ok(host)
}

/// Takes nodes away, one after the other. For each: from the event, which the recorded node tells once it has been read again,
/// to the list; and from the write of the recording on, in ms.
async fn changes(kind: Kind) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let host = started(kind).await?;
    let mut text = recording(&[kind]);
    let (mut seen, mut made) = (Vec::new(), Vec::new());
    for n in 0..CHANGES {
        tokio::time::sleep(QUIET).await;
        let before = host.lines().len();
        text = text.replacen(&format!("N: bench{}-{n}\n", kind.class), "", 1);
        let next = host.dir().join("next");
        std::fs::write(&next, &text)?;
        let begun = Instant::now();
        std::fs::rename(&next, host.dir().join("node.umockdev"))?;
        let left = usize::try_from(kind.count - n - 1)?;
        host.allocatable(&kind.resource(), left).await?;
        let (now, took) = (SystemTime::now(), begun.elapsed());
        let about = |message: &str| message.ends_with(": read again");
        // The log comes through a pipe of its own, and may be later than the list.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let lines = host.lines();
        let line = lines.iter().skip(before).find(|line| about(&line.message));
        let logged = line.and_then(|line| second_of_day(&line.timestamp));
        let logged = logged.context("the host did not log the event")?;
        let now = now.duration_since(UNIX_EPOCH)?.as_secs_f64();
        // Over midnight, too; and the list may be there before the event is logged.
        let seconds = (now - logged + DAY / 2.0).rem_euclid(DAY) - DAY / 2.0;
        seen.push(seconds.max(0.0) * 1e3);
        made.push(took.as_secs_f64() * 1e3);
    }
    Ok((seen, made))
}

/// Of `2026-11-21T13:42:17.123456Z`.
fn second_of_day(timestamp: &str) -> Option<f64> {
    let (_, time) = timestamp.strip_suffix('Z')?.split_once('T')?;
    let mut parts = time.split(':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    Some(hours * 3_600.0 + minutes * 60.0 + seconds)
}
