//! A second node: what an admin has of both, a version that comes to both, one that is broken and stops at the first, and a policy for each.

use crate::cluster::Cluster;
use crate::prometheus::Prometheus;
use crate::wait::{stays, until};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Instant;

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    if cluster.given.before.is_some() {
        cluster.note("nodes: not played with a version before, which may not know how");
        return Ok(());
    }
    cluster.join()?;
    let both = until("a devgate that is ready on each node", 90, || serving(cluster))?;
    let (all, with) = is_seen(cluster)?;
    cluster.note(format!(
        "nodes: Prometheus, which scrapes both, answers all {all} queries of the dashboard, {with} with something"
    ));
    cluster.run_pod("holder", 2)?;
    let held = cluster.has_exactly("holder", 2)?;
    let begun = Instant::now();
    cluster.kubectl(&["-n", "devgate", "rollout", "restart", "daemonset/devgate"])?;
    let next = until("another devgate on each node", 120, || {
        let now = serving(cluster)?;
        ensure!(now.iter().all(|(node, pod)| both.get(node) != Some(pod)), "{now:?}");
        Ok(now)
    })?;
    cluster.note(format!("nodes: a rollout over two nodes took {:.1} s", begun.elapsed().as_secs_f64()));
    stops_at_the_first(cluster, &next)?;
    ensure!(cluster.has_exactly("holder", 2)? == held && cluster.restarts("holder")? == 0, "the holder had {held:?}");
    cluster.leave()?;
    groups(cluster)
}

/// The pods of devgate that do not end, by node, where there is a ready one on each node and no other.
fn serving(cluster: &Cluster) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for pod in cluster.devgate_pods()? {
        let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (node, name) = (of(&pod["spec"]["nodeName"]), of(&pod["metadata"]["name"]));
        ensure!(pod["status"]["containerStatuses"][0]["ready"] == true, "{name} on {node} is not ready");
        if let Some(other) = found.insert(node.clone(), name.clone()) {
            bail!("{node} has {other} and {name}");
        }
    }
    ensure!(found.len() == 2, "{found:?}");
    Ok(found)
}

/// Both are in the view of the fleet, and in what Prometheus and the dashboard have.
/// How many queries that has, and how many find something.
fn is_seen(cluster: &Cluster) -> Result<(usize, usize)> {
    let fleet = cluster.devgatectl(&["fleet"])?;
    ensure!(fleet.contains("\n2 nodes, 0 not well; "), "devgatectl fleet: {fleet}");
    let prometheus = Prometheus::start(cluster)?;
    let count = |query: &str| -> Result<String> {
        let found = prometheus.query(query)?;
        Ok(found.first().and_then(|one| one["value"][1].as_str()).unwrap_or("nothing").to_owned())
    };
    for query in [
        "sum(up{job=\"devgate\"} and on(instance) count_over_time(up{job=\"devgate\"}[1m]) > 3)",
        "count(count by (node) (devgate_devices{node=~\"node.*\"} > 0))",
    ] {
        until(query, 60, || {
            let found = count(query)?;
            ensure!(found == "2", "{query} is {found}");
            Ok(())
        })?;
    }
    let firing = prometheus.query("ALERTS{alertstate=\"firing\"}")?;
    ensure!(firing.is_empty(), "two nodes that are well fire {firing:?}");
    prometheus.dashboard()
}

/// A version that dies at load comes to one node, where the one before serves on, and to no other.
fn stops_at_the_first(cluster: &Cluster, serving: &BTreeMap<String, String>) -> Result<()> {
    let patch = r#"[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--policy=/nowhere"}]"#;
    cluster.kubectl(&["-n", "devgate", "patch", "daemonset", "devgate", "--type=json", "--patch", patch])?;
    let is_old = |pod: &Value| serving.values().any(|old| pod["metadata"]["name"] == **old);
    until("the broken version to end", 60, || {
        let pods = cluster.devgate_pods()?;
        let next = pods.iter().find(|pod| !is_old(pod)).context("there is no other pod")?;
        let container = &next["status"]["containerStatuses"][0];
        ensure!(container["restartCount"].as_u64() > Some(1), "{container}");
        Ok(())
    })?;
    stays(20, || {
        let pods = cluster.devgate_pods()?;
        let (old, new): (Vec<_>, Vec<_>) = pods.iter().partition(|pod| is_old(pod));
        let are_ready = old.iter().all(|pod| {
            pod["metadata"]["deletionTimestamp"].is_null() && pod["status"]["containerStatuses"][0]["ready"] == true
        });
        ensure!(
            old.len() == 2 && are_ready && new.len() == 1,
            "of {serving:?} are {} left; {} came",
            old.len(),
            new.len()
        );
        Ok(())
    })?;
    cluster.kubectl(&["-n", "devgate", "rollout", "undo", "daemonset/devgate"])?;
    until("the broken version to go", 60, || {
        let left = self::serving(cluster)?;
        ensure!(left == *serving, "{left:?}");
        Ok(())
    })
}

/// A node goes from one group to another while a pod has devices.
fn groups(cluster: &Cluster) -> Result<()> {
    cluster.uninstall()?;
    cluster.kubectl(&["label", "node", "node1", "example.com/kind=one"])?;
    cluster.install_groups(&["one", "two"])?;
    let is_of = |group: &str| {
        cluster.ready()?;
        let name = cluster.devgate_name()?;
        ensure!(name.starts_with(&format!("devgate-{group}-")) && cluster.devgate_pods()?.len() == 1, "it is {name}");
        cluster.allocatable(cluster.disks.names().len(), 1)
    };
    until("the devgate of the first group", 60, || is_of("one"))?;
    cluster.delete_pods()?;
    cluster.run_pod("stays", 2)?;
    let held = cluster.has_exactly("stays", 2)?;
    cluster.kubectl(&["label", "--overwrite", "node", "node1", "example.com/kind=two"])?;
    until("the devgate of the second group", 60, || is_of("two"))?;
    cluster.run_pod("comes", 1)?;
    ensure!(cluster.has_exactly("stays", 2)? == held && cluster.restarts("stays")? == 0, "the pod had {held:?}");
    ensure!(cluster.has_exactly("comes", 1)?.is_disjoint(&held), "a disk of {held:?} was given");
    cluster.kubectl(&["label", "node", "node1", "example.com/kind-"])?;
    cluster.uninstall()
}
