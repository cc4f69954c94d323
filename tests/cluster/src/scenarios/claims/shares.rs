//! What the scheduler counts: claims that share a disk, and a whole that is not given beside its parts.

use super::objects::{self, request, template, those};
use super::slices::{devices, published};
use super::{DRIVER, pods, tidily};
use crate::cluster::Cluster;
use crate::devgate::DISK;
use crate::wait::{stays, timed};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

const PART: &str = "example.com/part";
const SHARES: usize = 3;

pub(in super::super) fn play(cluster: &mut Cluster) -> Result<()> {
    tidily(cluster, |cluster| {
        let one = &cluster.disks.names()[..1];
        let dra = format!("dra: {{driver: {DRIVER}, shares: {SHARES}, capacity: {{queues: \"8\"}}}}");
        cluster.install_with_agent(&cluster.policy_of(&[("disks", DISK, one, &dra)])?)?;
        cluster.devgate_is_ready(60)?;
        published(cluster, DRIVER, 1, 60)?;
        let class = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
            "metadata": {"name": "any"},
            "spec": {"selectors": those(&format!("device.driver == '{DRIVER}'"))},
        });
        let of = |name: &str, resource: &str| {
            let selectors = those(&format!("device.attributes['devgate.dev'].resource == '{resource}'"));
            template(name, &[request("disk", "any", json!({"selectors": selectors}))])
        };
        objects::apply(cluster, &[class, of("whole", DISK), of("part", PART)])?;
        shares(cluster)?;
        parts(cluster)
    })
}

/// As many pods have it as the policy says, and the next waits for one of them.
fn shares(cluster: &mut Cluster) -> Result<()> {
    let names: Vec<_> = (0..=SHARES).map(|n| format!("share-{n}")).collect();
    let (_, seconds) = timed(|| names[..SHARES].iter().try_for_each(|name| pods::run(cluster, name, "whole")))?;
    for name in &names[..SHARES] {
        let has = cluster.opens(name, "main", 1)?;
        ensure!(has.contains(&cluster.disks.names()[0]), "{name} has {has:?}");
    }
    waits(cluster, &names[SHARES], "whole")?;
    cluster.delete_pod(&names[0])?;
    cluster.runs(&names[SHARES], 60)?;
    cluster.opens(&names[1], "main", 1)?;
    names[1..].iter().try_for_each(|name| cluster.delete_pod(name))?;
    cluster.note(format!("claims-shares: {SHARES} pods share a disk after {seconds:.1} s, one after the other"));
    Ok(())
}

/// A disk that two units have besides one of their own is had by both, or by the unit that has it alone.
fn parts(cluster: &mut Cluster) -> Result<()> {
    let [disk, own, other, ..] = cluster.disks.names() else { return Ok(()) };
    let (disk, own, other) = (disk.clone(), own.clone(), other.clone());
    let used = &cluster.disks.names()[..3];
    let dra = format!(
        "dra: {{driver: {DRIVER}}}
    partitions: {{own: [/dev/{own}, /dev/{other}], common: /dev/{disk}}}"
    );
    let text = cluster.policy_of(&[("disks", DISK, used, &dra)])?;
    let config = text.lines().find(|line| line.trim_start().starts_with("config:")).context("a config")?;
    let unit = |resource: &str, id: &str, of: &[&str]| {
        let members: Vec<_> = of.iter().map(|name| format!("{{subsystem: block, name: {name}}}")).collect();
        format!("{{resource: {resource}, id: {id}, group: [{}]}}", members.join(", "))
    };
    let units = [unit(DISK, "whole", &[&disk]), unit(PART, "one", &[&disk, &own]), unit(PART, "two", &[&disk, &other])];
    let text = text.replace(config, &format!("    config: {{devices: [{}]}}", units.join(", ")));
    let text = text.replace(&format!("resources: [{DISK}]"), &format!("resources: [{DISK}, {PART}]"));
    cluster.change_with_agent(&text)?;
    published(cluster, DRIVER, 3, 120)?;
    let (_, seconds) = timed(|| ["part-1", "part-2"].iter().try_for_each(|name| pods::run(cluster, name, "part")))?;
    for name in ["part-1", "part-2"] {
        let has = cluster.opens(name, "main", 2)?;
        ensure!(has.contains(&disk), "{name} has {has:?}");
    }
    waits(cluster, "whole", "whole")?;
    // The counters say it, and nothing is wrong with any.
    let all = devices(cluster, DRIVER)?;
    let counted = |device: &Value| device["consumesCounters"].is_array() && device["taints"].is_null();
    ensure!(all.len() == 3 && all.iter().all(counted), "{all:?}");
    cluster.in_devgate(&["status"]).context("while a part of a whole is given")?;
    cluster.delete_pod("part-1")?;
    still_waits(cluster, "whole", 3)?;
    cluster.delete_pod("part-2")?;
    let (_, whole) = timed(|| cluster.runs("whole", 60))?;
    let has = cluster.opens("whole", "main", 1)?;
    ensure!(has.contains(&disk), "it has {has:?}");
    waits(cluster, "part-3", "part")?;
    cluster.delete_pod("whole")?;
    cluster.runs("part-3", 60)?;
    cluster.note(format!(
        "claims-shares: two parts run after {seconds:.1} s, and the whole {whole:.1} s after both are gone"
    ));
    cluster.delete_pod("part-3")
}

/// A pod for which nothing is left.
fn waits(cluster: &Cluster, name: &str, of: &str) -> Result<()> {
    cluster.apply(&pods::pod(name, &pods::own(of), &[("main", None)]).to_string())?;
    still_waits(cluster, name, 5)
}

fn still_waits(cluster: &Cluster, name: &str, seconds: u64) -> Result<()> {
    stays(seconds, || {
        let pod = cluster.pod(name)?;
        ensure!(pod["status"]["phase"] == "Pending", "{name} has what others have: {}", pod["status"]);
        Ok(())
    })
}
