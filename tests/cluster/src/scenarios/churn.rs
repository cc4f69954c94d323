//! Pods come and go while the kubelet and devgate are restarted: no disk is in two containers by what the runtime tells, no pod is stuck,
//! and how long after the end of devgate's pod the kubelet refuses pods is measured.

use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::part::Signal;
use crate::wait::until;
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How many pods there are at once: more than there are disks for, so that each end is somebody's beginning.
const AT_ONCE: usize = 8;

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let time = Duration::from_secs(if cluster.given.long { 300 } else { 120 });
    let watch = cluster.watch_runtime()?;
    let start = Instant::now();
    let mut count = Count::default();
    let mut troubles =
        [Trouble::Kubelet(Signal::Kill), Trouble::Devgate, Trouble::Kubelet(Signal::Term)].iter().cycle();
    let mut next = time / 6;
    while start.elapsed() < time {
        count.round(cluster)?;
        if start.elapsed() > next {
            match troubles.next() {
                Some(Trouble::Kubelet(signal)) => cluster.restart_kubelet(*signal)?,
                _ => patiently(|| delete_devgate(cluster))?,
            }
            count.troubles += 1;
            next += time / 6;
        }
    }
    cluster.devgate_is_ready(60)?;
    until("every pod to end", 120, || count.empty(cluster))?;
    let seen = watch.end();
    if !seen.lost.is_empty() {
        bail!("the runtime's events were not understood: {}", seen.lost.join("; "));
    }
    if !seen.twice.is_empty() {
        bail!("in two containers at once: {}", seen.twice.join("; "));
    }
    if seen.began < 10 {
        bail!("{} containers began: too few to show anything", seen.began);
    }
    cluster.note(format!(
        "churn: {} pods in {} s, {} containers with disks, {} restarts, {} pods refused, {} cut short; no disk in two \
         containers, no pod stuck",
        count.made,
        time.as_secs(),
        seen.began,
        count.troubles,
        count.refused,
        count.cut_short
    ));
    gap(cluster)
}

/// Asks again for a while what the API server does not answer: it shares two processors with all that is started and ended here.
fn patiently<T>(ask: impl FnMut() -> Result<T>) -> Result<T> {
    until("the API server", 30, ask)
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

#[derive(Default)]
struct Count {
    made: usize,
    refused: usize,
    cut_short: usize,
    troubles: usize,
}

impl Count {
    /// Takes away pods that have ended, and makes others in their place.
    fn round(&mut self, cluster: &Cluster) -> Result<()> {
        let open = self.take_away(cluster)?;
        let mut manifests = Vec::new();
        for _ in open..AT_ONCE {
            self.made += 1;
            let mut pod = Cluster::manifest(&format!("churn-{}", self.made), 1 + self.made % 2);
            // Some end by themselves at once, others stay for a while.
            let seconds = (self.made % 4).to_string();
            pod["spec"]["containers"][0]["command"] = json!(["/bin/busybox", "sleep", seconds]);
            pod["spec"]["restartPolicy"] = json!("Never");
            manifests.push(pod);
        }
        if manifests.is_empty() {
            return Ok(());
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": manifests}).to_string();
        patiently(|| cluster.apply(&list))
    }

    /// Takes away pods that have ended, and gives how many have not.
    fn take_away(&mut self, cluster: &Cluster) -> Result<usize> {
        let pods = patiently(|| cluster.list("/api/v1/namespaces/default/pods?labelSelector=scenario%3Dyes"))?;
        let phase = |pod: &Value| pod["status"]["phase"].as_str().unwrap_or_default().to_owned();
        let ended: Vec<_> = pods
            .iter()
            .filter(|pod| {
                ["Succeeded", "Failed"].contains(&phase(pod).as_str()) && pod["metadata"]["deletionTimestamp"].is_null()
            })
            .collect();
        for pod in ended.iter().filter(|pod| phase(pod) == "Failed") {
            match &pod["status"] {
                status if is_refused(status) => self.refused += 1,
                status if is_cut_short(status) => self.cut_short += 1,
                status => bail!("pod {} failed: {status}", pod["metadata"]["name"]),
            }
        }
        let names: Vec<_> = ended.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
        if !names.is_empty() {
            let delete = ["delete", "pod", "--wait=false", "--grace-period=0", "--ignore-not-found"];
            patiently(|| cluster.kubectl(&[&delete, &names[..]].concat()))?;
        }
        Ok(pods.len() - ended.len())
    }

    fn empty(&mut self, cluster: &Cluster) -> Result<()> {
        match self.take_away(cluster)? {
            0 => Ok(()),
            open => bail!("{open} pods have not ended"),
        }
    }
}

/// Whether the kubelet took a pod not at all: devgate was not there to be asked, or the kubelet itself knew of too few disks. It says zero at
/// its start until devgate has registered, and what it goes by comes back to it later than to the scheduler.
fn is_refused(status: &Value) -> bool {
    let reason = status["reason"].as_str().unwrap_or_default();
    reason == "UnexpectedAdmissionError" || reason.strip_prefix("OutOf") == Some(DISK)
}

/// Whether the kubelet ended while the runtime was about to start the pod's container for it: the runtime gives up with its caller, and a pod
/// that is not to be restarted has failed.
fn is_cut_short(status: &Value) -> bool {
    let ended = &status["containerStatuses"][0]["state"]["terminated"];
    let why = ended["message"].as_str().unwrap_or_default();
    ended["reason"] == "StartError" && why.contains("context canceled")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_kubelet_and_runtime_do_to_a_pod_excuses_that_it_failed() {
        let container = |reason: &str, message: &str| {
            let ended = json!({"exitCode": 128, "reason": reason, "message": message});
            json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": ended}}]})
        };
        let create = "failed to create containerd task: failed to create shim task: ";
        for (status, refused, cut_short) in [
            (json!({"reason": "UnexpectedAdmissionError"}), true, false),
            (json!({"reason": "OutOfexample.com/disk"}), true, false),
            (json!({"reason": "OutOfcpu"}), false, false),
            (container("StartError", &format!("{create}context canceled: unknown")), false, true),
            (container("StartError", &format!("{create}no such file or directory")), false, false),
            (container("Error", "context canceled"), false, false),
            (json!({"phase": "Failed"}), false, false),
        ] {
            assert_eq!((is_refused(&status), is_cut_short(&status)), (refused, cut_short), "{status}");
        }
    }
}
