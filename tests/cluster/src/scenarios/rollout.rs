//! devgate's pod is deleted, rolled out to another image, and rolled back: pods keep what they have, and who comes after gets what is left.
//!
//! With the program of the version before this is an upgrade and its rollback: what either of them gave the other one knows.

use crate::cluster::Cluster;
use crate::wait::timed;
use anyhow::{Result, bail};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    cluster.run_pod("holder", 2)?;
    let mut held = vec![("holder", cluster.has_exactly("holder", 2)?)];
    let rollout = |words: &[&str]| cluster.kubectl(&[&["-n", "devgate", "rollout"], words].concat());
    let status = ["status", "daemonset/devgate", "--timeout=90s"];
    let mut took = Vec::new();
    let mut after = |what: &str, pod: &'static str, change: &dyn Fn() -> Result<()>| {
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
        for (name, had) in &held {
            let has = cluster.has_exactly(name, had.len())?;
            if has != *had || cluster.restarts(name)? != 0 {
                bail!("{what}: {name} had {had:?}, and has {has:?}");
            }
        }
        cluster.run_pod(pod, 1)?;
        let given = cluster.has_exactly(pod, 1)?;
        if let Some((name, had)) = held.iter().find(|(_, had)| !had.is_disjoint(&given)) {
            bail!("{what}: {name} has {had:?}, and {given:?} was given");
        }
        // It stays: the next one must know what this one gave.
        held.push((pod, given));
        Ok(())
    };
    let image = cluster.bring_other_image()?;
    after("delete", "deleted", &|| {
        let name = cluster.devgate_name()?;
        cluster.kubectl(&["-n", "devgate", "delete", "pod", &name]).map(drop)
    })?;
    after("another image", "other", &|| {
        let to = format!("devgate={image}");
        cluster.kubectl(&["-n", "devgate", "set", "image", "daemonset/devgate", &to]).map(drop)
    })?;
    if cluster.devgate()?["spec"]["containers"][0]["image"] != image {
        bail!("the pod is not of the other image");
    }
    after("back", "back", &|| rollout(&["undo", "daemonset/devgate"]).map(drop))?;
    let fleet = cluster.devgatectl(&["fleet"])?;
    if !fleet.contains("\n1 node, 0 not well; ") {
        bail!("devgatectl fleet: {fleet}");
    }
    let other = match &cluster.given.before {
        Some(before) => format!("the version before, {}", before.display()),
        None => "this version".to_owned(),
    };
    cluster.note(format!("rollout, until it is complete: {}; the other image is of {other}", took.join(", ")));
    Ok(())
}
