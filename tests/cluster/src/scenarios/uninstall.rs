//! Uninstalling: cleanup refuses while a pod holds a device, and says whose; when the pod is gone nothing of devgate is left on the node.
//!
//! The kubelet's own record of the pod stays for five minutes after the end of devgate. The longer form waits for that; the other one says, as
//! an admin may, that it does not matter.

use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::wait::{stays, until};
use anyhow::{Result, bail};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    cluster.run_pod("holder", 1)?;
    let had = cluster.has_exactly("holder", 1)?;
    cluster.uninstall()?;
    cluster.install_cleanup()?;
    let result = clean(cluster, &had).and_then(|()| done(cluster));
    cluster.uninstall_cleanup()?;
    result?;
    for (folder, ours) in [("/var/lib/kubelet/device-plugins", "devgate"), ("/var/lib/devgate", "")] {
        let left = cluster.node(&["ls", "-A", folder]).unwrap_or_default();
        let left: Vec<_> = left.lines().filter(|name| name.contains(ours) && *name != "components.d").collect();
        if !left.is_empty() {
            bail!("{folder}: {left:?} are left");
        }
    }
    // The kubelet's own memory of the resource, as the page says.
    until("the node to have none for pods", 30, || match cluster.node_has("allocatable", DISK)? {
        Some(0) => Ok(()),
        amount => bail!("the node has {amount:?}"),
    })
}

/// Until every node is done.
fn done(cluster: &Cluster) -> Result<()> {
    let cleanup = |words: &[&str]| cluster.kubectl(&[&["-n", "devgate"], words].concat()).map(drop);
    let status = ["rollout", "status", "daemonset/devgate-cleanup"];
    if cluster.given.long {
        return cleanup(&[&status[..], &["--timeout=900s"]].concat());
    }
    let flag = r#"[{"op": "add", "path": "/spec/template/spec/initContainers/0/args/-", "value": "--even-if-in-use"}]"#;
    cleanup(&["patch", "daemonset", "devgate-cleanup", "--type=json", "--patch", flag])?;
    cleanup(&[&status[..], &["--timeout=120s"]].concat())
}

/// The pod's init container is refused while a pod holds a device, and says so in its status.
fn clean(cluster: &Cluster, had: &std::collections::BTreeSet<String>) -> Result<()> {
    let told = until("cleanup to refuse", 60, || {
        let pods =
            cluster.list("/api/v1/namespaces/devgate/pods?labelSelector=app.kubernetes.io/name=devgate-cleanup")?;
        for pod in &pods {
            if pod["status"]["phase"] == "Running" {
                return Ok(None);
            }
            let container = &pod["status"]["initContainerStatuses"][0];
            for state in ["state", "lastState"] {
                if let Some(message) = container[state]["terminated"]["message"].as_str() {
                    return Ok(Some(message.to_owned()));
                }
            }
        }
        bail!("{} pods of it, and none has ended", pods.len())
    })?;
    let Some(told) = told else {
        bail!("cleanup took away what was handed out, while a pod holds {had:?}");
    };
    println!("cleanup says: {told}");
    stays(5, || {
        let has = cluster.pod_resources()?.remove("default/holder").unwrap_or_default();
        if has != *had {
            bail!("the pod had {had:?}, and has {has:?}");
        }
        Ok(())
    })?;
    cluster.delete_pod("holder")
}
