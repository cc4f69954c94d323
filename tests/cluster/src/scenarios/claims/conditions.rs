//! What a component finds of disks that work, and what claims say for their driver.

use super::objects::{self, request, template, those};
use super::slices::{devices, published};
use super::{DRIVER, pods, tidily};
use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::process::read;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::process::Command;

const KEY: &str = "read-only";

pub(in super::super) fn play(cluster: &mut Cluster) -> Result<()> {
    let disks = cluster.disks.names()[..2].to_vec();
    let played = tidily(cluster, |cluster| {
        cluster.install_with_agent(&policy(cluster)?)?;
        cluster.devgate_is_ready(60)?;
        published(cluster, DRIVER, 2, 60)?;
        let class = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
            "metadata": {"name": "any"},
            "spec": {"selectors": those(&format!("device.driver == '{DRIVER}'"))},
        });
        let tolerates = json!({"tolerations": [{"key": format!("{DRIVER}/{KEY}"), "operator": "Exists"}]});
        let any = |name: &str, more: Value| template(name, &[request("disk", "any", more)]);
        let templates = [any("any", json!({})), any("tolerates", tolerates), says("fast"), says("sideways")];
        objects::apply(cluster, &[class])?;
        objects::apply(cluster, &templates)?;
        parameters(cluster)?;
        conditions(cluster)
    });
    for disk in &disks {
        is_read_only(disk, false)?;
    }
    played
}

fn policy(cluster: &Cluster) -> Result<String> {
    let dra = format!(
        "dra: {{driver: {DRIVER}, parameters: component, conditions: {{{KEY}: NoSchedule, whole: None}}}}
    containers: {{env: {{MODE: [slow, fast]}}}}"
    );
    let text = cluster.policy_of(&[("disks", DISK, &cluster.disks.names()[..2], &dra)])?;
    let more = "name: \"loop*\", choices: {MODE: [slow, fast]}, conditions: {read-only: {attribute: ro, is: \"1\"}, \
                whole: {attribute: partscan, is: \"*\"}}";
    Ok(text.replace("name: \"loop*\"", more))
}

/// A template whose claims say this for the driver.
fn says(mode: &str) -> Value {
    let mut template = template(mode, &[request("disk", "any", json!({}))]);
    template["spec"]["spec"]["devices"]["config"] =
        json!([{"opaque": {"driver": DRIVER, "parameters": {"MODE": mode}}}]);
    template
}

/// A claim's word is in its container, and one that the component does not know keeps the pod from starting.
fn parameters(cluster: &mut Cluster) -> Result<()> {
    let (_, seconds) = timed(|| pods::run(cluster, "fast", "fast"))?;
    let mode = cluster.in_pod("fast", "echo $MODE")?;
    ensure!(mode.trim() == "fast", "its container has MODE={mode}");
    cluster.apply(&pods::pod("sideways", &pods::own("sideways"), &[("main", None)]).to_string())?;
    until("the pod with a word that is not known to be told so", 60, || {
        let events = cluster.kubectl(&["get", "events", "--field-selector", "involvedObject.name=sideways"])?;
        ensure!(events.contains("claim MODE: must be one of slow, fast"), "{events}");
        Ok(())
    })?;
    cluster.delete_pod("sideways")?;
    cluster.delete_pod("fast")?;
    cluster.note(format!("claims-conditions: a pod whose claim has parameters runs after {seconds:.1} s"));
    Ok(())
}

/// A disk that is read-only is for claims that tolerate it, and no one else is told anything but of its pod's health.
fn conditions(cluster: &mut Cluster) -> Result<()> {
    let [worn, good, ..] = cluster.disks.names() else { bail!("there are too few disks") };
    let (worn, good) = (worn.clone(), good.clone());
    is_read_only(&worn, true)?;
    let (_, tainted) = timed(|| has_taint(cluster, &worn, true))?;
    let status = cluster.in_devgate(&["status"])?;
    ensure!(status.contains("read-only (NoSchedule): ro of loop") && status.contains("whole: partscan"), "{status}");
    pods::run(cluster, "first", "any")?;
    ensure!(cluster.opens("first", "main", 1)?.contains(&good), "it has the disk that is tainted");
    cluster.apply(&pods::pod("second", &pods::own("any"), &[("main", None)]).to_string())?;
    std::thread::sleep(std::time::Duration::from_secs(5));
    ensure!(cluster.pod("second")?["status"]["phase"] == "Pending", "a pod has the disk that is tainted");
    pods::run(cluster, "tolerant", "tolerates")?;
    ensure!(cluster.opens("tolerant", "main", 1)?.contains(&worn), "who tolerates it has another");
    let health = cluster.health("tolerant")?;
    ensure!(health.iter().any(|(_, is)| is == "Healthy"), "{health:?}");
    cluster.delete_pod("tolerant")?;
    is_read_only(&worn, false)?;
    let (_, untainted) = timed(|| has_taint(cluster, &worn, false))?;
    cluster.runs("second", 60)?;
    cluster.note(format!(
        "claims-conditions: a disk that works is tainted {tainted:.1} s after it was made read-only, and {untainted:.1} s later not any more"
    ));
    Ok(())
}

fn is_read_only(disk: &str, wanted: bool) -> Result<()> {
    let way = if wanted { "--setro" } else { "--setrw" };
    read(Command::new("blockdev").args([way, &format!("/dev/{disk}")])).map(drop)
}

fn has_taint(cluster: &Cluster, disk: &str, wanted: bool) -> Result<()> {
    until(&format!("{disk} to have its condition: {wanted}"), 60, || {
        let all = devices(cluster, DRIVER)?;
        let device = all.iter().find(|device| device["name"] == disk).context("it is in no slice")?;
        let taints = device["taints"].as_array().cloned().unwrap_or_default();
        let keys: Vec<_> = taints.iter().map(|taint| taint["key"].as_str().unwrap_or_default()).collect();
        let expected = if wanted { vec![format!("{DRIVER}/{KEY}")] } else { Vec::new() };
        ensure!(keys == expected, "{device}");
        Ok(())
    })
}
