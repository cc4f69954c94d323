//! `--run`: what comes of it when each component is started once.
//!
//! Behind a flag, because compiling takes seconds for some languages, and because a component's answer belongs to one moment of
//! one node, while the rest of `check` holds as long as the policy and the node do.

use super::PluginReport;
use super::finding::Finding;
use crate::loader::SandboxLoader;
use crate::progress::Telling;
use anyhow::Context;
use devgate_node::Node;
use devgate_plugin::{Outcome, Surveyed};
use devgate_policy::{PluginPolicy, Policy};
use devgate_sandbox::{Allocation, Engine};
use serde::Serialize;
use std::path::Path;

/// Findings of one kind that are shown one by one.
const SHOWN: usize = 16;

/// What a plugin would offer.
#[derive(Debug, Serialize)]
pub(super) struct UnitCounts {
    pub(super) units: usize,
    pub(super) healthy: usize,
    /// How many the gate did not let through.
    pub(super) rejected: usize,
}

pub(super) fn look(
    components: Option<&Path>,
    policy: &Policy,
    node: &Node,
    plugins: &mut [PluginReport],
) -> anyhow::Result<()> {
    let engine = Engine::new(Allocation::OnDemand, None).context("start the sandbox")?;
    let loader = Telling(SandboxLoader::new(engine, components.map(Path::to_owned)));
    let surveyed = devgate_plugin::survey(policy, node, &loader);
    for ((report, surveyed), policy) in plugins.iter_mut().zip(&surveyed).zip(policy.plugins.values()) {
        outcome(report, surveyed, policy);
        units(report, surveyed, policy);
    }
    Ok(())
}

fn outcome(report: &mut PluginReport, surveyed: &Surveyed, policy: &PluginPolicy) {
    let at = Some(&policy.origin);
    let known = report
        .findings
        .iter()
        .any(|finding| finding.code.starts_with("component-") || finding.code.starts_with("import-"));
    match &surveyed.outcome {
        Outcome::Failed(why) => report.findings.push(Finding::error("call-failed", at, why.clone())),
        // What can be known without compiling has been said, all of it.
        Outcome::NotLoaded(why) if !known => {
            report.findings.push(Finding::error("not-loaded", at, why.to_string()));
        }
        Outcome::NotLoaded(_) | Outcome::Blind(_) | Outcome::Idle | Outcome::Answered => {}
    }
}

fn units(report: &mut PluginReport, surveyed: &Surveyed, policy: &PluginPolicy) {
    let at = Some(&policy.origin);
    let unhealthy = surveyed.units.iter().filter_map(|unit| {
        let why = unit.unhealthy()?;
        Some(format!("id {} of {}: {why}", unit.id, unit.resource))
    });
    let rejected = surveyed.rejected.iter().map(ToString::to_string);
    for (code, all) in [
        ("unit-unhealthy", unhealthy.collect::<Vec<_>>()),
        ("unit-rejected", rejected.collect()),
    ] {
        let messages = all.iter().take(SHOWN).cloned();
        let more = all.len().checked_sub(SHOWN).filter(|more| *more > 0);
        let messages = messages.chain(more.map(|more| format!("and {more} more; `devgate explain` has each")));
        report
            .findings
            .extend(messages.map(|message| Finding::warning(code, at, message)));
    }
    let healthy = surveyed.units.iter().filter(|unit| unit.unhealthy().is_none());
    report.units = Some(UnitCounts {
        units: surveyed.units.len(),
        healthy: healthy.count(),
        rejected: surveyed.rejected.len(),
    });
}
