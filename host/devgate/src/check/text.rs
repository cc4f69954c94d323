//! What people read, at three in the morning perhaps: one block for each plugin, what is wrong first, and a last line that counts.

use super::finding::{Finding, Severity};
use super::grants::{DeviceGrant, GrantFacts};
use super::{PluginReport, Report};
use crate::output::{BAD, DANGER, WARNING, beyond, columns, count, few, named, program};
use std::fmt::Write;

/// Devices of one subsystem to be looked at, or files, beyond which a list says how many more there are.
const SHOWN: usize = 8;
/// Units whose attributes are shown.
const PUBLISHED: usize = 4;
/// Places of the policy that one line names.
const PLACES: usize = 3;

pub(super) fn of(report: &Report) -> String {
    let node = match (report.recorded, report.node.as_str()) {
        (true, file) => format!("the recorded node {file}"),
        (false, "/") => "this node".to_owned(),
        (false, root) => format!("the node at {root}"),
    };
    let mut text = format!("The policy on {node}:\n");
    // What fails comes first; findings are sorted by severity.
    let mut plugins: Vec<_> = report.plugins.iter().collect();
    plugins.sort_by_key(|plugin| plugin.findings.first().is_none_or(|first| first.severity != Severity::Error));
    for plugin in &plugins {
        plugin_block(&mut text, plugin);
    }
    if let Some(why) = report.landlock.as_ref().and_then(|fence| fence.why.as_ref()) {
        let _ = writeln!(text, "\nlandlock: would not be in force, and seccomp alone would fence devgate: {why}");
    }
    if report.plugins.is_empty() {
        text += "\nthe policy has no plugin, so nothing is offered\n";
    } else if report.plugins.iter().all(|plugin| plugin.outcome.is_none()) {
        text += "\nno component was asked what it finds and offers: --run starts each once\n";
    }
    text += &report.counts.line(report.plugins.len());
    if let Some(worst) = plugins.iter().flat_map(|plugin| &plugin.findings).min_by_key(|finding| finding.severity) {
        let _ = writeln!(text, "next: {} help {}", program(), worst.code);
    }
    text
}

fn plugin_block(text: &mut String, report: &PluginReport) {
    let _ = writeln!(text, "\n{}  {}", report.plugin, report.at);
    let is_same = |a: &&Finding, b: &&Finding| (a.code, &a.message) == (b.code, &b.message);
    let mut told: Vec<&Finding> = Vec::new();
    for finding in &report.findings {
        if !told.iter().any(|earlier| is_same(earlier, &finding)) {
            let places = report.findings.iter().filter(|other| is_same(other, &finding));
            finding_line(text, finding, &places.filter_map(|same| same.at.clone()).collect::<Vec<_>>());
            told.push(finding);
        }
    }
    let component = &report.component;
    let size = component.size.map(|size| format!(", {size} bytes")).unwrap_or_default();
    let pinned = if component.pinned { "pinned" } else { "not pinned to a digest" };
    let mut rows = vec![
        ["offers".to_owned(), report.resources.join(", ")],
        ["component".to_owned(), format!("{}{size}, {pinned}", component.file)],
    ];
    if !component.without.is_empty() {
        rows.push(["without".to_owned(), format!("{}, which it can do without", component.without.join(", "))]);
    }
    rows.extend(units(report).map(|units| ["units".to_owned(), units]));
    let labels = report.labels.iter();
    rows.extend(labels.map(|(name, value)| ["label".to_owned(), format!("{name}={value}")]));
    rows.extend(published(report));
    *text += &columns(2, &rows);
    for said in &report.said {
        let _ = writeln!(text, "  said ({}): {}", said.level, said.text);
    }
    grants(text, &report.grants);
}

/// What schedulers would be told: of the first few units, which say how the others look.
fn published(report: &PluginReport) -> impl Iterator<Item = [String; 2]> {
    let units = report.published.iter().map(|unit| {
        let capacity = unit.capacity.iter().map(|(name, amount)| format!("{name}: {amount}"));
        let facts: Vec<_> =
            unit.attributes.iter().map(|(name, value)| format!("{name}={value}")).chain(capacity).collect();
        let conditions = unit.conditions.iter();
        let conditions = conditions.map(|of| format!("; {} ({}): {}", of.key, of.effect, of.message));
        let facts = if facts.is_empty() { "what the host knows itself".to_owned() } else { facts.join(", ") };
        format!("{}  {facts}{}", unit.id, conditions.collect::<String>())
    });
    few(units, PUBLISHED, |more| format!("and {more} more (--output json has all)"))
        .map(|line| ["published".to_owned(), line])
}

/// What came of it when the component was asked; nothing where it was not asked.
fn units(report: &PluginReport) -> Option<String> {
    let outcome = report.outcome?;
    let Some(units) = &report.units else {
        return Some(match outcome {
            "idle" => "not asked: idle".to_owned(),
            "not-loaded" => "not asked: its component is not loaded".to_owned(),
            _ => "unknown: it could not be asked".to_owned(),
        });
    };
    let alone = units.rejected - units.rejected_pools;
    let rejected = match (units.rejected_pools, alone) {
        (0, 0) => String::new(),
        (0, n) => format!(", {} rejected", count(n, "unit")),
        (n, 0) => format!(", {} rejected", count(n, "pool")),
        (pools, n) => format!(", {} and {} rejected", count(pools, "pool"), count(n, "unit")),
    };
    Some(format!("{}, {} healthy{rejected}", units.units, units.healthy))
}

/// One finding, with all places where the same was found.
pub(super) fn finding_line(text: &mut String, finding: &Finding, places: &[String]) {
    let (style, severity) = match finding.severity {
        Severity::Error => (BAD, "ERROR"),
        Severity::Warning => (WARNING, "warning"),
        Severity::Danger => (DANGER, "danger"),
    };
    let at = finding.at.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
    let code = match places {
        [_, others @ ..] if !others.is_empty() => {
            format!("[{}] ({}x, also {})", finding.code, places.len(), named(others, PLACES, ", "))
        }
        _ => format!("[{}]", finding.code),
    };
    // Several lines where a refusal has a table.
    let mut lines = finding.message.lines();
    let _ = writeln!(text, "  {style}{severity:<7}{style:#}  {at}{} {code}", lines.next().unwrap_or_default());
    lines.for_each(|line| *text += &format!("           {line}\n"));
}

fn grants(text: &mut String, facts: &GrantFacts) {
    if facts.idle {
        *text += "  idle here: no selector matches a device, so its component is not even loaded\n";
    }
    let mut rows = Vec::new();
    // What is offered is never left out, and comes first.
    let (offered, read): (Vec<_>, Vec<_>) = facts.devices.iter().partition(|device| device.usage == "offer");
    rows.extend(offered.into_iter().map(device_row));
    for same in read.chunk_by(|a, b| a.subsystem == b.subsystem) {
        let shown = shown(same.len());
        rows.extend(same.iter().take(shown).map(|device| device_row(device)));
        if let (Some(device), Some(more)) = (same.first(), beyond(same.len(), shown)) {
            let more = format!("… and {more} more of {}", device.subsystem);
            rows.push([String::new(), more, String::new()]);
        }
    }
    for node in &facts.host_nodes {
        let says = match (&node.access, node.shared) {
            (Some(access), true) => format!("{access}, shared"),
            (Some(access), false) => access.clone(),
            (None, _) => "withheld".to_owned(),
        };
        rows.push(["node".to_owned(), node.path.clone(), says]);
    }
    let shown = shown(facts.files.len());
    rows.extend(facts.files.iter().take(shown).map(|file| ["file".to_owned(), file.clone(), String::new()]));
    if let Some(more) = beyond(facts.files.len(), shown) {
        rows.push([String::new(), format!("… and {more} more files"), String::new()]);
    }
    for mount in &facts.mounts {
        let mode = if mount.writable { "rw" } else { "ro" };
        let source = format!("{} -> {}", mount.source, mount.target);
        rows.push(["mount".to_owned(), source, format!("{mode}, {}", mount.name)]);
    }
    if let Some(source) = &facts.kernel_log {
        rows.push(["log".to_owned(), format!("from {source}"), String::new()]);
    }
    *text += &columns(2, &rows);
}

/// How many of a list are shown: a line that says "and 1 more" could have been that one.
fn shown(all: usize) -> usize {
    if all == SHOWN + 1 { all } else { all.min(SHOWN) }
}

fn device_row(device: &DeviceGrant) -> [String; 3] {
    let shared = |shared| if shared { " shared" } else { "" };
    let nodes = device.nodes.iter();
    let nodes: Vec<_> = nodes.map(|node| format!("{} {}{}", node.path, node.access, shared(node.shared))).collect();
    [device.usage.to_owned(), format!("{}/{}", device.subsystem, device.name), nodes.join(", ")]
}
