//! devgate is uninstalled while pods hold devices and installed again, under the same resource and under another: nothing held is given,
//! and what the pods had is free soon after they have ended.

use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::wait::{timed, until};
use anyhow::{Result, bail};

const OTHER: &str = "example.com/other";

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let all = cluster.disks.names().len();
    cluster.run_pod("holder", 2)?;
    let had = cluster.has_exactly("holder", 2)?;
    cluster.uninstall()?;
    cluster.install_and_wait()?;
    cluster.run_pod("rest", all - 2)?;
    let rest = cluster.has_exactly("rest", all - 2)?;
    if !rest.is_disjoint(&had) || cluster.has_exactly("holder", 2)? != had {
        bail!("{had:?} are held, and {rest:?} were given");
    }
    cluster.delete_pod("rest")?;

    // Under another name, what is held is there and not for anyone.
    cluster.uninstall()?;
    cluster.install_with(&cluster.policy()?.replace(DISK, OTHER))?;
    cluster.devgate_is_ready(60)?;
    until("what is free under the other name", 90, || amount(cluster, all - 2))?;
    let unhealthy = cluster.metric("devgate_devices", &[OTHER, "unhealthy"])?;
    if (unhealthy - 2.0).abs() > 0.5 {
        bail!("two disks are held under the old name, and {unhealthy} are unhealthy under the new one");
    }
    cluster.delete_pod("holder")?;
    let (_, seconds) = timed(|| until("what the pod had under the other name", 120, || amount(cluster, all)))?;
    cluster.note(format!("reinstall: free under another resource {seconds:.1} s after the pod was gone"));
    if seconds > 60.0 {
        bail!(
            "what the pod had came free {seconds:.1} s after it was gone, and not within two looks of pod-resources and a status of the node"
        );
    }
    Ok(())
}

fn amount(cluster: &Cluster, disks: usize) -> Result<()> {
    match cluster.node_has("allocatable", OTHER)? {
        Some(has) if has == u64::try_from(disks)? => Ok(()),
        has => bail!("the node has {has:?} of {disks}"),
    }
}
