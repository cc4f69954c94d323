//! The way of one allocation and of one event through the crates: each is passed once.

use devgate_tests::{Disk, Host, Line, Setup};
use std::time::Duration;

const POLICY: &str = "\
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  zram:
    component: {file: generic.wasm}
    resources: [devgate.dev/zram]
    hardware: [{subsystem: block, name: \"zram*\", use: offer, nodes: [{access: rw}]}]
    config: {devices: [{resource: devgate.dev/zram, subsystem: block}]}
    health: {enumerate-every: 10m, check-every: 10m}
";
const FILTER: &str = "info,devgate_device_plugin=trace,devgate_core=trace,devgate_runner=trace,devgate_node=trace";

/// The spans that have ended since a line, each with those around it, in the order in which they ended.
fn spans(host: &Host, since: usize) -> Vec<String> {
    let lines = host.lines().split_off(since);
    let ended = |line: &Line| (line.level == "TRACE" && line.message == "close").then(|| line.spans.join(" > "));
    lines.iter().filter_map(ended).collect()
}

/// Waits until a span has ended, and the log says so.
async fn ended(host: &Host, since: usize, name: &str) -> anyhow::Result<()> {
    for _ in 0..500 {
        if spans(host, since).iter().any(|span| span == name) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    anyhow::bail!("{name} did not end: {:#?}", spans(host, since))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allocation_and_an_event_pass_each_crate_once() -> anyhow::Result<()> {
    let _alone = devgate_tests::machine::alone()?;
    let Some(first) = Disk::new()? else {
        println!("skipped: this kernel makes no disks in memory (modprobe zram)");
        return Ok(());
    };
    let host = Setup::new(POLICY).log(FILTER).start().await?;
    host.wait(|kubelet| {
        let listed = kubelet.devices("devgate.dev/zram");
        listed.keys().any(|id| id.ends_with(&first.name()))
    })
    .await?;
    let before = host.kubelet.devices("devgate.dev/zram").len();

    let since = host.lines().len();
    let pod = devgate_fake_kubelet::Pod::new("one", &[("devgate.dev/zram", 1)]);
    host.kubelet.admit(&pod).await.map_err(|why| anyhow::anyhow!("{why}"))?;
    ended(&host, since, "device-plugin.allocate").await?;
    let way = spans(&host, since);
    let allocation: Vec<_> =
        way.iter().filter(|span| span.starts_with("device-plugin.allocate")).map(String::as_str).collect();
    let expected = [
        "device-plugin.allocate > core.allocate > runner.call",
        "device-plugin.allocate > core.allocate > core.record",
        "device-plugin.allocate > core.allocate",
        "device-plugin.allocate",
    ];
    assert_eq!(allocation, expected, "{way:#?}");

    let since = host.lines().len();
    let _second = Disk::new()?;
    host.wait(|kubelet| kubelet.devices("devgate.dev/zram").len() > before).await?;
    ended(&host, since, "device-plugin.list").await?;
    let way = spans(&host, since);
    // What pods have by now was published before. Several events of one disk are one look; which of them it came of does not matter.
    let (events, way): (Vec<_>, Vec<_>) = way.into_iter().partition(|span| span.contains(".event"));
    assert!(events.iter().any(|span| span == "node.event > core.event"), "{events:#?}");
    let first = way.iter().position(|span| span.starts_with("core.enumerate"));
    let after = way.get(first.unwrap_or_default()..).unwrap_or_default();
    // Then its health is asked for, and it is listed.
    let expected =
        ["core.enumerate > runner.call", "core.enumerate", "runner.call", "core.publish", "device-plugin.list"];
    assert_eq!(after, expected, "{way:#?}");
    Ok(())
}
