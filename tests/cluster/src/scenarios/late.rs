//! A component that comes to the node after devgate is loaded as it comes, however long it was waited for.

use crate::cluster::Cluster;
use crate::wait::{stays, timed, until};
use anyhow::{Result, bail};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    cluster.install_without_component(&cluster.policy()?)?;
    cluster.devgate_is_ready(60)?;
    if cluster.in_devgate(&["status"]).is_ok() {
        bail!("status is content without the component");
    }
    // Until what is tried again by itself is tried seldom.
    stays(25, || Ok(()))?;
    cluster.bring_component()?;
    let all = f64::from(u32::try_from(cluster.disks.names().len())?);
    let (_, seconds) = timed(|| {
        until("the devices", 60, || {
            let healthy = cluster.metric("devgate_devices", &["health=\"healthy\""])?;
            if healthy < all {
                bail!("{healthy} are healthy");
            }
            Ok(())
        })
    })?;
    cluster.note(format!("late: devices are healthy {seconds:.1} s after their component came"));
    // To be noticed, compiled and asked; a second, and some for a busy machine.
    if seconds > 8.0 {
        bail!("that is not as it came, but as it was tried again");
    }
    cluster.allocatable(cluster.disks.names().len(), 30)
}
