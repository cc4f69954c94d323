//! Dynamic resource allocation on the real scheduler and kubelet: pods have disks by claims, and by their extended resource as before.

mod health;
mod pods;
mod restarts;
mod rights;

use crate::cluster::Cluster;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The driver of the policy.
const DRIVER: &str = "disk.example.com";

/// Templates, as a user writes them.
const OBJECTS: &str = r#"
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: disk, exactly: {deviceClassName: disk.example.com}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: all}
spec: {spec: {devices: {requests: [{name: disk, exactly: {deviceClassName: disk.example.com, count: 6}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: five}
spec: {spec: {devices: {requests: [{name: disk, exactly: {deviceClassName: disk.example.com, count: 5}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two}
spec:
  spec:
    devices:
      requests:
        - {name: first, exactly: {deviceClassName: disk.example.com}}
        - {name: second, exactly: {deviceClassName: disk.example.com, count: 2}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared, labels: {scenario: "yes"}}
spec: {devices: {requests: [{name: disk, exactly: {deviceClassName: disk.example.com}}]}}
"#;

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let played = all(cluster);
    if played.is_err() {
        // Without devgate the kubelet could not end them, and they would be in the way of all that follows.
        let _failed_already = cluster.delete_pods();
    }
    played
}

fn all(cluster: &mut Cluster) -> Result<()> {
    let disks = cluster.disks.names().len();
    cluster.install_with_agent()?;
    cluster.devgate_is_ready(60)?;
    cluster.allocatable(disks, 60)?;
    cluster.run_pod("before", 1)?;
    let held = cluster.has_exactly("before", 1)?.pop_first().context("a disk")?;
    // From counting to claims, with a pod that has a disk.
    cluster.give_by_claims()?;
    let (_, seconds) = timed(|| published(cluster, disks, 90))?;
    cluster.note(format!("claims: all devices are published {seconds:.1} s after another policy was installed"));
    cluster.allocatable(0, 60)?;
    let policy = cluster.given.dir.join("work/policy.yaml");
    std::fs::write(&policy, cluster.claims_policy()?)?;
    let classes = cluster.devgatectl(&["dra", "classes", "--policy", &policy.display().to_string()])?;
    cluster.apply(&classes)?;
    cluster.apply(OBJECTS)?;
    is_tainted(cluster, &held, true)?;
    pods::run(cluster, "five", "five")?;
    if cluster.opens("five", "main", disks - 1)?.contains(&held) || !cluster.opens("before", "main", 1)?.contains(&held)
    {
        bail!("{held} is the first pod's");
    }
    cluster.delete_pod("five")?;
    cluster.delete_pod("before")?;
    let seconds = is_tainted(cluster, &held, false)?;
    cluster.note(format!("claims: what a pod of before had is free {seconds:.1} s after it is gone"));
    pods::play(cluster)?;
    health::play(cluster)?;
    rights::play(cluster)?;
    restarts::play(cluster)?;
    cluster.delete_pods()?;
    cluster.kubectl(&["delete", "resourceclaims,resourceclaimtemplates", "--all", "--timeout=60s"])?;
    cluster.kubectl(&["delete", "deviceclass", "disk.example.com"])?;
    cluster.uninstall()?;
    // Nobody says that they are not there but the kubelet, half a minute after it lost the driver.
    published(cluster, 0, 90)
}

/// Devices of the slices, each as the API has it.
fn devices(cluster: &Cluster) -> Result<Vec<Value>> {
    let slices = cluster.list("/apis/resource.k8s.io/v1/resourceslices")?;
    let slices = slices.iter().filter(|slice| slice["spec"]["driver"] == DRIVER);
    Ok(slices.flat_map(|slice| slice["spec"]["devices"].as_array().cloned().unwrap_or_default()).collect())
}

fn published(cluster: &Cluster, disks: usize, seconds: u64) -> Result<()> {
    until(&format!("{disks} devices in slices"), seconds, || match devices(cluster)?.len() {
        found if found == disks => Ok(()),
        found => bail!("{found} are"),
    })
}

/// Waits until the slices say of a disk whether it has a taint.
fn is_tainted(cluster: &Cluster, disk: &str, wanted: bool) -> Result<f64> {
    let (_, seconds) = timed(|| {
        until(&format!("{disk} to be tainted: {wanted}"), 90, || {
            let all = devices(cluster)?;
            let device = all.iter().find(|device| device["name"] == disk).context("it is in no slice")?;
            let is = device["taints"].as_array().is_some_and(|taints| !taints.is_empty());
            if is != wanted {
                bail!("{device}");
            }
            Ok(())
        })
    })?;
    Ok(seconds)
}
