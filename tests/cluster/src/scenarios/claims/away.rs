//! The API server is away: pods run and end, and it is not flooded while it is away nor when it is back.

use super::DRIVER;
use super::pods;
use super::slices::published;
use crate::cluster::Cluster;
use crate::part::Signal;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use std::time::{Duration, Instant};

pub(super) fn play(cluster: &mut Cluster, devices: usize) -> Result<()> {
    let seconds = Duration::from_secs(if cluster.given.long { 600 } else { 60 });
    let held = cluster.opens("stays", "main", 1)?;
    let mut ends = pods::pod("ends", &pods::own("one"), &[("main", None)]);
    ends["spec"]["containers"][0]["command"] = json!(["/bin/busybox", "sleep", "20"]);
    ends["spec"]["restartPolicy"] = json!("Never");
    cluster.apply(&ends.to_string())?;
    cluster.runs("ends", 60)?;
    let files = cluster.claim_files()?;
    ensure!(files.len() == 3, "{files:?} are the files of three claims");

    let gone = Instant::now();
    cluster.stop("kube-apiserver", Signal::Kill)?;
    let (noted, tried) = (cluster.noted()?, connections(cluster)?);
    let before = cluster.container("stays")?;
    cluster.kill_container("stays")?;
    let (_, ended) = timed(|| {
        until("the claim of a pod that ended to be over", 60, || match cluster.claim_files()?.len() {
            2 => Ok(()),
            left => bail!("{left} files are there"),
        })
    })?;
    until("the container to start again", 60, || {
        ensure!(cluster.container("stays")? != before, "it is the one of before");
        Ok(())
    })?;
    std::thread::sleep(seconds.saturating_sub(gone.elapsed()));
    let tried = connections(cluster)? - tried;

    cluster.start("kube-apiserver")?;
    until("the API server", 60, || cluster.api("/readyz"))?;
    published(cluster, DRIVER, devices, 10)?;
    if cluster.given.long {
        comes_back(cluster)?;
        until("its agent to ask the API server", 90, || match cluster.asked_since(noted)?.all() {
            0 => bail!("it has not"),
            _ => Ok(()),
        })?;
    }
    // What waits longest is asked again by then.
    std::thread::sleep(Duration::from_secs(10));
    ensure!(cluster.opens("stays", "main", 1)? == held, "the pod had {held:?}");
    published(cluster, DRIVER, devices, 10)?;
    let asked = cluster.asked_since(noted)?;
    // Not an Event or a condition: a plugin that was too slow beside everything that comes back is told of.
    let slices = asked.writes_of("resourceslices");
    ensure!(slices == 0 && asked.all() < 20, "since the API server is back its agent asked: {asked}");
    ensure!(tried < seconds.as_secs(), "{tried} connections were tried in {seconds:?}");
    cluster.note(format!(
        "claims-outages: an API server that was away for {} s: the agent tried {tried} connections; a claim ended {ended:.1} s after; \
         back, {asked}",
        seconds.as_secs()
    ));
    Ok(())
}

/// Kubernetes' own parts, which wait for up to a minute until they try it again.
fn comes_back(cluster: &mut Cluster) -> Result<()> {
    let (_, seconds) = timed(|| {
        cluster.node_is_ready(120)?;
        until("the pods' status", 120, || {
            let (restarts, phase) = (cluster.restarts("stays")?, &cluster.pod("ends")?["status"]["phase"]);
            ensure!(restarts == 1 && *phase == "Succeeded", "{restarts} restarts, and one is {phase}");
            Ok(())
        })?;
        cluster.apply(&pods::pod("next", &pods::own("one"), &[("main", None)]).to_string())?;
        cluster.runs("next", 180)
    })?;
    cluster.note(format!("claims-outages: {seconds:.1} s until pods' status is told and another runs"));
    cluster.delete_pod("next")
}

/// How many connections the agent's pod has begun: nothing else in it does.
fn connections(cluster: &Cluster) -> Result<u64> {
    let agent = cluster.node(&["pgrep", "-x", "devgate-agent"])?;
    let all = cluster.node(&["cat", &format!("/proc/{agent}/net/snmp")])?;
    let mut tcp = all.lines().filter(|line| line.starts_with("Tcp:")).map(|line| line.split_whitespace());
    let (mut names, mut values) = (tcp.next().context("no TCP")?, tcp.next().context("no TCP")?);
    let at = names.position(|name| name == "ActiveOpens").context("no ActiveOpens")?;
    Ok(values.nth(at).context("no ActiveOpens")?.parse()?)
}
