//! Pods with one and with two devices have exactly these, and who comes when nothing is left waits.

use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::wait::until;
use anyhow::{Result, bail};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let disks = cluster.disks.names().len();
    cluster.run_pod("one", 1)?;
    cluster.run_pod("two", 2)?;
    let (one, two) = (cluster.has_exactly("one", 1)?, cluster.has_exactly("two", 2)?);
    if !one.is_disjoint(&two) {
        bail!("one has {one:?} and two has {two:?}");
    }
    cluster.run_pod("rest", disks - 3)?;
    cluster.make_pod("late", 1)?;
    until("the scheduler to leave a pod waiting for which nothing is left", 20, || {
        let pod = cluster.pod("late")?;
        let condition = &pod["status"]["conditions"][0];
        let message = condition["message"].as_str().unwrap_or_default();
        if pod["status"]["phase"] != "Pending" || !message.contains(DISK) {
            bail!("{}", pod["status"]);
        }
        Ok(())
    })?;
    cluster.delete_pod("two")?;
    cluster.runs("late", 60)?;
    let late = cluster.has_exactly("late", 1)?;
    if !late.is_subset(&two) {
        bail!("{two:?} were free, and {late:?} was given");
    }
    // What the pods of two and of an earlier scenario had is free some time after they have ended.
    until("the metric to tell of what is handed out", 90, || {
        let held = cluster.metric("devgate_devices_held", &[&format!("resource=\"{DISK}\"")])?;
        let has = f64::from(u32::try_from(disks - 1)?);
        if (held - has).abs() > 0.5 {
            bail!("pods have {has} devices, and the metric says {held}");
        }
        Ok(())
    })?;
    Ok(())
}
