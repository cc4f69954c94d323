//! Admin access: a look at a device that another pod has, where policy and namespace allow it.

use super::objects::{self, request, template, those};
use super::two::OTHER;
use super::{CLASS, pods};
use crate::cluster::Cluster;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

/// What says that claims of a namespace may ask for it.
const LABEL: &str = "resource.kubernetes.io/admin-access";

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    cluster.kubectl(&["label", "namespace", "default", &format!("{LABEL}=true")])?;
    let played = looks(cluster);
    cluster.kubectl(&["label", "namespace", "default", &format!("{LABEL}-")])?;
    played
}

fn looks(cluster: &mut Cluster) -> Result<()> {
    objects::apply(cluster, &[template("has", &[request("disk", OTHER, json!({}))])])?;
    pods::run(cluster, "has", "has")?;
    let held = cluster.opens("has", "main", 1)?;
    let disk = held.first().context("a disk")?;
    let this = those(&format!("device.attributes[\"devgate.dev\"].id == \"{disk}\""));
    objects::apply(
        cluster,
        &[
            template("looks", &[request("disk", OTHER, json!({"adminAccess": true, "selectors": this}))]),
            template("wants", &[request("disk", OTHER, json!({"selectors": this}))]),
            template("may-not", &[request("disk", CLASS, json!({"adminAccess": true}))]),
        ],
    )?;
    // The first plugin's policy says nothing of it, which is no.
    for name in ["may-not", "wants"] {
        cluster.apply(&pods::pod(name, &pods::own(name), &[("main", None)]).to_string())?;
    }
    let (_, took) = timed(|| pods::run(cluster, "looks", "looks"))?;
    ensure!(cluster.opens("looks", "main", 1)? == held, "it asks for {disk} alone");
    let (_, told) = timed(|| {
        until("the refusal in the pod's events", 60, || {
            let words = ["get", "events", "--field-selector", "involvedObject.name=may-not", "-o"];
            let events = cluster.kubectl(&[&words[..], &["jsonpath={.items[*].message}"]].concat())?;
            ensure!(events.contains("the policy refuses (dra.admin-access)"), "{events}");
            Ok(())
        })
    })?;
    ensure!(cluster.pod("may-not")?["status"]["phase"] == "Pending", "it was refused, and runs");
    ["may-not", "looks"].iter().try_for_each(|name| cluster.delete_pod(name))?;
    let has = cluster.opens("has", "main", 1)?;
    ensure!(has == held && cluster.restarts("has")? == 0, "it had {held:?}, and has {has:?}");
    if cluster.pod("wants")?["status"]["phase"] != "Pending" {
        bail!("{disk} is a pod's, and was given to another when one that looked at it had ended");
    }
    cluster.delete_pod("has")?;
    cluster.runs("wants", 60)?;
    ensure!(cluster.opens("wants", "main", 1)? == held, "it asks for {disk} alone");
    cluster.note(format!(
        "claims-two: a pod with admin access runs after {took:.1} s; a refusal is in the events {told:.1} s later"
    ));
    cluster.delete_pod("wants")
}
