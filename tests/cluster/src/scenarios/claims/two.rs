//! Two plugins with a driver each: claims of both, and the policy has one of them no more while a claim has its device.

use super::objects::{self, request, template};
use super::slices::{gone, published};
use super::{CLASS, DRIVER, admin, expressions, pods, tidily};
use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::wait::{stays, timed, until};
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

/// The second driver, and the class of its resource.
pub(super) const OTHER: &str = "other.example.com";

/// Half of the disks are the second plugin's, which lets claims look at what others have.
fn policy(cluster: &Cluster) -> Result<String> {
    let (ours, others) = cluster.disks.names().split_at(cluster.disks.names().len() / 2);
    cluster.policy_of(&[
        ("disks", DISK, ours, "dra: {driver: disk.example.com, attributes: {name: \"{property.name}\"}}"),
        ("others", "example.com/other", others, "dra: {driver: other.example.com, admin-access: true}"),
    ])
}

pub(in super::super) fn play(cluster: &mut Cluster) -> Result<()> {
    tidily(cluster, |cluster| {
        let policy = policy(cluster)?;
        cluster.install_with_agent(&policy)?;
        cluster.devgate_is_ready(60)?;
        objects::classes(cluster, &policy)?;
        let half = cluster.disks.names().len() / 2;
        [DRIVER, OTHER].iter().try_for_each(|driver| published(cluster, driver, half, 60))?;
        let more = json!({"count": cluster.disks.names().len() - 2});
        objects::apply(
            cluster,
            &[
                template("both", &[request("disk", CLASS, json!({})), request("other", OTHER, json!({}))]),
                template("one", &[request("disk", CLASS, json!({}))]),
                template("rest", &[request("disk", CLASS, more)]),
            ],
        )?;
        expressions::play(cluster)?;
        admin::play(cluster)?;
        removed(cluster, &policy)
    })
}

fn removed(cluster: &mut Cluster, policy: &str) -> Result<()> {
    let all = cluster.disks.names().len();
    let (_, seconds) = timed(|| pods::run(cluster, "both", "both"))?;
    let held = cluster.opens("both", "main", 2)?;
    let is_others = |disk: &&String| cluster.disks.names()[all / 2..].contains(disk);
    ensure!(held.iter().filter(is_others).count() == 1, "each driver is to give one, and {held:?} were given");
    let mut told = format!("a pod with a claim of two drivers runs after {seconds:.1} s");

    // The disks are all the first plugin's from now on: an admin says twice that a pod's may go.
    cluster.change_with_agent(&cluster.claims_policy()?)?;
    until("devgate to refuse the policy", 120, || match cluster.in_devgate(&["status"]) {
        Ok(status) => bail!("status ends with 0: {status}"),
        Err(status) if format!("{status:#}").contains("and a pod may hold device") => Ok(()),
        Err(status) => bail!("{status:#}"),
    })?;
    published(cluster, OTHER, all / 2, 1)?;
    let (_, seconds) = timed(|| {
        cluster.in_devgate(&["reload", "--force"])?;
        gone(cluster, OTHER, 60)?;
        // But for what a pod has: its id is the other plugin's until then.
        published(cluster, DRIVER, all - 1, 60)
    })?;
    told += &format!("; forced, its second driver's slices are gone {seconds:.1} s later");
    let is_held = |cluster: &Cluster| match cluster.opens("both", "main", 2)? {
        now if now == held => Ok(()),
        now => bail!("the pod had {held:?}, and has {now:?}"),
    };
    is_held(cluster)?;
    pods::run(cluster, "rest", "rest")?;
    let rest = cluster.opens("rest", "main", all - 2)?;
    ensure!(rest.is_disjoint(&held), "{held:?} are held, and {rest:?} were given");
    cluster.apply(&pods::pod("waits", &pods::own("one"), &[("main", None)]).to_string())?;
    stays(5, || {
        let pod = cluster.pod("waits")?;
        ensure!(pod["status"]["phase"] == "Pending", "a disk of a pod was given to another: {}", pod["status"]);
        Ok(())
    })?;

    let (_, seconds) = timed(|| cluster.delete_pod("both"))?;
    told += &format!("; without it the pod ended in {seconds:.1} s");
    let (_, seconds) = timed(|| cluster.runs("waits", 60))?;
    let next = cluster.opens("waits", "main", 1)?;
    ensure!(next.is_subset(&held), "{next:?} was given, and {held:?} were left");
    told += &format!(", and the next had its device {seconds:.1} s after it");
    published(cluster, DRIVER, all, 60)?;
    ["waits", "rest"].iter().try_for_each(|name| cluster.delete_pod(name))?;

    cluster.change_with_agent(policy)?;
    let (_, seconds) = timed(|| [OTHER, DRIVER].iter().try_for_each(|of| published(cluster, of, all / 2, 120)))?;
    pods::run(cluster, "again", "both")?;
    let again = cluster.opens("again", "main", 2)?;
    let has_other = again.iter().filter(is_others).count();
    ensure!(has_other == 1, "{again:?} were given");
    cluster.note(format!("claims-two: {told}; added again, it is published {seconds:.1} s after"));
    cluster.delete_pod("again").context("of the driver that came again")
}
