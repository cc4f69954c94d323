//! devgate is uninstalled: with a claim, whose pod cannot end until it is back, and without, when nothing of it is left.

use super::DRIVER;
use super::slices::gone;
use crate::cluster::Cluster;
use crate::wait::{stays, timed};
use anyhow::{Result, ensure};

/// What an agent has in the cluster besides what is devgate's namespace's.
const KINDS: &str = "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings,serviceaccounts -n devgate";

pub(super) fn play(cluster: &mut Cluster, policy: &str) -> Result<()> {
    let rights = |cluster: &Cluster| -> Result<Vec<String>> {
        let words = [&["get", "-o", "name"][..], &KINDS.split(' ').collect::<Vec<_>>()].concat();
        let all = cluster.kubectl(&words)?;
        Ok(all.lines().filter(|name| name.contains("devgate")).map(str::to_owned).collect())
    };
    ensure!(rights(cluster)?.len() > 4, "an agent has {:?}", rights(cluster)?);
    cluster.uninstall()?;
    cluster.kubectl(&["delete", "pod", "stays", "--wait=false"])?;
    // As docs/dra.md says: end such pods first.
    stays(8, || {
        let pod = cluster.pod("stays")?;
        ensure!(pod["metadata"]["deletionTimestamp"].is_string(), "it is not deleted");
        Ok(())
    })?;
    cluster.install_with_agent(policy)?;
    let (_, ended) = timed(|| cluster.kubectl(&["wait", "--for=delete", "pod/stays", "--timeout=90s"]))?;
    cluster.devgate_is_ready(60)?;
    cluster.uninstall()?;
    ensure!(rights(cluster)?.is_empty(), "{:?} are left", rights(cluster)?);
    let sockets = cluster.node(&["ls", "-A", "/var/lib/kubelet/plugins_registry"])?;
    ensure!(!sockets.contains(DRIVER), "sockets are left: {sockets}");
    let files = cluster.claim_files()?;
    ensure!(files.is_empty(), "{files:?} are left");
    // Nobody says that the devices are not there but the kubelet, half a minute after it lost the driver.
    let (_, seconds) = timed(|| gone(cluster, DRIVER, 90))?;
    cluster.note(format!(
        "claims-outages: a pod that waited for devgate ended {ended:.1} s after it was installed again; uninstalled, slices were gone \
         after {seconds:.1} s"
    ));
    Ok(())
}
