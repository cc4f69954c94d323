//! Everything that can restart does, with a pod that has a claim.

use super::slices::{devices, published, uids};
use super::{DRIVER, pods};
use crate::cluster::Cluster;
use crate::part::Signal;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let disks = cluster.disks.names().len();
    let held = cluster.opens("one", "main", 1)?;
    let is_held = |cluster: &Cluster| match cluster.opens("one", "main", 1)? {
        now if now == held => Ok(()),
        now => bail!("the pod had {held:?}, and has {now:?}"),
    };
    let another = |cluster: &Cluster, when: &str| {
        let (_, seconds) = timed(|| pods::run(cluster, "another", "one"))?;
        if !cluster.opens("another", "main", 1)?.is_disjoint(&held) {
            bail!("{when}: the disk of a pod was given to another");
        }
        cluster.delete_pod("another")?;
        Ok(seconds)
    };

    // A driver that is away for less than the kubelet's half a minute keeps its slices.
    let slices = uids(cluster)?;
    let are_of_before = |cluster: &Cluster| match uids(cluster)? {
        now if now == slices => Ok(()),
        now => bail!("slices were {slices:?}, and are {now:?}"),
    };
    let name = cluster.devgate_name()?;
    cluster.kubectl(&["-n", "devgate", "delete", "pod", &name, "--wait=true", "--timeout=60s"])?;
    cluster.devgate_is_ready(60)?;
    let seconds = another(cluster, "devgate's pod deleted")?;
    is_held(cluster)?;
    are_of_before(cluster)?;
    cluster.note(format!("claims: {seconds:.1} s to a pod after devgate's was deleted"));

    cluster.kubectl(&["-n", "devgate", "rollout", "restart", "daemonset/devgate"])?;
    cluster.kubectl(&["-n", "devgate", "rollout", "status", "daemonset/devgate", "--timeout=120s"])?;
    let seconds = another(cluster, "rolled out")?;
    is_held(cluster)?;
    are_of_before(cluster)?;
    cluster.note(format!("claims: {seconds:.1} s to a pod after a rollout by handover"));

    let before = uids(cluster)?;
    cluster.restart_kubelet(Signal::Kill)?;
    cluster.node_is_ready(60)?;
    // It takes all of the node's slices away when it starts.
    let (_, seconds) = timed(|| {
        until("other slices than before", 60, || match uids(cluster)?.is_disjoint(&before) {
            true => published(cluster, DRIVER, disks, 1),
            false => bail!("those of before are there"),
        })
    })?;
    cluster.note(format!("claims: slices are there anew {seconds:.1} s after the kubelet is ready again"));
    another(cluster, "the kubelet killed")?;
    is_held(cluster)?;

    // What somebody else takes away is made again.
    cluster.kubectl(&["delete", "resourceslices", "--all", "--timeout=30s"])?;
    let (_, seconds) = timed(|| published(cluster, DRIVER, disks, 60))?;
    cluster.note(format!("claims: slices that were deleted are back after {seconds:.1} s"));

    // A container of the pod that starts again has its disk by the file that is kept.
    cluster.kill_container("one")?;
    until("the container to start again", 60, || match cluster.restarts("one")? {
        1 => cluster.runs("one", 1),
        restarts => bail!("it was started again {restarts} times"),
    })?;
    is_held(cluster)?;

    cluster.delete_pod("one")?;
    pods::run(cluster, "six", "all")?;
    cluster.opens("six", "main", disks)?;
    let device = devices(cluster, DRIVER)?.into_iter().next().context("a device")?;
    if device["attributes"]["devgate.dev/resource"]["string"] != crate::devgate::DISK {
        bail!("the host's own attributes: {device}");
    }
    cluster.delete_pod("six")
}
