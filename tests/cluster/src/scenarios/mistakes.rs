//! A policy that is wrong, a component that is another one, a resource that is removed in use: what was in force goes on, and the admin sees
//! it by event, metric and `devgate status`, and at a start in the pod's own status.

use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail};

const OTHER: &str = "example.com/other";

/// As long as a kubelet takes to bring a config map into a pod, and devgate to try it.
const SECONDS: u64 = 120;

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    cluster.run_pod("holder", 1)?;
    let good = cluster.policy()?;
    let digest =
        good.split("sha256: \"").nth(1).and_then(|rest| rest.split('"').next()).context("the policy's digest")?;
    let another = good.replace(digest, &"0".repeat(64));
    let mut took = Vec::new();
    for (what, policy, says) in [
        ("a key that is not one", good.replace("hardware:", "hardwear:"), "disks.yaml:"),
        ("another digest", another, "sha256"),
        ("a resource removed in use", good.replace(DISK, OTHER), "which a pod may hold"),
    ] {
        let (_, seconds) = timed(|| refused(cluster, &policy, says))?;
        took.push(format!("{what} {seconds:.0} s"));
        cluster.ready()?;
        cluster.allocatable(cluster.disks.names().len(), 5)?;
        cluster.has_exactly("holder", 1)?;
    }
    cluster.note(format!("mistakes, from helm upgrade to their being seen: {}", took.join(", ")));
    // The last of them was no mistake once the pod is gone.
    cluster.delete_pod("holder")?;
    until("the other resource", 180, || {
        let has = cluster.node_has("allocatable", OTHER)?;
        if has != Some(u64::try_from(cluster.disks.names().len())?) {
            bail!("the node has {has:?} of it, and the metric of refusals is {}", refusals(cluster)?);
        }
        Ok(())
    })?;
    at_a_start(cluster, &good.replace("hardware:", "hardwear:"))
}

fn refusals(cluster: &Cluster) -> Result<f64> {
    cluster.metric("devgate_policy_refused", &[])
}

fn refused(cluster: &Cluster, policy: &str, says: &str) -> Result<()> {
    cluster.change_policy(policy)?;
    until(&format!("devgate to refuse a policy with {says:?}"), SECONDS, || {
        let status = match cluster.in_devgate(&["status"]) {
            Ok(status) => bail!("status ends with 0: {status}"),
            Err(status) => format!("{status:#}"),
        };
        if !status.contains(says) {
            bail!("status says {status}");
        }
        if refusals(cluster)? < 1.0 {
            bail!("the metric does not tell of it");
        }
        // The kubelet makes an event of what `/readyz` says, for an admin who has `kubectl` alone.
        let words = ["-n", "devgate", "get", "events", "--field-selector", "reason=ProbeWarning"];
        let events = cluster.kubectl(&[&words[..], &["-o", "jsonpath={.items[*].message}"]].concat())?;
        if !events.contains(says) {
            bail!("the events of probes say {events:?}");
        }
        Ok(())
    })
}

/// Where there is nothing that goes on, the pod's status says why.
fn at_a_start(cluster: &Cluster, policy: &str) -> Result<()> {
    cluster.uninstall()?;
    cluster.install_with(policy)?;
    until("the reason in the pod's status", 60, || {
        let pod = cluster.devgate()?;
        let container = &pod["status"]["containerStatuses"][0];
        let told =
            ["state", "lastState"].map(|state| container[state]["terminated"]["message"].as_str().unwrap_or_default());
        if !told.iter().any(|text| text.contains("disks.yaml:") && text.contains("hardwear")) {
            bail!("{container}");
        }
        Ok(())
    })?;
    cluster.uninstall()
}
