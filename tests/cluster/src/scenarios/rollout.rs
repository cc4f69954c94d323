//! devgate's pod is deleted, rolled out to another image, and rolled back: pods keep what they have, and who comes after gets what is left.

use crate::cluster::Cluster;
use crate::wait::timed;
use anyhow::{Result, bail};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    cluster.run_pod("holder", 2)?;
    let had = cluster.has_exactly("holder", 2)?;
    let rollout = |words: &[&str]| cluster.kubectl(&[&["-n", "devgate", "rollout"], words].concat());
    let status = ["status", "daemonset/devgate", "--timeout=90s"];
    let mut took = Vec::new();
    let mut after = |what: &str, change: &dyn Fn() -> Result<()>| {
        let old = cluster.devgate_name()?;
        let (_, seconds) = timed(|| {
            change()?;
            rollout(&status)
        })?;
        took.push(format!("{what} {seconds:.1} s"));
        if cluster.devgate_name()? == old {
            bail!("{what}: it is the same pod as before");
        }
        cluster.allocatable(cluster.disks.names().len(), 30)?;
        let has = cluster.has_exactly("holder", 2)?;
        if has != had || cluster.restarts("holder")? != 0 {
            bail!("{what}: the pod had {had:?}, and has {has:?}");
        }
        cluster.run_pod("next", 1)?;
        let next = cluster.has_exactly("next", 1)?;
        if !next.is_disjoint(&had) {
            bail!("{what}: {had:?} are held, and {next:?} was given");
        }
        cluster.delete_pod("next")
    };
    let image = cluster.bring_other_image()?;
    after("delete", &|| {
        let name = cluster.devgate_name()?;
        cluster.kubectl(&["-n", "devgate", "delete", "pod", &name]).map(drop)
    })?;
    after("another image", &|| {
        let to = format!("devgate={image}");
        cluster
            .kubectl(&["-n", "devgate", "set", "image", "daemonset/devgate", &to])
            .map(drop)
    })?;
    if cluster.devgate()?["spec"]["containers"][0]["image"] != image {
        bail!("the pod is not of the other image");
    }
    after("back", &|| rollout(&["undo", "daemonset/devgate"]).map(drop))?;
    cluster.note(format!("rollout, until it is complete: {}", took.join(", ")));
    Ok(())
}
