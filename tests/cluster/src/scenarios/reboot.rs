//! The node loses power and boots. Pods whose owner makes new ones are back, nothing is given twice, and what becomes of the others is measured:
//! with devgate in a pod, and as a service of the node that is there before the kubelet.

use crate::cluster::Cluster;
use crate::devgate::{COMPONENTS, DISK};
use crate::images::BUSYBOX;
use crate::wait::{timed, until};
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Pods that nothing makes anew.
const BARE: [&str; 2] = ["bare1", "bare2"];

const REPLICAS: usize = 2;

pub(super) fn in_a_pod(cluster: &mut Cluster) -> Result<()> {
    reboot(cluster, "devgate in a pod", |_| Ok(()))
}

pub(super) fn as_a_service(cluster: &mut Cluster) -> Result<()> {
    cluster.uninstall()?;
    cluster.bring_component()?;
    std::fs::create_dir_all(cluster.file("/etc/devgate/policy.d"))?;
    std::fs::write(cluster.file("/etc/devgate/policy.d/disks.yaml"), cluster.policy()?)?;
    let serve = |cluster: &Cluster| {
        let program = cluster.given.program.display().to_string();
        let components = format!("--components={COMPONENTS}");
        let words = [&program, "run", "--policy=/etc/devgate/policy.d", &components, "--listen=127.0.0.1:9464"];
        cluster.service("devgate", &words)?;
        // As `Type=notify` and `Before=kubelet.service` of the unit: the kubelet begins when it serves.
        until("the service", 30, || cluster.node(&["curl", "-sSf", "http://127.0.0.1:9464/healthz"]))
    };
    serve(cluster)?;
    // The node's status may be of before: pods would be rejected.
    until("the service to be registered", 30, || {
        let metrics = cluster.node(&["curl", "-sSf", "http://127.0.0.1:9464/metrics"])?;
        let line = metrics.lines().find(|line| line.starts_with("devgate_kubelet_streams{")).unwrap_or_default();
        if !line.ends_with(" 1") {
            bail!("{line}");
        }
        Ok(())
    })?;
    cluster.allocatable(cluster.disks.names().len(), 60)?;
    reboot(cluster, "devgate as a service", |cluster| serve(cluster).map(drop))?;
    cluster.delete_pods()?;
    cluster.end_service("devgate")?;
    Ok(std::fs::remove_dir_all(cluster.file("/etc/devgate"))?)
}

fn reboot(cluster: &mut Cluster, how: &str, before: impl FnOnce(&Cluster) -> Result<()>) -> Result<()> {
    cluster.apply(&deployment().to_string())?;
    for name in BARE {
        cluster.run_pod(name, 1)?;
    }
    until("the deployment", 60, || available(cluster))?;
    let runs = |pod: &&Value| pod["status"]["phase"] == "Running";
    let old: BTreeSet<String> = pods(cluster)?.iter().filter(runs).map(name_of).collect();
    cluster.reboot(before)?;
    let watch = cluster.watch_runtime()?;
    // What the API server has of the pods is older than the boot until their kubelet says otherwise.
    let (_, seconds) = timed(|| {
        until("every pod to be rejected or to run again", 120, || {
            let pods = pods(cluster)?;
            let decided = |pod: &Value| rejected(pod) || restarts(pod) > 0;
            let open: Vec<_> =
                pods.iter().filter(|pod| old.contains(&name_of(pod)) && !decided(pod)).map(name_of).collect();
            if !open.is_empty() {
                bail!("{open:?} are not yet");
            }
            Ok(())
        })
    })?;
    let (_, more) = timed(|| until("the deployment after the boot", 120, || available(cluster)))?;
    let gone = pods(cluster)?.iter().filter(|pod| old.contains(&name_of(pod)) && rejected(pod)).count();
    cluster.note(format!(
        "reboot, {how}: {gone} of {} pods were rejected with UnexpectedAdmissionError; the deployment was whole {:.1} s after the kubelet's start",
        old.len(),
        seconds + more
    ));
    cluster.allocatable(cluster.disks.names().len(), 60)?;
    let mut all = BTreeSet::new();
    for pod in pods(cluster)?.iter().filter(|pod| pod["status"]["phase"] == "Running") {
        for disk in cluster.has_exactly(&name_of(pod), 1)? {
            if !all.insert(disk.clone()) {
                bail!("{disk} is in two pods");
            }
        }
    }
    let seen = watch.end();
    if !seen.twice.is_empty() {
        bail!("given twice: {}", seen.twice.join(", "));
    }
    Ok(())
}

fn pods(cluster: &Cluster) -> Result<Vec<Value>> {
    cluster.list("/api/v1/namespaces/default/pods?labelSelector=scenario%3Dyes")
}

fn name_of(pod: &Value) -> String {
    pod["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn rejected(pod: &Value) -> bool {
    pod["status"]["phase"] == "Failed" && pod["status"]["reason"] == "UnexpectedAdmissionError"
}

fn restarts(pod: &Value) -> u64 {
    pod["status"]["containerStatuses"][0]["restartCount"].as_u64().unwrap_or_default()
}

fn available(cluster: &Cluster) -> Result<()> {
    let pods = pods(cluster)?;
    let runs = pods.iter().filter(|pod| {
        let status = &pod["status"];
        name_of(pod).starts_with("many-")
            && status["phase"] == "Running"
            && status["containerStatuses"][0]["ready"] == true
    });
    match runs.count() {
        REPLICAS => Ok(()),
        ready => bail!("{ready} of {REPLICAS} run"),
    }
}

fn deployment() -> Value {
    let labels = json!({"scenario": "yes", "app": "many"});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "many", "labels": labels},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": {"app": "many"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "automountServiceAccountToken": false,
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{
                        "name": "main", "image": BUSYBOX, "imagePullPolicy": "Never",
                        "command": ["/bin/busybox", "sleep", "2147483647"],
                        "resources": {"limits": {DISK: "1"}},
                    }],
                },
            },
        },
    })
}
