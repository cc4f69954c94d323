//! The main job: devices of this machine and of recorded nodes, offered and given.

use devgate_fake_kubelet::Pod;
use devgate_tests::{Kind, Setup, generic_policy, recording};
use std::collections::BTreeSet;
use std::path::Path;

/// What every Linux machine has, offered through the real `/sys` and `/dev`.
const NULL: &str = r#"
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  bits:
    component: {file: generic.wasm}
    resources: [devgate.dev/null, devgate.dev/zero]
    hardware:
      - {subsystem: mem, name: ["null", zero], use: offer, nodes: [{access: rw}]}
    replicas: 3
    config:
      devices:
        - {resource: devgate.dev/null, subsystem: mem, name: "null"}
        - {resource: devgate.dev/zero, subsystem: mem, name: zero}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn this_machines_own_devices_reach_a_pod() -> anyhow::Result<()> {
    if !Path::new("/sys/class/mem/null").exists() {
        println!("skipped: this machine's /sys has no /sys/class/mem/null");
        return Ok(());
    }
    let host = Setup::new(NULL).start().await?;
    host.allocatable("devgate.dev/null", 3).await?;
    host.allocatable("devgate.dev/zero", 3).await?;
    host.kubelet.admit(&Pod::new("a", &[("devgate.dev/null", 2), ("devgate.dev/zero", 1)])).await?;
    let main = host.kubelet.start_container("a", "main").await.map_err(anyhow::Error::msg)?;
    let devices: Vec<_> = main.devices.values().map(|d| format!("{} {}", d.host_path, d.permissions)).collect();
    assert_eq!(devices, ["/dev/null rw", "/dev/zero rw"]);
    assert!(main.conflicts.is_empty());
    Ok(())
}

/// Conformance 20, 21, 25, 38: ids unique over all resources, the same after a restart of the host; NUMA nodes.
#[tokio::test(flavor = "multi_thread")]
async fn ids_are_unique_on_the_node_and_survive_a_restart() -> anyhow::Result<()> {
    let kinds = [Kind { class: 0, count: 3 }, Kind { class: 1, count: 3 }];
    let mut host = Setup::new(&generic_policy(&kinds)).on(&recording(&kinds)).start().await?;
    for kind in kinds {
        host.allocatable(&kind.resource(), 3).await?;
    }
    let before: Vec<_> = kinds.iter().map(|kind| host.kubelet.devices(&kind.resource())).collect();
    let ids: BTreeSet<_> = before.iter().flat_map(|devices| devices.keys()).collect();
    assert_eq!(ids.len(), 6);
    let numa: Vec<_> = before[0].values().map(|(_, numa)| numa.iter().copied().collect::<Vec<_>>()).collect();
    assert_eq!(numa, [[0], [1], [0]]);
    host.end(rustix::process::Signal::KILL).await?;
    for kind in &kinds {
        host.allocatable(&kind.resource(), 0).await?;
    }
    host.spawn()?;
    for (kind, before) in kinds.iter().zip(&before) {
        host.wait(|kubelet| kubelet.devices(&kind.resource()) == *before).await?;
    }
    Ok(())
}

/// Exclusive means exclusive, over plugins: the later one's device is unhealthy, and says why.
#[tokio::test(flavor = "multi_thread")]
async fn two_plugins_cannot_both_offer_a_node() -> anyhow::Result<()> {
    let kind = Kind { class: 0, count: 1 };
    let one = generic_policy(&[kind]);
    let entry = one.split("plugins:\n").nth(1).unwrap();
    let second = entry.replace("bench0:", "second:").replace("devgate.dev/bench0", "other.dev/bench0");
    let host = Setup::new(&format!("{one}{second}")).on(&recording(&[kind])).start().await?;
    host.allocatable("devgate.dev/bench0", 1).await?;
    let line = host.logged(|line| line.plugin == "second" && line.level == "WARN").await?;
    insta::assert_snapshot!(line.message, @"plugin second: device bench0-0 is unhealthy: node c 240:0 is already given to bench0-0 of plugin bench0");
    assert!(host.kubelet.allocatable("other.dev/bench0").is_none_or(|n| n == 0));
    Ok(())
}

/// Conformance 33 and 38 with the real program: an id whose node is gone is refused, and named.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_vanished_is_not_given() -> anyhow::Result<()> {
    let kind = Kind { class: 0, count: 2 };
    let host = Setup::new(&generic_policy(&[kind])).on(&recording(&[kind])).start().await?;
    host.allocatable("devgate.dev/bench0", 2).await?;
    let without = recording(&[kind]).replace("N: bench0-1\n", "");
    host.replay(&without)?;
    host.allocatable("devgate.dev/bench0", 1).await?;
    let line = host.logged(|line| line.message.contains("is unhealthy")).await?;
    insta::assert_snapshot!(line.message, @"plugin bench0: device bench0-1 is unhealthy: node /dev/bench0-1 is missing");
    let error = host.kubelet.admit(&Pod::new("greedy", &[("devgate.dev/bench0", 2)])).await.unwrap_err();
    assert!(error.to_string().contains("Requested: 2, Available: 1"), "{error}");
    host.replay(&recording(&[kind]))?;
    host.allocatable("devgate.dev/bench0", 2).await?;
    Ok(())
}

/// The kubelet drops a stream at 4 MiB, and the resource with it. What a list may hold at most is less.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_devices_are_offered_and_what_a_list_cannot_hold_is_refused() -> anyhow::Result<()> {
    let kind = Kind { class: 0, count: 10_000 };
    let policy = generic_policy(&[kind]);
    let host = Setup::new(&policy).on(&recording(&[kind])).start().await?;
    host.allocatable(&kind.resource(), 10_000).await?;
    drop(host);

    let more = policy.replacen("    hardware:", "    replicas: 16\n    hardware:", 1);
    let host = Setup::new(&more).on(&recording(&[kind])).start().await?;
    host.allocatable(&kind.resource(), 100_000).await?;
    let line = host.logged(|line| line.message.contains("bench0-6250 ")).await?;
    assert_eq!((line.level.as_str(), line.family.as_str()), ("WARN", "refused"));
    assert!(line.message.contains("there are more than 100000 devices"), "{}", line.message);
    Ok(())
}
