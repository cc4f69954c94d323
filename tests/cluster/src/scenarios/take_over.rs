//! A rollout by the chart's strategy: the next pod starts beside the last one, which hands over. The kubelet misses the devices for a moment,
//! and what is broken comes to no second node.

use crate::cluster::Cluster;
use crate::wait::until;
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a rollout may take.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Between two questions to the kubelet, which answers a hundred of them a second.
const LOOK: Duration = Duration::from_millis(10);

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    if cluster.given.before.is_some() {
        cluster.note("take-over: not played with a version before, which may not know how");
        return Ok(());
    }
    cluster.run_pod("holder", 2)?;
    let mut notes = Vec::new();
    let image = cluster.bring_other_image()?;
    let to = format!("devgate={image}");
    let stop = AtomicBool::new(false);
    let (rolled, admitted) = std::thread::scope(|scope| {
        let admitting = scope.spawn(|| admit(cluster, &stop));
        let rolled = (|| {
            roll(cluster, "the same anew", &["rollout", "restart", "daemonset/devgate"], &mut notes)?;
            roll(cluster, "another image", &["set", "image", "daemonset/devgate", &to], &mut notes)?;
            roll(cluster, "back", &["rollout", "undo", "daemonset/devgate"], &mut notes)
        })();
        stop.store(true, Ordering::SeqCst);
        (rolled, admitting.join().map_err(|_| anyhow!("the thread that admits pods panicked")))
    });
    rolled?;
    let (admitted, refused) = admitted??;
    cluster.note(format!(
        "take-over, how long the kubelet had fewer devices (asked every 20 ms or so): {}; {admitted} pods were admitted meanwhile, \
         {refused} refused",
        notes.join(", ")
    ));
    // At random: a pod a second or so, and less than half a second without devices at each of three rollouts.
    ensure!(refused < 3 && refused * 4 < admitted, "{refused} pods were refused, {admitted} admitted");
    let old = cluster.devgate_name()?;
    let broken = [
        ("that dies at load", "--policy=/nowhere", None),
        ("that finds no kubelet", "--kubelet-dir=/nowhere", None),
        ("that dies at its first list", "--log=info,first=info", Some(Duration::ZERO)),
        ("that dies 5 s after", "--log=info,after=info", Some(Duration::from_secs(5))),
    ];
    let mut lacked = Vec::new();
    for (what, arg, dies) in broken {
        let seconds = breaks(cluster, &old, arg, dies).with_context(|| format!("a version {what}"))?.as_secs_f64();
        lacked.push(format!("{what} {seconds:.1} s"));
    }
    cluster.note(format!("take-over by a version, how long until all devices were there again: {}", lacked.join(", ")));
    policies(cluster)?;
    keeps_what_it_has(cluster)?;
    cluster.run_pod("after", 1)?;
    let has = cluster.has_exactly("after", 1)?;
    ensure!(has.is_disjoint(&cluster.has_exactly("holder", 2)?), "a disk of the holder was given");
    Ok(())
}

/// Makes pods with a disk one after the other, and says how many of them ran, and how many came just while the kubelet had none for them.
pub(super) fn admit(cluster: &Cluster, stop: &AtomicBool) -> Result<(usize, usize)> {
    let (mut admitted, mut refused) = (0, 0);
    while !stop.load(Ordering::SeqCst) {
        let name = format!("admitted-{}", admitted + refused);
        match cluster.run_pod(&name, 1) {
            Ok(()) => admitted += 1,
            Err(error) if error.to_string().contains("no healthy devices present") => refused += 1,
            Err(error) => return Err(error),
        }
        cluster.delete_pod(&name)?;
    }
    Ok((admitted, refused))
}

fn keeps_what_it_has(cluster: &Cluster) -> Result<()> {
    cluster.has_exactly("holder", 2)?;
    ensure!(cluster.restarts("holder")? == 0, "the holder was started again");
    Ok(())
}

/// Waits until the last pod counts as available. Its controller looks once, when that was ready for long enough, and not again for a pod
/// that became ready meanwhile.
fn settle(cluster: &Cluster) -> Result<()> {
    until("a pod that is available", 30, || {
        let set = cluster.get("/apis/apps/v1/namespaces/devgate/daemonsets/devgate")?;
        let available = &set["status"]["numberAvailable"];
        ensure!(*available == 1 && set["status"]["updatedNumberScheduled"] == 1, "{}", set["status"]);
        Ok(())
    })?;
    std::thread::sleep(Duration::from_secs(2));
    Ok(())
}

/// Changes the DaemonSet, and waits until another pod is there alone.
fn roll(cluster: &Cluster, what: &str, change: &[&str], notes: &mut Vec<String>) -> Result<()> {
    settle(cluster)?;
    let old = cluster.devgate_name()?;
    cluster.kubectl(&[&["-n", "devgate"], change].concat())?;
    let gap = lacks(cluster, || Ok(names(cluster)?.iter().all(|name| *name != old)))?;
    cluster.devgate_is_ready(30)?;
    keeps_what_it_has(cluster)?;
    notes.push(format!("{what} {} ms", gap.as_millis()));
    Ok(())
}

/// How long the kubelet has fewer devices, until something is seen.
pub(super) fn lacks(cluster: &Cluster, mut is_seen: impl FnMut() -> Result<bool>) -> Result<Duration> {
    let all = cluster.disks.names().len();
    let (begun, mut fewer, mut since) = (Instant::now(), Duration::ZERO, None::<Instant>);
    let mut asked = Instant::now();
    while begun.elapsed() < TIMEOUT {
        match (cluster.allocatable_disks()? < all, since) {
            (true, None) => since = Some(Instant::now()),
            (false, Some(from)) => {
                fewer += from.elapsed();
                since = None;
            }
            _ => {}
        }
        if since.is_none() && asked.elapsed() > Duration::from_secs(1) {
            if is_seen()? {
                return Ok(fewer);
            }
            asked = Instant::now();
        }
        std::thread::sleep(LOOK);
    }
    bail!("not seen within {TIMEOUT:?}; pods: {:?}", names(cluster)?)
}

fn names(cluster: &Cluster) -> Result<Vec<String>> {
    let names =
        cluster.devgate_pods()?.into_iter().filter_map(|pod| pod["metadata"]["name"].as_str().map(str::to_owned));
    Ok(names.collect())
}

/// The pod beside the one that serves.
fn next(cluster: &Cluster, old: &str) -> Result<Value> {
    let pods = cluster.devgate_pods()?;
    let found = pods.into_iter().find(|pod| pod["metadata"]["name"].as_str().is_some_and(|name| name != old));
    found.context("there is no other pod")
}

fn log_of(cluster: &Cluster, pod: &Value) -> Result<String> {
    cluster.kubectl(&["-n", "devgate", "logs", pod["metadata"]["name"].as_str().context("a pod's name")?])
}

/// Rolls out a version that breaks: the pod before serves again or all the while, and is not replaced. How long devices were away.
fn breaks(cluster: &Cluster, old: &str, arg: &str, dies: Option<Duration>) -> Result<Duration> {
    settle(cluster)?;
    let patch = format!(r#"[{{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "{arg}"}}]"#);
    cluster.kubectl(&["-n", "devgate", "patch", "daemonset", "devgate", "--type=json", "--patch", &patch])?;
    let logs_of_old = || cluster.kubectl(&["-n", "devgate", "logs", old]);
    let came_back = || Ok::<_, anyhow::Error>(logs_of_old()?.matches("this one serves again").count());
    let before = came_back()?;
    let lacked = std::thread::scope(|scope| {
        let mut killing = dies.map(|after| scope.spawn(move || kill(cluster, old, after)));
        lacks(cluster, || {
            if let Some(killed) = killing.take_if(|killing| killing.is_finished()) {
                killed.join().map_err(|_| anyhow!("the thread that kills panicked"))??;
            }
            if arg.starts_with("--policy") {
                let pod = next(cluster, old)?;
                return Ok(pod["status"]["containerStatuses"][0]["restartCount"].as_u64() > Some(1));
            }
            Ok(killing.is_none() && came_back()? > before)
        })
    })?;
    ensure!(names(cluster)?.iter().any(|name| name == old), "{old} is gone");
    cluster.kubectl(&["-n", "devgate", "rollout", "undo", "daemonset/devgate"])?;
    until("the broken version to go", 60, || {
        let left = names(cluster)?;
        ensure!(left == [old], "{left:?}");
        Ok(())
    })?;
    let pod = cluster.devgate()?;
    let restarts = &pod["status"]["containerStatuses"][0]["restartCount"];
    ensure!(*restarts == 0, "{old} was started again {restarts} times");
    keeps_what_it_has(cluster)?;
    Ok(lacked)
}

/// Kills the next one so long after it registered.
fn kill(cluster: &Cluster, old: &str, after: Duration) -> Result<()> {
    let name = until("the next one to register", 60, || {
        let pod = next(cluster, old)?;
        let log = log_of(cluster, &pod)?;
        ensure!(log.contains("registered with the kubelet"), "{log}");
        Ok(pod["metadata"]["name"].as_str().context("a pod's name")?.to_owned())
    })?;
    std::thread::sleep(after);
    cluster.kill_container(&name)
}

/// A policy that comes as a version does: one with which devices would go stops, one that is as good comes.
fn policies(cluster: &Cluster) -> Result<()> {
    let policy = cluster.policy()?;
    let rolled = |policy: &str| cluster.roll_policy(policy);
    let config = || -> Result<String> {
        let volumes = cluster.devgate()?["spec"]["volumes"].clone();
        let named = volumes.as_array().into_iter().flatten().find(|volume| volume["name"] == "policy");
        Ok(named.context("a volume of the policy")?["configMap"]["name"].to_string())
    };
    let serving = cluster.devgate_name()?;
    settle(cluster)?;
    // In force is the same: by another name, which rolls out.
    rolled(&policy)?;
    lacks(cluster, || Ok(names(cluster)?.iter().all(|name| *name != serving)))?;
    cluster.devgate_is_ready(30)?;
    settle(cluster)?;
    // A policy may list no more what a pod had a while ago and what is not known to be free: it is kept. So some is to be free.
    until("what ended pods had to be free", 120, || {
        let held = cluster.metric("devgate_devices_held", &[])?;
        ensure!(held <= 2.0, "{held} disks count as held");
        Ok(())
    })?;
    let (serving, named) = (cluster.devgate_name()?, config()?);
    rolled(&policy.replace("loop*", "sd*"))?;
    until("a policy without devices to be refused", 60, || {
        let said = log_of(cluster, &next(cluster, &serving)?)?;
        ensure!(said.contains("it would offer less than the devgate that serves: example.com/disk"), "{said}");
        Ok(())
    })?;
    cluster.allocatable(cluster.disks.names().len(), 1)?;
    // By the config map of before, which the release has still.
    cluster.roll_back()?;
    until("the refused policy to go", 60, || {
        ensure!(names(cluster)? == [serving.clone()] && config()? == named, "{:?}", names(cluster)?);
        Ok(())
    })?;
    // As scenarios begin.
    settle(cluster)?;
    cluster.change_policy(&policy)?;
    lacks(cluster, || Ok(names(cluster)?.iter().all(|name| *name != serving)))?;
    cluster.devgate_is_ready(30)
}
