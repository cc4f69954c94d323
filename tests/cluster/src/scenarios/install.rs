//! From the chart to a ready pod to devices of the node, and a pod that has them all.

use crate::cluster::Cluster;
use crate::wait::timed;
use anyhow::{Result, bail, ensure};
use serde_json::Value;

pub(super) fn play(cluster: &mut Cluster) -> Result<()> {
    without_a_policy(cluster)?;
    let disks = cluster.disks.names().len();
    let (_, ready) = timed(|| {
        cluster.install()?;
        cluster.devgate_is_ready(60)
    })?;
    let (_, more) = timed(|| cluster.allocatable(disks, 30))?;
    cluster.note(format!("install: ready {ready:.1} s after helm install, devices on the node {:.1} s", ready + more));
    if let Err(error) = cluster.in_devgate(&["status"]) {
        bail!("status, as the page for admins says, is to end with 0: {error:#}");
    }
    cluster.probe("/readyz")?;
    is_confined(cluster)?;
    cluster.run_pod("all", disks)?;
    cluster.has_exactly("all", disks)?;
    Ok(())
}

/// Nothing is served, nothing is wrong, and Helm says what comes next; a policy that comes is taken as it comes.
fn without_a_policy(cluster: &Cluster) -> Result<()> {
    cluster.bring_image(&cluster.version()?)?;
    cluster.bring_component()?;
    let said = cluster.install_without_policy()?;
    ensure!(said.contains("nothing is served yet") && said.contains(" --values devgate/profiles/"), "{said}");
    cluster.devgate_is_ready(60)?;
    let pod = cluster.devgate_name()?;
    let status: Value = serde_json::from_str(&cluster.in_devgate(&["status", "--output", "json"])?)?;
    ensure!(status["plugins"].as_array().is_some_and(Vec::is_empty), "{status}");
    cluster.change_policy(&cluster.policy()?)?;
    cluster.allocatable(cluster.disks.names().len(), 120)?;
    ensure!(cluster.devgate_name()? == pod, "another pod came with the policy");
    cluster.uninstall()
}

/// What the kernel is to say of each process in the container: the runtime's filter, devgate's own above it and no capability.
fn is_confined(cluster: &mut Cluster) -> Result<()> {
    const FIELDS: &str = "^(NoNewPrivs|Seccomp|Seccomp_filters|CapBnd|CapPrm|CapEff):";
    let script = format!(
        "for p in /proc/[0-9]*; do case \"$(cat $p/comm 2>/dev/null)\" in devgate|devgate-runner) \
         echo \"$(cat $p/comm)\" $(grep -E '{FIELDS}' $p/status);; esac; done"
    );
    let told = cluster.node(&["sh", "-c", &script])?;
    let (mut hosts, mut runners) = (0, 0);
    for line in told.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let is = |name: &str, value: &str| words.windows(2).any(|pair| pair == [name, value]);
        let place = words.iter().position(|word| *word == "Seccomp_filters:");
        let filters = place.and_then(|at| words.get(at + 1)?.parse::<u32>().ok());
        // The runtime's, the host's, and a runner's two.
        let least = match words.first() {
            Some(&"devgate") => {
                hosts += 1;
                2
            }
            _ => {
                runners += 1;
                3
            }
        };
        let none = "0".repeat(16);
        let has_none = ["CapBnd:", "CapPrm:", "CapEff:"].iter().all(|set| is(set, &none));
        if !is("NoNewPrivs:", "1") || !is("Seccomp:", "2") || filters.is_none_or(|filters| filters < least) || !has_none
        {
            bail!("a process of devgate is not confined as it is to be: {line}");
        }
    }
    if hosts == 0 || runners == 0 {
        bail!("no process of devgate, or none of a component, runs on the node: {told}");
    }
    let status: Value = serde_json::from_str(&cluster.in_devgate(&["status", "--output", "json"])?)?;
    let landlock = &status["landlock"]["version"];
    cluster.note(format!(
        "install: {hosts} host and {runners} runners without capabilities, under the runtime's filter and their own; Landlock {landlock}"
    ));
    Ok(())
}
