//! What an admin sees of a device that fails without asking devgate: Events on the node and on the pod that has it, and the node's condition.

use super::rights::{as_agent, token};
use crate::cluster::Cluster;
use crate::configs::ADDRESS;
use crate::process;
use crate::scenarios::events::{NODE, is, told};
use crate::wait::timed;
use anyhow::{Context, Result, ensure};

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    is(cluster, "True", "all is well")?;
    let held = cluster.opens("one", "main", 1)?.pop_first().context("a disk")?;
    cluster.disks.pull(&held)?;
    let (_, failed) = timed(|| told(cluster, "one", "DeviceUnhealthy", &held))?;
    let of_node = is(cluster, "False", "1 of 6 devices unhealthy")?;
    // Describing looks for Events of an object by its uid.
    for words in [["describe", "pod", "one"], ["describe", "node", NODE]] {
        let said = cluster.kubectl(&words)?;
        ensure!(said.contains("DeviceUnhealthy") && said.contains(&held), "kubectl {}: {said}", words.join(" "));
    }
    cluster.disks.plug(&held)?;
    let (_, recovered) = timed(|| told(cluster, "one", "DeviceHealthy", &held))?;
    let well = is(cluster, "True", "all is well")?;
    cluster.note(format!(
        "claims: a device that went was an Event on its node and its pod after {failed:.1} s and in the node's condition {of_node:.1} s later; \
         back after {recovered:.1} s and {well:.1} s"
    ));
    rights(cluster)
}

/// An agent that was taken over: neither another node, nor anything else of its own, nor an Event in another's name.
fn rights(cluster: &Cluster) -> Result<()> {
    let token = token(cluster)?;
    let other = cluster.given.dir.join("work/node2.json");
    std::fs::write(&other, r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node2"}}"#)?;
    cluster.kubectl(&["create", "-f", &other.display().to_string()])?;
    let tried = refused(cluster, &token);
    cluster.kubectl(&["delete", "node", "node2"])?;
    tried
}

fn refused(cluster: &Cluster, token: &str) -> Result<()> {
    let condition =
        |kind: &str| format!(r#"{{"status": {{"conditions": [{{"type": "{kind}", "status": "Unknown"}}]}}}}"#);
    let own = "an agent writes nothing of a node but the condition DevgateHealthy";
    for (node, patch, why) in [
        ("node2", condition("DevgateHealthy"), "this agent is of node node1, and not of node2"),
        (NODE, condition("Ready"), own),
        (NODE, r#"{"metadata": {"labels": {"taken": "over"}}}"#.to_owned(), own),
        (NODE, r#"{"status": {"capacity": {"example.com/gold": "7"}}}"#.to_owned(), own),
        (NODE, r#"{"status": {"addresses": null}}"#.to_owned(), own),
    ] {
        let said = change(cluster, token, &format!("/api/v1/nodes/{node}/status"), &patch)?;
        ensure!(said.contains(why), "an agent may write {patch} of {node}: {said}");
    }
    let said = change(cluster, token, &format!("/api/v1/nodes/{NODE}/status"), &condition("DevgateHealthy"))?;
    ensure!(
        said.contains(r#""kind":"Node""#) || said.contains(r#""kind": "Node""#),
        "an agent may not write its condition: {said}"
    );
    let file = cluster.given.dir.join("work/event.json");
    let event = |node: &str, instance: &str| {
        format!(
            r#"{{"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {{"name": "tried", "namespace": "default"}}, "action": "Judged",
             "eventTime": "2026-01-02T03:04:05.000000Z", "reason": "Tried", "type": "Normal", "note": "n", "reportingController": "devgate.dev/agent",
             "reportingInstance": "{instance}", "regarding": {{"kind": "Node", "name": "{node}"}}}}"#
        )
    };
    for (node, instance) in [("node2", NODE), (NODE, "node2")] {
        std::fs::write(&file, event(node, instance))?;
        let said = as_agent(cluster, token, &["create", "-f", &file.display().to_string()]);
        let said = said.err().map(|error| format!("{error:#}")).unwrap_or_default();
        ensure!(
            said.contains("Events are about its node and pods"),
            "an agent may make Events of {node} as {instance}: {said}"
        );
    }
    std::fs::write(&file, event(NODE, "another"))?;
    cluster.kubectl(&["create", "-f", &file.display().to_string()])?;
    let patch = r#"{"metadata": {"labels": {"taken": "over"}}}"#;
    let said = change(cluster, token, "/apis/events.k8s.io/v1/namespaces/default/events/tried", patch)?;
    cluster.kubectl(&["delete", "event", "tried"])?;
    ensure!(
        said.contains("the Event is not this agent's") || said.contains("an agent's Events are"),
        "an agent may write another's: {said}"
    );
    Ok(())
}

/// What the API server says where the agent writes this of an object, without reading it.
fn change(cluster: &Cluster, token: &str, path: &str, patch: &str) -> Result<String> {
    let kind = if path.contains("/nodes/") { "strategic-merge-patch" } else { "merge-patch" };
    let mut curl = cluster.in_network("curl");
    curl.args(["--silent", "--show-error", "--max-time", "10", "--request", "PATCH", "--data", patch]);
    curl.arg("--cacert").arg(cluster.given.dir.join("keys/ca.crt"));
    curl.arg("--header").arg(format!("Authorization: Bearer {token}"));
    curl.arg("--header").arg(format!("Content-Type: application/{kind}+json"));
    process::read(curl.arg(format!("https://{ADDRESS}:443{path}")))
}
