//! `devgate check`: what a policy means on a node, and everything that is wrong with it, at once.

mod around;
mod component;
mod dangers;
mod finding;
mod grants;
mod names;
mod nodes;
mod overlaps;
mod running;
mod text;
mod texts;

use crate::cli::CheckArgs;
use crate::confinement::Fence;
use crate::node::Sources;
use crate::{exit, output, policy};
use component::ComponentFacts;
use devgate_core::Grants;
use devgate_node::{LogSource, Node};
use devgate_policy::{Origin, PluginPolicy};
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

#[derive(Debug, Default, Serialize)]
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
    output::show(args.output, &report, text::of)?;
    Ok(report.counts.exit_code(args.strict))
}

/// Of the node at a root.
fn report(args: &CheckArgs, root: &Path, runners: Runners, sources: Sources) -> anyhow::Result<Report> {
    let (policy, texts) = policy::read_of(&args.place)?;
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
        let mut report = PluginReport::new(plugin);
        component::look(&runners, &components, plugin, sources.config, &mut report);
        let matches = grants::look(&view, plugin, &mut report);
        report.grants.kernel_log = kernel_log(&node, plugin, &mut report);
        component::unused(plugin, &mut report);
        dangers::look(&node, plugin, &matches, &mut report);
        overlaps::look(&node, plugin, &matches, &mut offers, &mut report);
        if let Some(known) = &cdi {
            names::look(known, plugin, &mut report);
        }
        plugins.push(report);
    }
    texts::placeholders(&texts, &policy, &mut plugins);
    if let Some(version) = &args.version {
        texts::refused_by(version, sources.version, &texts, &policy, &mut plugins)?;
    }
    if args.run {
        running::look(runners, &components, &policy, &node, &mut plugins);
    }
    if !node.is_recorded() {
        around::memory(&policy, &mut plugins);
    }
    around::pods(&node, &args.pod_resources_dir, &mut plugins);
    Ok(Report::new(root, &node, plugins))
}

/// Where the lines of the kernel's log that a plugin is granted would come from.
fn kernel_log(node: &Node, plugin: &PluginPolicy, report: &mut PluginReport) -> Option<String> {
    if plugin.kernel_log.is_empty() {
        return None;
    }
    let source = node.events().log_source();
    if let LogSource::Off { why } = &source {
        report.finds("kernel-log-off", format!("kernel-log is granted, and no line will come: {why}"));
    }
    Some(source.to_string())
}

impl PluginReport {
    fn new(plugin: &PluginPolicy) -> Self {
        Self {
            plugin: plugin.name.to_string(),
            at: plugin.origin.to_string(),
            resources: plugin.resources.iter().map(ToString::to_string).collect(),
            ..Self::default()
        }
    }

    /// Adds what an admin should know of the plugin's entry; how much it matters is its code's.
    fn finds(&mut self, code: &'static str, message: impl Into<String>) {
        self.findings.push(Finding::new(code, Some(self.at.clone()), message));
    }

    /// The same of what stands at another place of the policy.
    fn finds_at(&mut self, code: &'static str, at: &Origin, message: impl Into<String>) {
        self.findings.push(Finding::new(code, Some(at.to_string()), message));
    }
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
