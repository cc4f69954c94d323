//! What an agent that was taken over could write: slices of its own node, and nothing else.

use crate::cluster::Cluster;
use crate::process;
use anyhow::{Result, bail};

const OF_ANOTHER: &str = r#"
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: of-another}
spec: {driver: other.example.com, nodeName: node2, pool: {name: node2, generation: 1, resourceSliceCount: 1}, devices: []}
"#;

pub(super) fn play(cluster: &Cluster) -> Result<()> {
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
    let token = cluster.kubectl(&words)?;
    let file = cluster.given.dir.join("work/slice.yaml");
    std::fs::write(&file, OF_ANOTHER)?;
    let refused = as_agent(cluster, token.trim(), &["create", "-f", &file.display().to_string()]);
    let said = refused.err().map(|error| format!("{error:#}")).unwrap_or_default();
    if !said.contains("this agent is of node node1, and the slice of node2") {
        bail!("an agent of node1 writes a slice of node2: {said}");
    }
    for words in [&["get", "pods", "-A"][..], &["get", "secrets", "-A"], &["get", "resourceclaims", "-A"]] {
        if as_agent(cluster, token.trim(), words).is_ok() {
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

fn as_agent(cluster: &Cluster, token: &str, words: &[&str]) -> Result<String> {
    let keys = cluster.given.dir.join("keys");
    let mut kubectl = cluster.in_network(&cluster.given.kubectl.display().to_string());
    kubectl.env_remove("KUBECONFIG").arg("--kubeconfig=/dev/null");
    kubectl.arg(format!("--certificate-authority={}", keys.join("ca.crt").display()));
    kubectl.arg(format!("--server=https://{}:443", crate::configs::ADDRESS)).arg(format!("--token={token}"));
    process::read(kubectl.args(words))
}
