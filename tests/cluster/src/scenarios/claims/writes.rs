//! What a node costs the API server: idle, rolled out, and when everything fails at once.

use super::DRIVER;
use super::slices::{devices as listed, published};
use crate::cluster::Cluster;
use crate::wait::{timed, until};
use anyhow::{Result, ensure};
use std::time::Duration;

/// How long nothing happens.
const IDLE: Duration = Duration::from_secs(300);

pub(super) fn play(cluster: &mut Cluster, devices: usize) -> Result<()> {
    // Its first list and watch are the installation's.
    std::thread::sleep(Duration::from_secs(5));
    let noted = cluster.noted()?;
    std::thread::sleep(IDLE);
    let idle = cluster.asked_since(noted)?;
    ensure!(idle.writes() == 0, "idle, its agent asked: {idle}");

    let noted = cluster.noted()?;
    cluster.kubectl(&["-n", "devgate", "rollout", "restart", "daemonset/devgate"])?;
    cluster.kubectl(&["-n", "devgate", "rollout", "status", "daemonset/devgate", "--timeout=120s"])?;
    std::thread::sleep(Duration::from_secs(15));
    let rollout = cluster.asked_since(noted)?;

    let noted = cluster.noted()?;
    let names = cluster.disks.names().to_vec();
    names.iter().try_for_each(|disk| cluster.disks.pull(disk))?;
    let (_, failed) = timed(|| {
        until("no device to be had", 60, || {
            let well = listed(cluster, DRIVER)?.iter().filter(|device| device["taints"].is_null()).count();
            ensure!(well == 0, "{well} are well");
            Ok(())
        })
    })?;
    names.iter().try_for_each(|disk| cluster.disks.plug(disk))?;
    let (_, back) = timed(|| {
        published(cluster, DRIVER, devices, 60)?;
        until("every device to be had", 60, || {
            let ill = listed(cluster, DRIVER)?.iter().filter(|device| !device["taints"].is_null()).count();
            ensure!(ill == 0, "{ill} are tainted");
            Ok(())
        })
    })?;
    let failure = cluster.asked_since(noted)?;
    cluster.note(format!(
        "claims-outages, {devices} devices: idle for {} s, {idle}; a rollout, {rollout}; all fail at once ({failed:.1} s) and are back \
         ({back:.1} s), {failure}",
        IDLE.as_secs()
    ));
    Ok(())
}
