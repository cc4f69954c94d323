//! Dynamic resource allocation on the real scheduler and kubelet: pods have disks by claims, and by their extended resource as before.

mod admin;
mod away;
mod boot;
mod conditions;
mod events;
mod expressions;
mod health;
mod moves;
mod objects;
mod outages;
mod pods;
mod removal;
mod restarts;
mod rights;
mod shares;
mod slices;
mod two;
mod writes;

use crate::cluster::Cluster;
use crate::wait::timed;
use anyhow::{Context, Result, bail, ensure};
use objects::{claim, request, template};
use serde_json::{Value, json};
use slices::{is_tainted, published};

pub(super) use conditions::play as play_conditions;
pub(super) use moves::play as play_moves;
pub(super) use outages::play as play_outages;
pub(super) use shares::play as play_shares;
pub(super) use two::play as play_two;

/// The driver of the policy, and the class of its resource.
const DRIVER: &str = "disk.example.com";
const CLASS: &str = DRIVER;

/// The templates that most have their claims of.
fn templates() -> Vec<Value> {
    let of = |name: &str, count: usize| template(name, &[request("disk", CLASS, json!({"count": count}))]);
    let two = [request("first", CLASS, json!({})), request("second", CLASS, json!({"count": 2}))];
    vec![of("one", 1), of("five", 5), of("all", 6), template("two", &two)]
}

/// One driver: all that pods do, and all that restarts.
pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    tidily(cluster, all)
}

/// Plays, and leaves nothing that would be in the way of what follows.
fn tidily(cluster: &mut Cluster, play: impl FnOnce(&mut Cluster) -> Result<()>) -> Result<()> {
    let played = play(cluster);
    // Without devgate the kubelet could not end pods with claims.
    let ended = cluster.delete_pods();
    played.and(ended)?;
    cluster.kubectl(&["delete", "resourceclaims,resourceclaimtemplates", "--all", "--timeout=60s"])?;
    cluster.kubectl(&["delete", "deviceclasses", "--all"])?;
    cluster.uninstall()
}

fn all(cluster: &mut Cluster) -> Result<()> {
    let disks = cluster.disks.names().len();
    cluster.counts_no_disk(60)?;
    cluster.install_with_agent(&cluster.policy()?)?;
    cluster.devgate_is_ready(60)?;
    cluster.allocatable(disks, 60)?;
    cluster.run_pod("before", 1)?;
    let held = cluster.has_exactly("before", 1)?.pop_first().context("a disk")?;
    // From counting to claims, with a pod that has a disk.
    let policy = cluster.claims_policy()?;
    let noted = cluster.noted()?;
    cluster.change_with_agent(&policy)?;
    let (_, seconds) = timed(|| published(cluster, DRIVER, disks, 90))?;
    is_tainted(cluster, &held, true)?;
    // No scheduler has seen it without: what a pod has would be given to a claim, which waits then.
    let asked = cluster.asked_since(noted)?;
    ensure!(asked.writes_of("resourceslices") == 1, "slices were written first without the taint: {asked}");
    cluster.note(format!("claims: all devices are published {seconds:.1} s after another policy was installed"));
    cluster.allocatable(0, 60)?;
    objects::classes(cluster, &policy)?;
    objects::apply(cluster, &templates())?;
    objects::apply(cluster, &[claim("shared", &[request("disk", CLASS, json!({}))])])?;
    pods::run(cluster, "five", "five")?;
    if cluster.opens("five", "main", disks - 1)?.contains(&held) || !cluster.opens("before", "main", 1)?.contains(&held)
    {
        bail!("{held} is the first pod's");
    }
    cluster.delete_pod("five")?;
    cluster.delete_pod("before")?;
    let seconds = is_tainted(cluster, &held, false)?;
    cluster.note(format!("claims: what a pod of before had is free {seconds:.1} s after it is gone"));
    pods::play(cluster)?;
    events::play(cluster)?;
    health::play(cluster)?;
    rights::play(cluster)?;
    restarts::play(cluster)
}
