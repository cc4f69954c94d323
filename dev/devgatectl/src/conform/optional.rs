//! What a component does without the interfaces that it says it can do without: a policy that does not grant them is no mistake.

use super::harness::{TIMEOUT, broke};
use super::scorecard::{Outcome, Scorecard};
use crate::inspect;
use devgate::components::Components;
use devgate::loader::ComponentLoader;
use devgate_core::Loader;
use devgate_core::workbench::Workbench;
use devgate_fake_node::RecordedNode;
use devgate_policy::{Files, HostNodes, PluginPolicy};
use std::path::Path;
use std::sync::Arc;

const CHECK: &str = "optional.without";

/// Loads the component anew without each of them, and without all together.
pub(super) fn run(
    loader: &ComponentLoader,
    components: &Components,
    policy: &PluginPolicy,
    node: &RecordedNode,
    card: &mut Scorecard,
) -> anyhow::Result<()> {
    let Ok(bytes) = components.read(policy) else { return Ok(()) };
    let report = inspect::of(Path::new("component"), &bytes)?;
    let all: Vec<&str> = report.optional().into_iter().map(|(interface, _)| interface).collect();
    if all.is_empty() {
        card.skip_rest(
            "optional",
            "the component says of nothing that it can do without it (devgatectl pack --optional)",
        );
        return Ok(());
    }
    let mut sets: Vec<Vec<&str>> = all.iter().map(|interface| vec![*interface]).collect();
    if all.len() > 1 {
        sets.push(all.clone());
    }
    card.check(CHECK, || {
        let mut failures = Vec::new();
        for set in sets {
            let (named, policy) = (set.join(", "), Arc::new(without(policy, &set)));
            let how = match loader.load(&policy) {
                Err(why) => Some(format!("is not loaded: {why}")),
                Ok(component) => breaks(&Workbench::new(&policy, node, component)?),
            };
            failures.extend(how.map(|how| format!("without {named} it {how}")));
        }
        Ok(Outcome::of(all.join(", "), failures))
    })
}

/// How it breaks, if it does: that it answers with an error is its right.
fn breaks(bench: &Workbench) -> Option<String> {
    let listed = bench.enumerate();
    if let Some(how) = broke(&listed) {
        return Some(format!("{how} in enumerate"));
    }
    listed.ok()?.pools.iter().find_map(|pool| {
        let judged = bench.health(&pool.asked, &pool.units);
        broke(&judged).map(|how| format!("{how} in health"))
    })
}

/// A policy that does not grant these interfaces.
fn without(policy: &PluginPolicy, interfaces: &[&str]) -> PluginPolicy {
    let mut policy = policy.clone();
    policy.limits.deadline = policy.limits.deadline.max(TIMEOUT);
    for interface in interfaces {
        match *interface {
            "hardware" | "uevents" => policy.hardware.clear(),
            "host-paths" => {
                policy.host_nodes = HostNodes::default();
                policy.containers.mounts.clear();
            }
            "files" => policy.files = Files::default(),
            "kernel-log" => policy.kernel_log.clear(),
            "control" => policy.control.clear(),
            "state" => policy.state = false,
            _ => {}
        }
    }
    policy
}
