//! From the chart to a ready pod to devices of the node, and a pod that has them all.

use crate::cluster::Cluster;
use crate::wait::timed;
use anyhow::{Result, bail};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let disks = cluster.disks.names().len();
    let (_, ready) = timed(|| {
        cluster.install()?;
        cluster.devgate_is_ready(60)
    })?;
    let (_, more) = timed(|| cluster.allocatable(disks, 30))?;
    cluster.note(format!(
        "install: ready {ready:.1} s after helm install, devices on the node {:.1} s",
        ready + more
    ));
    if let Err(error) = cluster.in_devgate(&["status"]) {
        bail!("status, as the page for admins says, is to end with 0: {error:#}");
    }
    cluster.probe("/readyz")?;
    cluster.run_pod("all", disks)?;
    cluster.has_exactly("all", disks)?;
    Ok(())
}
