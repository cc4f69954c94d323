//! `check --nodes`: a policy on each kind of node of a cluster, and each finding once.

use super::finding::{Counts, Finding};
use super::text::finding_line;
use super::{Report, report};
use crate::cli::CheckArgs;
use crate::node::{Sources, recorded_name, recordings};
use crate::output;
use crate::output::{count, program};
use devgate_runner::CodeCache;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Findings that are none where another node has what this one lacks.
const LACKS: [&str; 5] = ["matches-nothing", "nothing-described", "nothing-listed", "label-missing", "cdi-unknown"];
/// The most nodes that are named for one finding.
const NAMED: usize = 5;

/// What is shown; its names are those of the JSON form.
#[derive(Debug, Serialize)]
struct NodesReport {
    nodes: Vec<String>,
    plugins: Vec<PluginOnNodes>,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Debug, Serialize)]
struct PluginOnNodes {
    plugin: String,
    at: String,
    /// Where it is idle: no selector matches a device there.
    idle: Vec<String>,
    /// How far it gets elsewhere, with --run: the nodes by outcome.
    outcomes: BTreeMap<&'static str, Vec<String>>,
    findings: Vec<FindingOnNodes>,
}

#[derive(Debug, Serialize)]
struct FindingOnNodes {
    #[serde(flatten)]
    finding: Finding,
    nodes: Vec<String>,
}

/// Runs the command.
pub(super) fn check(args: &CheckArgs, sources: Sources) -> anyhow::Result<u8> {
    let kept = tempfile::tempdir()?;
    let mut reports = Vec::new();
    for file in recordings(&args.nodes)? {
        let code = CodeCache::open(&kept.path().join("code"))?;
        reports.push((recorded_name(&file), report(args, &file, sources.runners(Some(code))?, sources)?));
    }
    let report = NodesReport::of(&reports);
    output::show(args.output, &report, NodesReport::text)?;
    Ok(report.counts.exit_code(args.strict))
}

impl NodesReport {
    fn of(reports: &[(String, Report)]) -> Self {
        let plugins = reports.first().map_or(0, |(_, first)| first.plugins.len());
        let plugins: Vec<_> = (0..plugins).filter_map(|index| PluginOnNodes::of(reports, index)).collect();
        let findings = plugins.iter().flat_map(|plugin| &plugin.findings);
        Self {
            nodes: reports.iter().map(|(name, _)| name.clone()).collect(),
            counts: Counts::of(findings.map(|found| &found.finding)),
            plugins,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("The policy on {}: {}\n", count(self.nodes.len(), "recorded node"), named(&self.nodes));
        for plugin in &self.plugins {
            let _ = writeln!(text, "\n{}  {}", plugin.plugin, plugin.at);
            for found in &plugin.findings {
                let message = match found.nodes.len() == self.nodes.len() {
                    true => found.finding.message.clone(),
                    false => format!("on {}: {}", named(&found.nodes), found.finding.message),
                };
                finding_line(&mut text, &Finding { message, ..found.finding.clone() }, &[]);
            }
            for (outcome, nodes) in &plugin.outcomes {
                let _ = writeln!(text, "  {outcome} on {}", named(nodes));
            }
            if !plugin.idle.is_empty() {
                let _ = writeln!(text, "  idle on {}", named(&plugin.idle));
            }
        }
        text += &self.counts.line(self.plugins.len());
        let findings = self.plugins.iter().flat_map(|plugin| &plugin.findings);
        if let Some(worst) = findings.min_by_key(|found| found.finding.severity) {
            let _ = writeln!(text, "next: {} help {}", program(), worst.finding.code);
        }
        text
    }
}

impl PluginOnNodes {
    /// The plugin at this place of the policy, which is the same for all nodes.
    fn of(reports: &[(String, Report)], index: usize) -> Option<Self> {
        let (_, first) = reports.first()?;
        let first = first.plugins.get(index)?;
        let (mut idle, mut outcomes, mut findings) =
            (Vec::new(), BTreeMap::<_, Vec<_>>::new(), Vec::<FindingOnNodes>::new());
        for (node, report) in reports {
            let plugin = report.plugins.get(index)?;
            if plugin.grants.idle {
                idle.push(node.clone());
            } else if let Some(outcome) = plugin.outcome {
                outcomes.entry(outcome).or_default().push(node.clone());
            }
            for finding in &plugin.findings {
                let same = |known: &&mut FindingOnNodes| is_like(&known.finding, finding);
                match findings.iter_mut().find(same) {
                    Some(known) if known.nodes.last() == Some(node) => {}
                    Some(known) => known.nodes.push(node.clone()),
                    None => findings.push(FindingOnNodes { finding: finding.clone(), nodes: vec![node.clone()] }),
                }
            }
        }
        findings.retain(|found| !LACKS.contains(&found.finding.code) || found.nodes.len() == reports.len());
        findings.sort_by_key(|found| found.finding.severity);
        Some(Self { plugin: first.plugin.clone(), at: first.at.clone(), idle, outcomes, findings })
    }
}

/// Whether both say the same: what a message counts is another number on each node.
fn is_like(one: &Finding, other: &Finding) -> bool {
    let shape = |finding: &Finding| finding.message.replace(|c: char| c.is_ascii_digit(), "");
    (one.code, &one.at) == (other.code, &other.at) && shape(one) == shape(other)
}

fn named(nodes: &[String]) -> String {
    output::named(nodes, NAMED, ", ")
}
