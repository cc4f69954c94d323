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

/// Classes and templates, as an admin and a user write them.
const OBJECTS: &str = r#"
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: disk}
spec:
  extendedResourceName: example.com/disk
  selectors:
    - cel: {expression: 'device.driver == "disk.example.com" && device.attributes["disk.example.com"].kind == "loop"'}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: disk, exactly: {deviceClassName: disk}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: all}
spec: {spec: {devices: {requests: [{name: disk, exactly: {deviceClassName: disk, count: 6}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two}
spec:
  spec:
    devices:
      requests:
        - {name: first, exactly: {deviceClassName: disk}}
        - {name: second, exactly: {deviceClassName: disk, count: 2}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared, labels: {scenario: "yes"}}
spec: {devices: {requests: [{name: disk, exactly: {deviceClassName: disk}}]}}
"#;

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let disks = cluster.disks.names().len();
    cluster.install_with_claims()?;
    cluster.devgate_is_ready(60)?;
    let (_, seconds) = timed(|| published(cluster, disks, 60))?;
    cluster.note(format!("claims: all devices are published {seconds:.1} s after the pod is ready"));
    if let Some(counted) = cluster.node_has("allocatable", crate::devgate::DISK)?.filter(|counted| *counted > 0) {
        bail!("the kubelet counts {counted} disks, too");
    }
    cluster.apply(OBJECTS)?;
    pods::play(cluster)?;
    health::play(cluster)?;
    rights::play(cluster)?;
    restarts::play(cluster)?;
    cluster.delete_pods()?;
    cluster.kubectl(&["delete", "resourceclaims,resourceclaimtemplates", "--all", "--timeout=60s"])?;
    cluster.kubectl(&["delete", "deviceclass", "disk"])?;
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
        until(&format!("{disk} to be tainted: {wanted}"), 30, || {
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
