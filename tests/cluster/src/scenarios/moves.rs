//! A node goes from a device plugin of another project to devgate and back, while pods have its devices: the admin changes a label that
//! both DaemonSets go by. The other one is written in Go, and knows nothing of devgate.

use super::take_over::{admit, lacks};
use crate::archive;
use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::part::Signal;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The label of nodes that devgate serves.
const LABEL: &str = "example.com/devgate";
const IMAGE: &str = "registry.example.com/disks-in-go:1";

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    bring_other_plugin(cluster)?;
    // What an earlier scenario had is not the other plugin's.
    cluster.counts_no_disk(60)?;
    let moved = moves(cluster);
    // Whatever became of it, the scenarios that follow have the node for themselves.
    let _may_be_gone = cluster.kubectl(&["label", "node", "node1", &format!("{LABEL}-")]);
    moved?;
    cluster.delete_pods()?;
    cluster.uninstall()
}

/// Builds it, and gives the node its image.
fn bring_other_plugin(cluster: &Cluster) -> Result<()> {
    let program = cluster.go_build("plugin-in-go", "disks-in-go", &[("CGO_ENABLED", "0")], &[])?;
    let image = program.with_extension("tar");
    archive::write(&image, IMAGE, &[("disks", program.as_path())], &["/disks"])?;
    cluster.load(&image)
}

/// As projects install theirs, for all nodes.
fn other_plugin(cluster: &Cluster, ids: &str) -> Value {
    let args = [&[format!("-resource={DISK}"), format!("-ids={ids}")], cluster.disks.names()].concat();
    let socket = "/var/lib/kubelet/device-plugins";
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "other", "labels": {"scenario": "yes"}},
        "spec": {
            "selector": {"matchLabels": {"app": "other"}},
            "template": {
                "metadata": {"labels": {"app": "other"}},
                "spec": {
                    "tolerations": [{"operator": "Exists"}], "priorityClassName": "system-node-critical",
                    "containers": [{
                        "name": "main", "image": IMAGE, "imagePullPolicy": "Never",
                        "args": args,
                        "volumeMounts": [{"name": "socket", "mountPath": socket}],
                    }],
                    "volumes": [{"name": "socket", "hostPath": {"path": socket}}],
                },
            },
        },
    })
}

/// Installs it, and has it leave out nodes with the label, as docs/install.md says.
fn install_other(cluster: &Cluster, ids: &str) -> Result<()> {
    cluster.apply(&other_plugin(cluster, ids).to_string())?;
    let page = std::fs::read_to_string(cluster.given.root.join("docs/install.md")).context("read docs/install.md")?;
    let patch = page.split_once("\n```yaml\n# leave-out.yaml\n").and_then(|(_, rest)| rest.split_once("\n```"));
    let (patch, _) = patch.context("docs/install.md has no leave-out.yaml")?;
    cluster.kubectl(&["patch", "daemonset", "other", "--type=merge", "--patch", patch]).map(drop)
}

fn moves(cluster: &mut Cluster) -> Result<()> {
    let all = cluster.disks.names().len();
    install_other(cluster, "")?;
    cluster.install_on(LABEL)?;
    cluster.allocatable(all, 60)?;
    ensure!(cluster.devgate().is_err(), "devgate is on a node that has not its label");
    cluster.run_pod("one", 1)?;
    cluster.run_pod("two", 2)?;
    let held = [("one", cluster.has_exactly("one", 1)?), ("two", cluster.has_exactly("two", 2)?)];

    let there = change(cluster, &format!("{LABEL}=true"), |cluster| {
        cluster.ready()?;
        others(cluster, 0)
    })?;
    keep(cluster, &held, 0)?;
    let given = fill(cluster, "of-devgate", all - 3)?;
    ensure!(held.iter().all(|(_, had)| had.is_disjoint(&given)), "{held:?} are held, and {given:?} were given");
    // What the kubelet starts again has what the other plugin answered.
    cluster.kill_container("one")?;
    until("a container to start again", 60, || {
        ensure!(cluster.restarts("one")? == 1, "it was not");
        cluster.runs("one", 1)
    })?;
    cluster.restart_kubelet(Signal::Term)?;
    cluster.allocatable(all, 60)?;
    keep(cluster, &held, 1)?;
    cluster.delete_pod("two")?;
    cluster.run_pod("rest", all - 1)?;
    let rest = cluster.has_exactly("rest", all - 1)?;
    ensure!(rest.is_disjoint(&held[0].1), "{:?} is held, and {rest:?} were given", held[0].1);
    cluster.delete_pod("rest")?;
    cluster.run_pod("next", 2)?;
    let next = cluster.has_exactly("next", 2)?;
    // Of the pods that came and went, some time after they have.
    until("the metric to tell of what is handed out", 90, || {
        let held = cluster.metric("devgate_devices_held", &[DISK])?;
        ensure!((held - 3.0).abs() < 0.5, "pods have 3 disks, and the metric says {held}");
        Ok(())
    })?;

    let back = change(cluster, &format!("{LABEL}-"), |cluster| {
        ensure!(cluster.devgate_pods()?.is_empty(), "devgate's pod is there");
        others(cluster, 1)
    })?;
    keep(cluster, &held[..1], 1)?;
    ensure!(cluster.has_exactly("next", 2)? == next && cluster.restarts("next")? == 0, "next had {next:?}");
    cluster.note(format!("move: to devgate {there}; back {back}"));
    other_ids(cluster)
}

/// Once more, from a plugin that has ids of its own, to a devgate that remembers what it gave before: what is behind the ids it finds in the
/// kubelet's records.
fn other_ids(cluster: &mut Cluster) -> Result<()> {
    let all = cluster.disks.names().len();
    cluster.delete_pods()?;
    install_other(cluster, "own-")?;
    until("the other plugin alone", 60, || {
        others(cluster, 1)?;
        ensure!(cluster.allocatable_disks()? == all, "the kubelet has fewer");
        Ok(())
    })?;
    cluster.run_pod("foreign", 2)?;
    let foreign = nodes(cluster, "foreign")?;
    cluster.kubectl(&["label", "node", "node1", &format!("{LABEL}=true")])?;
    cluster.devgate_is_ready(60)?;
    cluster.allocatable(all - 2, 60)?;
    // The scheduler counts the pod once more, over what is left.
    let given = fill(cluster, "beside", all - 4)?;
    ensure!(foreign.len() == 2 && foreign.is_disjoint(&given), "{foreign:?} are held, and {given:?} were given");
    ensure!(nodes(cluster, "foreign")? == foreign && cluster.restarts("foreign")? == 0, "it had {foreign:?}");
    cluster.delete_pod("foreign")?;
    let (_, seconds) = timed(|| cluster.allocatable(all, 120))?;
    cluster.note(format!("move: what was given under other ids was free {seconds:.1} s after its pod was gone"));
    cluster.run_pod("all", all)?;
    cluster.has_exactly("all", all).map(drop)
}

/// The disks whose nodes a pod has.
fn nodes(cluster: &Cluster, pod: &str) -> Result<BTreeSet<String>> {
    let said = cluster.in_pod(pod, "cd /dev; busybox ls -d loop*")?;
    Ok(said.lines().map(str::to_owned).collect())
}

/// Pods keep what they have.
fn keep(cluster: &Cluster, held: &[(&str, BTreeSet<String>)], restarts_of_one: u64) -> Result<()> {
    for (name, had) in held {
        let has = cluster.has_exactly(name, had.len())?;
        ensure!(has == *had, "{name} had {had:?}, and has {has:?}");
        let expected = if *name == "one" { restarts_of_one } else { 0 };
        ensure!(cluster.restarts(name)? == expected, "{name} was started again");
    }
    Ok(())
}

/// Pods with one disk each, until nothing is left.
fn fill(cluster: &Cluster, name: &str, disks: usize) -> Result<BTreeSet<String>> {
    let mut given = BTreeSet::new();
    for number in 0..disks {
        let name = format!("{name}-{number}");
        cluster.run_pod(&name, 1)?;
        given.append(&mut cluster.has_exactly(&name, 1)?);
    }
    for number in 0..disks {
        cluster.delete_pod(&format!("{name}-{number}"))?;
    }
    ensure!(given.len() == disks, "{disks} pods have {given:?}");
    Ok(given)
}

/// So many pods of the other plugin are there, none of which ends.
fn others(cluster: &Cluster, expected: usize) -> Result<()> {
    let pods = cluster.list("/api/v1/namespaces/default/pods?labelSelector=app%3Dother")?;
    let serve = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_null() && pod["status"]["phase"] == "Running";
    ensure!(pods.len() == expected && pods.iter().all(serve), "{} pods of the other plugin", pods.len());
    Ok(())
}

/// Changes the node's label while pods come, until the other one serves all.
fn change(cluster: &Cluster, label: &str, serves: impl Fn(&Cluster) -> Result<()>) -> Result<String> {
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let (lacked, came) = std::thread::scope(|scope| {
        let coming = scope.spawn(|| admit(cluster, &stop));
        let lacked = cluster
            .kubectl(&["label", "node", "node1", label])
            .and_then(|_| lacks(cluster, || Ok(serves(cluster).is_ok())))
            .map(|lacked| (lacked, begun.elapsed()));
        stop.store(true, Ordering::SeqCst);
        (lacked, coming.join())
    });
    let ((lacked, took), Ok(came)) = (lacked?, came) else {
        bail!("the thread that makes pods panicked");
    };
    let (admitted, refused) = came?;
    Ok(format!(
        "{:.1} s until done, of which the kubelet had no devices for {} ms; {admitted} pods were admitted meanwhile, {refused} refused",
        took.as_secs_f64(),
        lacked.as_millis()
    ))
}
