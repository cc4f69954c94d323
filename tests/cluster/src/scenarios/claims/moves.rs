//! A node goes from the device plugin to claims and back, while pods of both kinds come and go: no disk is in two containers at any time.
//! Pods that come just then may be refused or wait for what is not there any more, and are counted.

use super::objects::{self, request, template};
use super::slices::published;
use super::{CLASS, DRIVER, pods, tidily};
use crate::cluster::Cluster;
use crate::scenarios::load::{Load, take};
use crate::wait::{timed, until};
use anyhow::{Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long pods come and go before and after each change.
const BETWEEN: Duration = Duration::from_secs(4);

/// Pods whose text is the same before and after: the kubelet counts for them, or the scheduler makes their claim.
fn unchanged(name: &str, number: usize) -> Value {
    Cluster::manifest(name, 1 + number % 2)
}

/// Pods with a claim of their own, which wait while the kubelet counts.
fn with_claim(name: &str, _: usize) -> Value {
    pods::pod(name, &pods::own("one"), &[("main", None)])
}

pub(in super::super) fn play(cluster: &mut Cluster) -> Result<()> {
    tidily(cluster, |cluster| {
        cluster.counts_no_disk(60)?;
        cluster.install_with_agent(&cluster.policy()?)?;
        cluster.devgate_is_ready(60)?;
        cluster.allocatable(cluster.disks.names().len(), 60)?;
        objects::classes(cluster, &cluster.claims_policy()?)?;
        objects::apply(cluster, &[template("one", &[request("disk", CLASS, json!({}))])])?;
        let watch = cluster.watch_runtime()?;
        let loads = Mutex::new([Load::new("unchanged", 5, unchanged), Load::new("claiming", 3, with_claim)]);
        let stop = AtomicBool::new(false);
        let told = std::thread::scope(|scope| {
            let coming = scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let mut loads = loads.lock().unwrap_or_else(PoisonError::into_inner);
                    loads.iter_mut().try_for_each(|load| load.round(cluster))?;
                    drop(loads);
                    std::thread::sleep(Duration::from_millis(300));
                }
                Ok(())
            });
            let told = changes(cluster, &loads, &|| watch.began());
            stop.store(true, Ordering::SeqCst);
            coming.join().map_err(|_| anyhow!("the thread that makes pods panicked")).flatten().and(told)
        })?;
        let mut loads = loads.into_inner().unwrap_or_else(PoisonError::into_inner);
        // One that was seen as nothing was free may wait for minutes until its scheduler looks at it again.
        let unseen: usize = loads.iter().map(|load| load.give_up(cluster)).sum::<Result<_>>()?;
        until("every pod that has a node to end", 90, || loads.iter_mut().try_for_each(|load| load.empty(cluster)))?;
        let seen = watch.end();
        seen.shows(10)?;
        let [unchanged, claiming] = &loads;
        cluster.note(format!(
            "claims-move: {} pods that count and {} with claims, {} containers with disks, {} refused, {unseen} \
             without a node in the end; {}; no disk in two containers",
            unchanged.made,
            claiming.made,
            seen.began,
            unchanged.refused + claiming.refused,
            told.join("; ")
        ));
        Ok(())
    })
}

fn changes(cluster: &Cluster, loads: &Mutex<[Load; 2]>, began: &dyn Fn() -> usize) -> Result<Vec<String>> {
    let all = cluster.disks.names().len();
    let mut told = Vec::new();
    for (to, policy) in [("claims", cluster.claims_policy()?), ("counting", cluster.policy()?)] {
        std::thread::sleep(BETWEEN);
        let before = began();
        cluster.change_with_agent(&policy)?;
        let (_, seconds) = timed(|| match to {
            "claims" => published(cluster, DRIVER, all, 90).and_then(|()| cluster.allocatable(0, 60)),
            _ => forced(cluster).and_then(|()| cluster.allocatable(all, 60)),
        })?;
        let (switched, waits) = (began(), waiting(cluster, loads)?);
        std::thread::sleep(BETWEEN);
        let after = until("pods after the change", 60, || {
            let after = began() - switched;
            ensure!(after > 0, "no container with a disk began");
            Ok(after)
        })?;
        let still = waiting(cluster, loads)?;
        let stuck: Vec<_> = waits.intersection(&still).map(String::as_str).collect();
        take(cluster, &stuck)?;
        until("the end of pods that waited for nothing", 60, || {
            let left = waiting(cluster, loads)?;
            let left: Vec<_> = stuck.iter().filter(|name| left.contains(**name)).collect();
            if !left.is_empty() {
                bail!("{left:?} are there");
            }
            Ok(())
        })?;
        told.push(format!(
            "to {to} in {seconds:.1} s, {} containers with disks began meanwhile and {after} in the {} s after, {} pods waited in vain",
            switched - before,
            BETWEEN.as_secs(),
            stuck.len()
        ));
    }
    Ok(told)
}

/// Pods with claims are always there, for which devgate would wait: an admin says that it need not.
fn forced(cluster: &Cluster) -> Result<()> {
    // One whose plugins were too slow for their deadline, beside all these pods, is tried again after a minute.
    let is_refused = until("devgate to see the policy", 150, || match cluster.in_devgate(&["status"]) {
        Err(status) if format!("{status:#}").contains("its pods could not end without it") => Ok(true),
        Ok(status) if !status.contains(DRIVER) => Ok(false),
        other => bail!("{other:?}"),
    })?;
    match is_refused {
        // It may be too slow again.
        true => until("the policy to be forced", 60, || cluster.in_devgate(&["reload", "--force"])).map(drop),
        false => Ok(()),
    }
}

/// The pods that were given to the node and do not run.
fn waiting(cluster: &Cluster, loads: &Mutex<[Load; 2]>) -> Result<BTreeSet<String>> {
    let loads = loads.lock().unwrap_or_else(PoisonError::into_inner);
    let mut names = BTreeSet::new();
    for load in loads.iter() {
        let pods = load.pods(cluster)?;
        let waits =
            pods.iter().filter(|pod| pod["status"]["phase"] == "Pending" && pod["spec"]["nodeName"].is_string());
        names.extend(waits.filter_map(|pod| pod["metadata"]["name"].as_str().map(str::to_owned)));
    }
    Ok(names)
}
