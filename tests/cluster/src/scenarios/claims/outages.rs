//! What is around a driver goes: the API server, the whole node, the driver itself.

use super::objects::{self, claim, request, template};
use super::slices::published;
use super::{CLASS, DRIVER, away, boot, pods, removal, tidily, writes};
use crate::cluster::Cluster;
use crate::devgate::DISK;
use anyhow::Result;
use serde_json::json;

/// How often each disk is offered, so that there are as many devices as a big node has.
const REPLICAS: usize = 11;

pub(in super::super) fn play(cluster: &mut Cluster) -> Result<()> {
    tidily(cluster, |cluster| {
        let more = format!("replicas: {REPLICAS}\n    dra: {{driver: {DRIVER}}}");
        let policy = cluster.policy_of(&[("disks", DISK, cluster.disks.names(), &more)])?;
        let devices = cluster.disks.names().len() * REPLICAS;
        cluster.install_with_agent(&policy)?;
        cluster.devgate_is_ready(60)?;
        objects::classes(cluster, &policy)?;
        objects::apply(cluster, &[template("one", &[request("disk", CLASS, json!({}))])])?;
        published(cluster, DRIVER, devices, 60)?;
        pods::run(cluster, "stays", "one")?;
        // One claim of two pods.
        objects::apply(cluster, &[claim("shared", &[request("disk", CLASS, json!({}))])])?;
        for name in ["shares", "shares-too"] {
            let shared = json!({"name": "disks", "resourceClaimName": "shared"});
            cluster.apply(&pods::pod(name, &shared, &[("main", None)]).to_string())?;
            cluster.runs(name, 60)?;
        }
        if cluster.given.long {
            writes::play(cluster, devices)?;
        }
        away::play(cluster, devices)?;
        boot::play(cluster, devices)?;
        removal::play(cluster, &policy)
    })
}
