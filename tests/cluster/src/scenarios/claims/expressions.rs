//! Claims by expressions over what the policy publishes, and what becomes of those that nothing satisfies.

use super::objects::{self, request, template, those};
use super::{CLASS, pods};
use crate::cluster::Cluster;
use crate::wait::{timed, until};
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    let disk = cluster.disks.names().get(2).context("three disks")?.clone();
    let named = |name: &str| those(&format!("device.attributes[\"disk.example.com\"].name == \"{name}\""));
    let one = |name: &str, selectors| template(name, &[request("disk", CLASS, json!({"selectors": selectors}))]);
    // The same as first choice and as second one.
    let choice = |name, of| json!({"name": name, "deviceClassName": CLASS, "selectors": named(of)});
    let choices = json!({"name": "disk", "firstAvailable": [choice("nowhere", "none"), choice("there", &disk)]});
    objects::apply(
        cluster,
        &[
            one("named", named(&disk)),
            one("unmet", named("none")),
            one("lacking", those("device.attributes[\"disk.example.com\"].model == \"a\"")),
            template("chosen", &[choices]),
        ],
    )?;
    for name in ["unmet", "lacking"] {
        cluster.apply(&pods::pod(name, &pods::own(name), &[("main", None)]).to_string())?;
    }
    let mut took = Vec::new();
    for name in ["named", "chosen"] {
        let (_, seconds) = timed(|| pods::run(cluster, name, name))?;
        let has = cluster.opens(name, "main", 1)?;
        ensure!(has.contains(&disk), "{disk} alone satisfies the claim, and {has:?} was given");
        cluster.delete_pod(name)?;
        took.push(seconds);
    }
    for (name, says) in [("unmet", "cannot allocate all claims"), ("lacking", "no such key: model")] {
        until(&format!("the reason why {name} waits"), 30, || {
            let pod = cluster.pod(name)?;
            let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let scheduled = conditions.into_iter().find(|is| is["type"] == "PodScheduled").unwrap_or_default();
            match scheduled["message"].as_str() {
                Some(why) if why.contains(says) && scheduled["status"] == "False" => Ok(()),
                _ => bail!("{}", pod["status"]),
            }
        })?;
        cluster.delete_pod(name)?;
    }
    cluster.note(format!(
        "claims-two: pods by an expression run after {:.1} s, by a second choice {:.1} s",
        took[0], took[1]
    ));
    Ok(())
}
