//! Pods come and go while the kubelet and devgate are restarted: no disk is in two containers by what the runtime tells, no pod is stuck,
//! and how long after the end of devgate's pod the kubelet refuses pods is measured.

use super::load::{Load, patiently};
use crate::cluster::Cluster;
use crate::part::Signal;
use crate::wait::until;
use anyhow::{Result, bail};
use serde_json::json;
use std::time::{Duration, Instant};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let time = Duration::from_secs(if cluster.given.long { 300 } else { 120 });
    let watch = cluster.watch_runtime()?;
    let start = Instant::now();
    // More than there are disks for, so that each end is somebody's beginning.
    let mut load = Load::new("churn", 8, |name, number| Cluster::manifest(name, 1 + number % 2));
    let mut restarts = 0;
    let mut troubles =
        [Trouble::Kubelet(Signal::Kill), Trouble::Devgate, Trouble::Kubelet(Signal::Term)].iter().cycle();
    let mut next = time / 6;
    while start.elapsed() < time {
        load.round(cluster)?;
        if start.elapsed() > next {
            match troubles.next() {
                Some(Trouble::Kubelet(signal)) => cluster.restart_kubelet(*signal)?,
                _ => patiently(|| delete_devgate(cluster))?,
            }
            restarts += 1;
            next += time / 6;
        }
    }
    cluster.devgate_is_ready(60)?;
    until("every pod to end", 120, || load.empty(cluster))?;
    let seen = watch.end();
    seen.shows(10)?;
    cluster.note(format!(
        "churn: {} pods in {} s, {} containers with disks, {} restarts, {} pods refused, {} cut short; no disk in two \
         containers, no pod stuck",
        load.made,
        time.as_secs(),
        seen.began,
        restarts,
        load.refused,
        load.cut_short
    ));
    gap(cluster)
}

/// Deletes devgate's pod: the next one is made at once.
fn delete_devgate(cluster: &Cluster) -> Result<()> {
    let name = cluster.devgate_name()?;
    let words = ["-n", "devgate", "delete", "pod", &name, "--wait=false", "--ignore-not-found"];
    cluster.kubectl(&words).map(drop)
}

enum Trouble {
    Kubelet(Signal),
    Devgate,
}

/// Pods are given to the node directly, one after the other, while devgate's own is deleted: which are refused, and for how long.
fn gap(cluster: &mut Cluster) -> Result<()> {
    cluster.delete_pods()?;
    delete_devgate(cluster)?;
    let start = Instant::now();
    let mut refused: Vec<f64> = Vec::new();
    for number in 0.. {
        let at = start.elapsed().as_secs_f64();
        let name = format!("gap-{number}");
        let mut pod = Cluster::manifest(&name, 1);
        pod["spec"]["nodeName"] = json!("node1");
        pod["spec"]["restartPolicy"] = json!("Never");
        pod["spec"]["containers"][0]["command"] = json!(["/bin/busybox", "true"]);
        cluster.apply(&pod.to_string())?;
        let phase = until("the kubelet to decide", 30, || {
            let pod = cluster.pod(&name)?;
            match pod["status"]["phase"].as_str() {
                Some("Pending") | None => bail!("it has not"),
                Some(phase) => Ok(phase.to_owned()),
            }
        })?;
        if phase == "Failed" {
            refused.push(at);
        } else if at > 2.0 && cluster.ready().is_ok() {
            break;
        }
        if at > 60.0 {
            bail!("pods are refused 60 s after devgate's own was deleted");
        }
    }
    let last = refused.last().copied().unwrap_or_default();
    cluster.note(format!(
        "churn: after devgate's pod was deleted, {} pods were refused, the last {last:.1} s after",
        refused.len()
    ));
    Ok(())
}
