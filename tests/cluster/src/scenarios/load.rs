//! Pods that come and go: each ends by itself soon, is taken away then, and another is made in its place.

use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::wait::until;
use anyhow::{Result, bail};
use serde_json::{Value, json};

/// Pods of one kind, and what became of them.
pub(super) struct Load {
    kind: &'static str,
    at_once: usize,
    pod: fn(&str, usize) -> Value,
    pub(super) made: usize,
    pub(super) refused: usize,
    pub(super) cut_short: usize,
}

impl Load {
    /// So many at once, made of their name and number.
    pub(super) fn new(kind: &'static str, at_once: usize, pod: fn(&str, usize) -> Value) -> Self {
        Self { kind, at_once, pod, made: 0, refused: 0, cut_short: 0 }
    }

    /// Takes away pods that have ended, and makes others in their place.
    pub(super) fn round(&mut self, cluster: &Cluster) -> Result<()> {
        let open = self.take_away(cluster)?;
        let mut manifests = Vec::new();
        for _ in open..self.at_once {
            self.made += 1;
            let mut pod = (self.pod)(&format!("{}-{}", self.kind, self.made), self.made);
            pod["metadata"]["labels"]["kind"] = json!(self.kind);
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
        let pods = self.pods(cluster)?;
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
        take(cluster, &names)?;
        Ok(pods.len() - ended.len())
    }

    /// Its pods, whatever they are about.
    pub(super) fn pods(&self, cluster: &Cluster) -> Result<Vec<Value>> {
        let path = format!("/api/v1/namespaces/default/pods?labelSelector=kind%3D{}", self.kind);
        patiently(|| cluster.list(&path))
    }

    pub(super) fn empty(&mut self, cluster: &Cluster) -> Result<()> {
        match self.take_away(cluster)? {
            0 => Ok(()),
            open => bail!("{open} pods have not ended"),
        }
    }

    /// Takes away what no scheduler gave to a node, and says how many that are.
    pub(super) fn give_up(&self, cluster: &Cluster) -> Result<usize> {
        let pods = self.pods(cluster)?;
        let open = pods.iter().filter(|pod| pod["spec"]["nodeName"].is_null());
        let names: Vec<_> = open.filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
        take(cluster, &names).map(|()| names.len())
    }
}

/// Deletes pods at once, and does not wait.
pub(super) fn take(cluster: &Cluster, names: &[&str]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let delete = ["delete", "pod", "--wait=false", "--grace-period=0", "--ignore-not-found"];
    patiently(|| cluster.kubectl(&[&delete, names].concat())).map(drop)
}

/// Asks again for a while what the API server does not answer: it shares two processors with all that is started and ended here.
pub(super) fn patiently<T>(ask: impl FnMut() -> Result<T>) -> Result<T> {
    until("the API server", 30, ask)
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
