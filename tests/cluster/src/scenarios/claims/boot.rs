//! The node boots: files of claims are made anew, and pods that have them wait for the driver where those of device plugins fail.

use super::DRIVER;
use super::slices::published;
use crate::cluster::Cluster;
use crate::wait::{timed, until};
use anyhow::{Result, ensure};

pub(super) fn play(cluster: &mut Cluster, devices: usize) -> Result<()> {
    let names = ["stays", "shares", "shares-too"];
    let held = names.iter().map(|name| cluster.opens(name, "main", 1)).collect::<Result<Vec<_>>>()?;
    let before = names.iter().map(|name| cluster.container(name)).collect::<Result<Vec<_>>>()?;
    let noted = cluster.noted()?;
    cluster.reboot(|cluster| {
        ensure!(cluster.claim_files()?.is_empty(), "a boot leaves nothing in /run");
        Ok(())
    })?;
    let (_, seconds) = timed(|| {
        until("pods with claims to run after the boot", 120, || {
            for (name, before) in names.iter().zip(&before) {
                ensure!(cluster.container(name)? != *before, "the runtime's container is of before");
                cluster.runs(name, 1)?;
            }
            Ok(())
        })
    })?;
    for (name, had) in names.iter().zip(held) {
        let has = cluster.opens(name, "main", 1)?;
        ensure!(had == has, "{name} had {had:?}, and has {has:?}");
    }
    let files = cluster.claim_files()?;
    ensure!(files.len() == 2, "{files:?} are the files of two claims");
    published(cluster, DRIVER, devices, 60)?;
    let asked = cluster.asked_since(noted)?;
    cluster.note(format!(
        "claims-outages: all three pods with claims run {seconds:.1} s after the kubelet's start; {asked}"
    ));
    // One that ended while nobody could be told may be here still.
    let others = ["delete", "pod", "shares", "shares-too", "ends", "--timeout=120s"];
    cluster.kubectl(&others).map(drop)
}
