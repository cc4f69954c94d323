//! `devgate check`: what a policy means on a node, and everything that is wrong with it, at once.

mod component;
mod dangers;
mod finding;
mod grants;
mod memory;
mod names;
mod nodes;
mod overlaps;
mod placeholders;
mod pods;
mod running;
mod text;
mod version;

use crate::cli::{CheckArgs, Output};
use crate::confinement::Fence;
use crate::node::Sources;
use crate::{exit, output, policy};
use component::ComponentFacts;
use devgate_core::Grants;
use devgate_node::{LogSource, Node};
use devgate_policy::{Origin, PluginPolicy, Policy};
use devgate_runner::Runners;
use finding::{Counts, Finding};
use grants::GrantFacts;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct Report {
    /// How far Landlock would fence a host that is started as this command was; nothing on a recorded node.
    #[serde(skip_serializing_if = "Option::is_none")]
    landlock: Option<Fence>,
    /// The node's root, or the recorded node's file.
    node: String,
    recorded: bool,
    /// In the policy's order: the earlier one keeps what two claim.
    plugins: Vec<PluginReport>,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Debug, Serialize)]
struct PluginReport {
    plugin: String,
    /// Where its entry is written.
    at: String,
    resources: Vec<String>,
    component: ComponentFacts,
    grants: GrantFacts,
    /// How far it gets: `works`, `idle`, `not-loaded` or `failed`; nothing without --run.
    outcome: Option<&'static str>,
    /// What it would offer; nothing without --run, and where its component was not asked or failed.
    units: Option<running::UnitCounts>,
    /// What it would tell of the node; nothing without --run.
    labels: BTreeMap<String, String>,
    /// What schedulers would be told of its units, besides what the host knows itself; nothing without --run, and where they are counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    published: Vec<running::Published>,
    /// What its component said while it was asked, and what that asked for and did not get.
    said: Vec<running::Said>,
    /// Sorted by severity, errors first.
    findings: Vec<Finding>,
}

/// Runs the command.
pub(crate) fn check(args: &CheckArgs, sources: Sources) -> anyhow::Result<u8> {
    if !args.nodes.is_empty() {
        return nodes::check(args, sources);
    }
    let report = report(args, &args.place.node_root, sources.runners(None)?, sources)?;
    match args.output {
        Output::Text => output::print(&text::of(&report))?,
        Output::Json => output::print_json(&report)?,
    }
    Ok(report.counts.exit_code(args.strict))
}

/// Of the node at a root.
fn report(args: &CheckArgs, root: &Path, runners: Runners, sources: Sources) -> anyhow::Result<Report> {
    let (policy, texts) = policy::read_texts_of(&args.place)?;
    let node = (sources.node)(root)?;
    if !node.has_devices() && !node.is_recorded() {
        return Err(exit::with_code(
            exit::NODE,
            format!(
                "node {}: there is no device tree: neither sys/class nor sys/bus has anything in it; name the node's root with --node-root",
                root.display()
            ),
        ));
    }
    let components = args.place.looking((sources.puller)());
    let mut plugins = Vec::new();
    let mut offers = Vec::new();
    let cdi = names::known(&node, root);
    for plugin in policy.plugins.values() {
        let _progress = crate::progress::Progress::begin(format!("checking plugin {}", plugin.name));
        let view = Grants::new(node.clone(), Arc::new(plugin.clone()));
        let mut findings = Vec::new();
        let facts = component::look(&runners, &components, plugin, sources.config, &mut findings);
        let (mut granted, matches) = grants::look(&view, plugin, &mut findings);
        granted.kernel_log = kernel_log(&node, plugin, &mut findings);
        component::unused(&facts, plugin, &mut findings);
        dangers::look(&node, plugin, &matches, &granted, &mut findings);
        overlaps::look(&node, plugin, &matches, &granted, &mut offers, &mut findings);
        if let Some(known) = &cdi {
            names::look(known, plugin, &mut findings);
        }
        plugins.push(PluginReport {
            plugin: plugin.name.to_string(),
            at: plugin.origin.to_string(),
            resources: plugin.resources.iter().map(ToString::to_string).collect(),
            component: facts,
            grants: granted,
            outcome: None,
            units: None,
            labels: BTreeMap::new(),
            published: Vec::new(),
            said: Vec::new(),
            findings,
        });
    }
    placeholders::look(&texts, &policy, &mut plugins);
    if let Some(version) = &args.version {
        version::look(version, sources.version, &texts, &policy, &mut plugins)?;
    }
    if args.run {
        running::look(runners, &components, &policy, &node, &mut plugins);
    }
    if !node.is_recorded() {
        memory::look(&policy, &mut plugins);
    }
    pods::look(&node, &args.pod_resources_dir, &mut plugins);
    Ok(Report::new(root, &node, plugins))
}

/// Where the lines of the kernel's log that a plugin is granted would come from.
fn kernel_log(node: &Node, plugin: &PluginPolicy, findings: &mut Vec<Finding>) -> Option<String> {
    if plugin.kernel_log.is_empty() {
        return None;
    }
    let source = node.events().log_source();
    if let LogSource::Off { why } = &source {
        let message = format!("kernel-log is granted, and no line will come: {why}");
        findings.push(Finding::warning("kernel-log-off", Some(&plugin.origin), message));
    }
    Some(source.to_string())
}

/// The report of the plugin in whose entry a line of the policy stands; of the first one for what stands before all.
fn of_line<'a>(
    policy: &Policy,
    reports: &'a mut [PluginReport],
    file: &str,
    line: u32,
) -> Option<(Origin, &'a mut PluginReport)> {
    let origins = policy.plugins.values().map(|plugin| &plugin.origin).enumerate();
    let own = origins.filter(|(_, origin)| *origin.file == *file && origin.line <= line);
    let index = own.max_by_key(|(_, origin)| origin.line).map_or(0, |(index, _)| index);
    Some((Origin { file: file.into(), line }, reports.get_mut(index)?))
}

impl Report {
    fn new(root: &Path, node: &Node, mut plugins: Vec<PluginReport>) -> Self {
        for plugin in &mut plugins {
            plugin.findings.sort_by_key(|finding| finding.severity);
        }
        Self {
            landlock: (!node.is_recorded()).then(Fence::probe),
            node: devgate_types::escape(&root.to_string_lossy(), 1024),
            recorded: node.is_recorded(),
            counts: Counts::of(plugins.iter().flat_map(|plugin| &plugin.findings)),
            plugins,
        }
    }
}
