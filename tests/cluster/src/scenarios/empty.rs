//! A plugin that lists nothing acceptable keeps devgate's pod from being ready neither at its start nor when a policy makes it so.

use crate::cluster::Cluster;
use crate::wait::{stays, until};
use anyhow::{Result, bail};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let policy = cluster.policy()?;
    let nothing = policy.replace("use: offer, nodes: [{access: rw}]", "use: read");
    if nothing == policy {
        bail!("the policy has no hardware to be looked at alone");
    }
    cluster.install_with(&nothing)?;
    cluster.devgate_is_ready(60)?;
    cluster.probe("/readyz")?;

    cluster.change_policy(&policy)?;
    cluster.allocatable(cluster.disks.names().len(), 120)?;
    cluster.change_policy(&nothing)?;
    until("the policy without devices", 120, || {
        let healthy = cluster.metric("devgate_devices", &["health=\"healthy\""]).unwrap_or_default();
        if healthy > 0.5 {
            bail!("{healthy} devices are healthy");
        }
        Ok(())
    })?;
    // Longer than the kubelet takes to notice by its probe.
    stays(20, || cluster.ready())
}
