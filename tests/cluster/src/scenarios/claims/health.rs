//! A device that goes bad is tainted and told in its pod's status, and well again without a restart of anything.

use super::slices::is_tainted;
use crate::cluster::Cluster;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let held = cluster.opens("one", "main", 1)?.pop_first().context("a disk")?;
    let is = |cluster: &Cluster, health: &str| {
        timed(|| {
            until(&format!("{held} to be {health} in the pod's status"), 60, || {
                let told = cluster.health("one")?;
                if told.iter().all(|(_, is)| is != health) {
                    bail!("{told:?}");
                }
                Ok(())
            })
        })
    };
    is(cluster, "Healthy")?;
    cluster.disks.pull(&held)?;
    let tainted = is_tainted(cluster, &held, true)?;
    let (_, told) = is(cluster, "Unhealthy")?;
    cluster.disks.plug(&held)?;
    let untainted = is_tainted(cluster, &held, false)?;
    let (_, back) = is(cluster, "Healthy")?;
    cluster.note(format!(
        "claims: a device that went was tainted after {tainted:.1} s and in the pod's status {told:.1} s later; back after {untainted:.1} s and {back:.1} s"
    ));
    Ok(())
}
