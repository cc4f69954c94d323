//! A device that goes and comes is in the node's and the pod's status, and stays its pod's.

use crate::cluster::Cluster;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let disks = cluster.disks.names().len();
    cluster.run_pod("holder", 1)?;
    let held = cluster.has_exactly("holder", 1)?.pop_first().context("a disk")?;
    let free = cluster.disks.names().iter().find(|name| **name != held).cloned().context("another disk")?;
    is(cluster, &held, "Healthy", 30)?;

    cluster.disks.pull(&free)?;
    cluster.allocatable(disks - 1, 40)?;
    cluster.disks.plug(&free)?;
    cluster.allocatable(disks, 40)?;

    cluster.disks.pull(&held)?;
    let (_, seconds) = timed(|| is(cluster, &held, "Unhealthy", 30))?;
    cluster.note(format!("unplug: the pod's status said so {seconds:.1} s after its device went"));
    cluster.allocatable(disks - 1, 40)?;
    cluster.disks.plug(&held)?;
    let (_, seconds) = timed(|| is(cluster, &held, "Healthy", 60))?;
    cluster.note(format!("unplug: and {seconds:.1} s after it came back"));
    cluster.allocatable(disks, 40)?;
    let now = cluster.has_exactly("holder", 1)?;
    if !now.contains(&held) || cluster.restarts("holder")? != 0 {
        bail!("the pod had {held}, and has {now:?}");
    }
    Ok(())
}

fn is(cluster: &Cluster, disk: &str, health: &str, seconds: u64) -> Result<()> {
    until(&format!("{disk} to be {health} in the pod's status"), seconds, || {
        let told = cluster.health("holder")?;
        if told != [(disk.to_owned(), health.to_owned())] {
            bail!("{told:?}");
        }
        Ok(())
    })
}
