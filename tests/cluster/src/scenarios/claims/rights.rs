//! What an agent that was taken over could write: devgate's slices of its own node, and nothing else.

use crate::cluster::Cluster;
use crate::process;
use anyhow::{Result, bail};

/// What says that a slice is devgate's.
const LABEL: &str = "app.kubernetes.io/managed-by: devgate";

/// A slice of another driver.
fn slice(name: &str, labels: &str, node: &str) -> String {
    format!(
        r#"
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: {name}, labels: {{{labels}}}}}
spec: {{driver: other.example.com, nodeName: {node}, pool: {{name: {node}, generation: 1, resourceSliceCount: 1}}, devices: []}}
"#
    )
}

/// What the agent has.
pub(super) fn token(cluster: &Cluster) -> Result<String> {
    let pod = cluster.devgate_name()?;
    let words = [
        "-n",
        "devgate",
        "create",
        "token",
        "devgate-agent",
        "--bound-object-kind",
        "Pod",
        "--bound-object-name",
        &pod,
    ];
    Ok(cluster.kubectl(&words)?.trim().to_owned())
}

pub(super) fn play(cluster: &Cluster) -> Result<()> {
    let token = token(cluster)?;
    let file = cluster.given.dir.join("work/slice.yaml");
    std::fs::write(&file, slice("of-another", LABEL, "node2"))?;
    let refused = as_agent(cluster, &token, &["create", "-f", &file.display().to_string()]);
    let said = refused.err().map(|error| format!("{error:#}")).unwrap_or_default();
    if !said.contains("this agent is of node node1, and the slice of node2") {
        bail!("an agent of node1 writes a slice of node2: {said}");
    }
    not_of_others(cluster, &token)?;
    for words in [&["get", "pods", "-A"][..], &["get", "secrets", "-A"], &["get", "resourceclaims", "-A"]] {
        if as_agent(cluster, &token, words).is_ok() {
            bail!("an agent may kubectl {}", words.join(" "));
        }
    }
    // The host has neither a token nor a way to one.
    let told = cluster.devgate()?;
    let mounts = told["spec"]["containers"][0]["volumeMounts"].to_string();
    if mounts.contains("serviceaccount") || told["spec"]["containers"][0]["env"].to_string().contains("NODE_NAME") {
        bail!("the host's container has what is the agent's: {mounts}");
    }
    Ok(())
}

/// Slices of the same node that others have made, with a label of theirs or without any, are not the agent's, who cannot make them so either.
fn not_of_others(cluster: &Cluster, token: &str) -> Result<()> {
    let [theirs, ours] = ["theirs", "ours"].map(|name| cluster.given.dir.join(format!("work/{name}.yaml")));
    std::fs::write(&ours, slice("of-others", LABEL, "node1"))?;
    let [path, ours] = [&theirs, &ours].map(|path| path.display().to_string());
    let refused = |words: &[&str]| -> Result<()> {
        let said = as_agent(cluster, token, words).err().map(|error| format!("{error:#}")).unwrap_or_default();
        if !said.contains("the slice is not devgate's") {
            bail!("an agent may kubectl {} where the slice is another driver's: {said}", words.join(" "));
        }
        Ok(())
    };
    for labels in ["", "app.kubernetes.io/managed-by: another"] {
        std::fs::write(&theirs, slice("of-others", labels, "node1"))?;
        refused(&["create", "-f", &path])?;
        cluster.kubectl(&["create", "-f", &path])?;
        let tried = refused(&["delete", "resourceslice", "of-others", "--wait=false"])
            .and_then(|()| refused(&["replace", "-f", &ours]));
        cluster.kubectl(&["delete", "resourceslice", "of-others"])?;
        tried?;
    }
    Ok(())
}

pub(super) fn as_agent(cluster: &Cluster, token: &str, words: &[&str]) -> Result<String> {
    let keys = cluster.given.dir.join("keys");
    let mut kubectl = cluster.in_network(&cluster.given.kubectl.display().to_string());
    kubectl.env_remove("KUBECONFIG").arg("--kubeconfig=/dev/null");
    kubectl.arg(format!("--certificate-authority={}", keys.join("ca.crt").display()));
    kubectl.arg(format!("--server=https://{}:443", crate::configs::ADDRESS)).arg(format!("--token={token}"));
    process::read(kubectl.args(words))
}
