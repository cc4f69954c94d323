//! What the scheduler is told: devices in slices.

use super::DRIVER;
use crate::cluster::Cluster;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeSet;

fn slices(cluster: &Cluster, driver: &str) -> Result<Vec<Value>> {
    let mut slices = cluster.list("/apis/resource.k8s.io/v1/resourceslices")?;
    slices.retain(|slice| slice["spec"]["driver"] == driver);
    Ok(slices)
}

/// The devices of a driver, each as the API has it.
pub(super) fn devices(cluster: &Cluster, driver: &str) -> Result<Vec<Value>> {
    let slices = slices(cluster, driver)?;
    Ok(slices.iter().flat_map(|slice| slice["spec"]["devices"].as_array().cloned().unwrap_or_default()).collect())
}

/// Waits until a driver has so many.
pub(super) fn published(cluster: &Cluster, driver: &str, devices_of_it: usize, seconds: u64) -> Result<()> {
    until(&format!("{devices_of_it} devices of {driver} in slices"), seconds, || {
        match devices(cluster, driver)?.len() {
            found if found == devices_of_it => Ok(()),
            found => bail!("{found} are"),
        }
    })
}

/// Waits until a driver has not even a slice without devices.
pub(super) fn gone(cluster: &Cluster, driver: &str, seconds: u64) -> Result<()> {
    until(&format!("the end of slices of {driver}"), seconds, || match slices(cluster, driver)?.len() {
        0 => Ok(()),
        left => bail!("{left} are there"),
    })
}

/// Waits until the slices of the first driver say of a disk whether it has a taint.
pub(super) fn is_tainted(cluster: &Cluster, disk: &str, wanted: bool) -> Result<f64> {
    let (_, seconds) = timed(|| {
        until(&format!("{disk} to be tainted: {wanted}"), 90, || {
            let all = devices(cluster, DRIVER)?;
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

/// Which slices there are.
pub(super) fn uids(cluster: &Cluster) -> Result<BTreeSet<String>> {
    Ok(slices(cluster, DRIVER)?.iter().map(|slice| slice["metadata"]["uid"].to_string()).collect())
}
