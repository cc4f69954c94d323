//! What an admin sees by kubectl alone, where pods have disks by the device plugin: Events on the node and on the pod, the node's condition.

use crate::cluster::Cluster;
use crate::wait::{timed, until};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

pub(super) const NODE: &str = "node1";

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    cluster.counts_no_disk(60)?;
    cluster.install_telling()?;
    cluster.devgate_is_ready(60)?;
    cluster.allocatable(cluster.disks.names().len(), 60)?;
    is(cluster, "True", "all is well")?;
    cluster.run_pod("counts", 1)?;
    let held = cluster.has_exactly("counts", 1)?.pop_first().context("a disk")?;
    // The kubelet is asked every ten seconds who has what.
    std::thread::sleep(std::time::Duration::from_secs(15));
    cluster.disks.pull(&held)?;
    let (_, seconds) = timed(|| told(cluster, "counts", "DeviceUnhealthy", &held))?;
    is(cluster, "False", "1 of 6 devices unhealthy")?;
    let said = cluster.kubectl(&["describe", "pod", "counts"])?;
    ensure!(said.contains("DeviceUnhealthy") && said.contains(&held), "{said}");
    cluster.note(format!("events: a device that went was an Event on its node and its pod after {seconds:.1} s"));
    cluster.disks.plug(&held)?;
    told(cluster, "counts", "DeviceHealthy", &held)?;
    is(cluster, "True", "all is well")?;
    cluster.delete_pod("counts")?;
    cluster.change_telling(&cluster.policy()?.replace("hardware:", "hardwear:"))?;
    has(cluster, "PolicyRefused", "hardwear", 150, |event| event["regarding"]["name"] == NODE)?;
    is(cluster, "False", "another policy is refused")?;
    // Its account has its rights still, which an uninstall takes away first.
    let nowhere = r#"{"spec": {"template": {"spec": {"nodeSelector": {"example.com/none": "here"}}}}}"#;
    cluster.kubectl(&["-n", "devgate", "patch", "daemonset", "devgate", "--type=merge", "-p", nowhere])?;
    is(cluster, "Unknown", "agent was asked to stop")?;
    cluster.uninstall()
}

/// Waits until the node and the pod have an Event of a disk.
pub(super) fn told(cluster: &Cluster, pod: &str, reason: &str, disk: &str) -> Result<()> {
    let uid = cluster.pod(pod)?["metadata"]["uid"].clone();
    for (kind, uid) in [("Node", NODE.into()), ("Pod", uid)] {
        let is = |event: &Value| event["regarding"]["kind"] == kind && event["regarding"]["uid"] == uid;
        has(cluster, reason, disk, 60, is)?;
    }
    Ok(())
}

fn has(cluster: &Cluster, reason: &str, part: &str, seconds: u64, is: impl Fn(&Value) -> bool) -> Result<()> {
    until(&format!("an Event {reason} of {part}"), seconds, || {
        let all = cluster.list("/apis/events.k8s.io/v1/namespaces/default/events")?;
        let such = |event: &&Value| event["reason"] == reason && event["note"].to_string().contains(part);
        let all: Vec<&Value> = all.iter().filter(such).collect();
        ensure!(all.iter().any(|event| is(event)), "there are {all:?}");
        Ok(())
    })
}

/// Waits until the node has the condition so.
pub(super) fn is(cluster: &Cluster, status: &str, message: &str) -> Result<f64> {
    let (_, seconds) = timed(|| {
        until(&format!("the node's condition to be {status}, {message}"), 90, || {
            let node = cluster.get(&format!("/api/v1/nodes/{NODE}"))?;
            let all = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let condition =
                all.iter().find(|condition| condition["type"] == "DevgateHealthy").context("it has none")?;
            let says = condition["message"].to_string();
            ensure!(condition["status"] == status && says.contains(message), "it is {condition}");
            Ok(())
        })
    })?;
    Ok(seconds)
}
