//! Pods that ask for disks, and what they have.

use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::images::BUSYBOX;
use crate::wait::until;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Opens every disk in a container: those whose nodes it has, and those whose nodes it makes.
const OPEN: &str = "
for number in NUMBERS; do
    node=/dev/loop$number
    if [ -e $node ]; then
        echo has loop$number
        [ $(busybox stat -c %t:%T $node) = $(busybox printf 7:%x $number) ] || echo wrong $node: another device
        said=$(busybox head -c 1 $node 2>&1) || echo wrong $node: is not opened: $said
    else
        busybox mknod /own b 7 $number
        said=$(busybox head -c 1 /own 2>&1) && echo wrong $node: is opened and was not given
        case $said in *'Operation not permitted'*) ;; *) echo wrong $node: $said;; esac
        busybox rm /own
    fi
done
for node in /dev/loop*; do
    case \" NUMBERS \" in *\" ${node#/dev/loop} \"*) ;; *) [ -e $node ] && echo has ${node#/dev/};; esac
done
true";

impl Cluster {
    /// The manifest of a pod that asks for so many disks and sleeps.
    pub(crate) fn manifest(name: &str, disks: usize) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"scenario": "yes"}},
            "spec": {
                "terminationGracePeriodSeconds": 1,
                "automountServiceAccountToken": false,
                "tolerations": [{"operator": "Exists"}],
                "nodeSelector": {"kubernetes.io/hostname": "node1"},
                "containers": [{
                    "name": "main", "image": BUSYBOX, "imagePullPolicy": "Never",
                    "command": ["/bin/busybox", "sleep", "2147483647"],
                    "resources": {"limits": {DISK: disks.to_string()}},
                }],
            },
        })
    }

    /// Makes a pod with so many disks, and does not wait.
    ///
    /// # Errors
    /// When the API server does not take it.
    pub(crate) fn make_pod(&self, name: &str, disks: usize) -> Result<()> {
        self.apply(&Self::manifest(name, disks).to_string())
    }

    /// Makes a pod with so many disks, and waits until it runs.
    ///
    /// # Errors
    /// When it fails, or does not run in time.
    pub(crate) fn run_pod(&self, name: &str, disks: usize) -> Result<()> {
        self.make_pod(name, disks)?;
        self.runs(name, 60)
    }

    /// Waits until a pod runs.
    ///
    /// # Errors
    /// When it has failed, or does not run in time.
    pub(crate) fn runs(&self, name: &str, seconds: u64) -> Result<()> {
        until(&format!("pod {name} to run"), seconds, || {
            let pod = self.pod(name)?;
            let status = &pod["status"];
            match status["phase"].as_str() {
                Some("Running") => Ok(Ok(())),
                Some("Failed") => {
                    Ok(Err(anyhow::anyhow!("pod {name} failed: {} {}", status["reason"], status["message"])))
                }
                phase => bail!("it is {phase:?}: {}", status["conditions"]),
            }
        })?
    }

    /// A pod as the API server has it.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn pod(&self, name: &str) -> Result<Value> {
        self.get(&format!("/api/v1/namespaces/default/pods/{name}"))
    }

    /// Deletes a pod, until it is gone.
    ///
    /// # Errors
    /// When it stays.
    pub(crate) fn delete_pod(&self, name: &str) -> Result<()> {
        self.kubectl(&["delete", "pod", name, "--wait=true", "--timeout=60s"]).map(drop)
    }

    /// Deletes all pods of scenarios and what makes them, until they are gone.
    ///
    /// # Errors
    /// When one stays.
    pub(crate) fn delete_pods(&self) -> Result<()> {
        // A kubelet whose API server was away asks it again within a minute, and a scenario may have failed just then.
        let all = ["delete", "daemonsets,deployments,pods", "-l", "scenario=yes", "--wait=true", "--timeout=180s"];
        self.kubectl(&all)?;
        until("the end of the pods of scenarios", 60, || {
            match self.list("/api/v1/namespaces/default/pods?labelSelector=scenario%3Dyes")?.len() {
                0 => Ok(()),
                left => bail!("{left} are left"),
            }
        })
    }

    /// Runs a shell's line in a pod's container.
    ///
    /// # Errors
    /// When it ends with another code than 0.
    pub(crate) fn in_pod(&self, name: &str, line: &str) -> Result<String> {
        self.kubectl(&["exec", name, "--", "/bin/sh", "-c", &format!("PATH=/bin; {line}")])
    }

    /// Fails unless the container has exactly so many disks: their nodes are in its `/dev`, it reads from each what is on it, the kernel
    /// refuses it every other one, and pod-resources names the same. Gives their names.
    ///
    /// # Errors
    /// With what is not so.
    pub(crate) fn has_exactly(&self, name: &str, disks: usize) -> Result<BTreeSet<String>> {
        let has = self.opens(name, "main", disks)?;
        let told = self.pod_resources()?;
        let told = told.get(&format!("default/{name}")).cloned().unwrap_or_default();
        if told != has {
            bail!("pod {name} has {has:?}, and pod-resources says {told:?}");
        }
        Ok(has)
    }

    /// The same of one container, without pod-resources, which does not say what devices claims have.
    ///
    /// # Errors
    /// With what is not so.
    pub(crate) fn opens(&self, name: &str, container: &str, disks: usize) -> Result<BTreeSet<String>> {
        let numbers: Vec<_> = self.disks.names().iter().map(|disk| disk.trim_start_matches("loop")).collect();
        let line = OPEN.replace("NUMBERS", &numbers.join(" "));
        // A kubelet that was started just now does not know its pods yet.
        let line = format!("PATH=/bin; {line}");
        let says = until(&format!("pod {name} to answer"), 30, || {
            self.kubectl(&["exec", name, "-c", container, "--", "/bin/sh", "-c", &line])
        })?;
        let has: BTreeSet<_> = says.lines().filter_map(|line| line.strip_prefix("has ")).map(str::to_owned).collect();
        if has.len() != disks {
            bail!("pod {name} asked for {disks} disks and has the nodes of {has:?}");
        }
        let wrong: Vec<_> = says.lines().filter(|line| line.starts_with("wrong ")).collect();
        if !wrong.is_empty() {
            bail!("pod {name}: {}", wrong.join("; "));
        }
        Ok(has)
    }

    /// What the pod's status says of the health of its disks: id and health.
    ///
    /// # Errors
    /// When it says nothing.
    pub(crate) fn health(&self, name: &str) -> Result<Vec<(String, String)>> {
        let pod = self.pod(name)?;
        let status = pod["status"]["containerStatuses"][0]["allocatedResourcesStatus"].as_array().cloned();
        let status = status.with_context(|| format!("pod {name} has no allocatedResourcesStatus"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of = |resource: &Value| resource["resources"].as_array().cloned().unwrap_or_default();
        Ok(status.iter().flat_map(of).map(|unit| (text(&unit["resourceID"]), text(&unit["health"]))).collect())
    }

    /// Kills a pod's container. Asked of the runtime: in the pod's status, the kubelet says it some time after the container began.
    ///
    /// # Errors
    /// When the runtime has none.
    pub(crate) fn kill_container(&self, name: &str) -> Result<()> {
        let id = self.container(name)?;
        self.ctr(&["tasks", "kill", "--signal", "SIGKILL", &id]).map(drop)
    }

    /// The id of a pod's container that runs, by the runtime: also where nothing else can be asked.
    ///
    /// # Errors
    /// When none runs.
    pub(crate) fn container(&self, name: &str) -> Result<String> {
        let of_pod =
            format!(r#"labels."io.kubernetes.pod.name"=="{name}",labels."io.cri-containerd.kind"=="container""#);
        let ids = self.ctr(&["containers", "list", "--quiet", &of_pod])?;
        let running = self.ctr(&["tasks", "list"])?;
        let runs = |id: &&str| running.lines().any(|line| line.starts_with(*id) && line.ends_with("RUNNING"));
        let id = ids.lines().find(runs).with_context(|| format!("the runtime runs no container of {name}"))?;
        Ok(id.to_owned())
    }

    /// How often a pod's container was started again.
    ///
    /// # Errors
    /// When there is no such pod.
    pub(crate) fn restarts(&self, name: &str) -> Result<u64> {
        Ok(self.pod(name)?["status"]["containerStatuses"][0]["restartCount"].as_u64().unwrap_or_default())
    }
}
