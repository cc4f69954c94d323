//! A plan for people, on a terminal or in a pull request: nodes and devices to which the same happens are one block and one line.

use super::Plan;
use super::change::{Devices, Kind, NodePlan, PluginChange, UnitChange};
use devgate::output::{BAD, columns, count, program, quoted};
use devgate_types::escape;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The most lines of one change, and the longest of them in characters.
const MAX_LINES: usize = 40;
const MAX_LINE: usize = 400;

/// One line of a block: what goes has `-` before it, what comes `+`, what a container loses `!`.
struct Line(char, String);

pub(super) fn plain(plan: &Plan) -> String {
    let nodes = count(plan.nodes.len(), "recorded node");
    let mut text = format!("{} -> {}, on {nodes}\n", plan.old, plan.new);
    for (names, node) in blocks(plan) {
        if is_quiet(node) {
            let _ = writeln!(text, "\n{}: nothing changes", names.join(", "));
            continue;
        }
        let _ = writeln!(text, "\n{}:", names.join(", "));
        text += &changes(node);
    }
    let _ = writeln!(text, "\n{}", summary(plan));
    text + &next(plan)
}

/// What changes on one node.
pub(crate) fn changes(node: &NodePlan) -> String {
    let mut text = columns(2, &resources(node));
    for Line(sign, line) in lines(node) {
        let _ = match sign {
            ' ' => writeln!(text, "  {line}"),
            '!' => writeln!(text, "  {BAD}{line}{BAD:#}"),
            sign => writeln!(text, "    {sign} {line}"),
        };
    }
    text
}

pub(super) fn markdown(plan: &Plan) -> String {
    let code = |text: &str| format!("`{}`", text.replace('`', "'"));
    let mut text = format!("### devgate plan: {} → {}\n\n**{}**\n", code(&plan.old), code(&plan.new), summary(plan));
    for (names, node) in blocks(plan).into_iter().filter(|(_, node)| !is_quiet(node)) {
        let names: Vec<_> = names.into_iter().map(code).collect();
        let _ = writeln!(text, "\n#### {}", names.join(", "));
        for (index, [resource, before, after]) in resources(node).iter().enumerate() {
            let rule = if index == 0 { "\n| --- | --- | --- |" } else { "" };
            let head = if index == 0 { "\n" } else { "" };
            let _ = writeln!(text, "{head}| {resource} | {before} | {after} |{rule}");
        }
        text += "\n```diff\n";
        for Line(sign, line) in lines(node) {
            // Nothing that a component says ends the block.
            let _ = writeln!(text, "{sign} {}", line.replace('`', "'"));
        }
        text += "```\n";
    }
    text
}

/// Whether there is nothing to say of it.
fn is_quiet(node: &NodePlan) -> bool {
    !node.changes() && node.held_elsewhere.is_empty() && node.held_incomplete.is_none()
}

/// Nodes to which the same happens are one block, in the order of the first.
fn blocks(plan: &Plan) -> Vec<(Vec<&str>, &NodePlan)> {
    let mut blocks: Vec<(Vec<&str>, &NodePlan)> = Vec::new();
    let is_like = |a: &NodePlan, b: &NodePlan| {
        let same = || NodePlan { node: b.node.clone(), file: b.file.clone(), ..a.clone() } == *b;
        (is_quiet(a) && is_quiet(b)) || same()
    };
    for node in &plan.nodes {
        match blocks.iter_mut().find(|(_, first)| is_like(first, node)) {
            Some((names, _)) => names.push(&node.node),
            None => blocks.push((vec![&node.node], node)),
        }
    }
    blocks
}

/// The table of resources, with its head; nothing where no number changes.
fn resources(node: &NodePlan) -> Vec<[String; 3]> {
    let devices = |devices: Devices| match devices.devices - devices.healthy {
        _ if devices.devices == 0 => "none".to_owned(),
        0 => devices.devices.to_string(),
        unhealthy => format!("{} ({unhealthy} unhealthy)", devices.devices),
    };
    if node.resources.is_empty() {
        return Vec::new();
    }
    let head = ["RESOURCE", "BEFORE", "AFTER"].map(str::to_owned);
    let row = node.resources.iter().map(|row| [row.resource.clone(), devices(row.before), devices(row.after)]);
    std::iter::once(head).chain(row).collect()
}

fn lines(node: &NodePlan) -> Vec<Line> {
    let mut lines = Vec::new();
    for plugin in &node.plugins {
        lines.push(Line(if plugin.is_worse { '!' } else { ' ' }, heading(plugin)));
        differences(&mut lines, &plugin.revoked, &plugin.granted);
        let rejected = plugin.rejected.iter().take(MAX_LINES);
        lines.extend(rejected.map(|line| Line('!', format!("not offered: {line}"))));
    }
    let mut like: BTreeMap<_, Vec<&UnitChange>> = BTreeMap::new();
    for (index, unit) in node.units.iter().enumerate() {
        // What is lost is named each, and first.
        let alone = if unit.lost { index } else { usize::MAX };
        like.entry((!unit.lost, alone, unit.change, &unit.resource, shape(unit))).or_default().push(unit);
    }
    for units in like.into_values() {
        let Some(first) = units.first() else { continue };
        let id = escape(&first.id, 80);
        let more = if units.len() > 1 { format!(" and {} more", units.len() - 1) } else { String::new() };
        let held = first.held_by.as_ref().map(|by| format!(", HELD by {by}")).unwrap_or_default();
        let held = if first.lost { held } else { String::new() };
        let sign = if first.lost { '!' } else { ' ' };
        lines.push(Line(sign, format!("{} {id}{more} {}{held}", first.resource, verb(first.change))));
        differences(&mut lines, &first.before, &first.after);
    }
    if let Some(why) = &node.held_incomplete {
        lines.push(Line('!', format!("what is held is not all known: {why}")));
    }
    if !node.held_elsewhere.is_empty() {
        let these = node.held_elsewhere.join("; ");
        let why = "held, and not offered by the old policy on this recording (was it recorded without --no-redact?)";
        lines.push(Line(' ', format!("{why}: {these}")));
    }
    for Line(_, line) in &mut lines {
        *line = escape(line, MAX_LINE);
    }
    lines
}

fn heading(plugin: &PluginChange) -> String {
    let mut text = format!("plugin {}", plugin.plugin);
    if plugin.before != plugin.after {
        let _ = write!(text, ": {}, was {}", plugin.after, plugin.before);
    }
    if let Some(why) = &plugin.why {
        let why = why.lines().next().unwrap_or_default();
        let _ = write!(text, ": {}", why.strip_prefix(&format!("plugin {}: ", plugin.plugin)).unwrap_or(why));
    }
    let keys = plugin.keys.iter().map(String::as_str);
    let keys: Vec<_> = keys.filter(|key| *key != "component" || plugin.component.is_none()).collect();
    if !keys.is_empty() {
        let _ = write!(text, ": its entry differs in {}", keys.join(", "));
    }
    if let Some([Some(before), Some(after)]) = &plugin.component {
        let short = |digest: &str| digest.get(..19).unwrap_or(digest).to_owned();
        let _ = write!(text, ": component {}, was {}", short(after), short(before));
    }
    text
}

fn differences(lines: &mut Vec<Line>, before: &[String], after: &[String]) {
    let both = before.iter().map(|line| ('-', line)).chain(after.iter().map(|line| ('+', line)));
    let all = before.len() + after.len();
    lines.extend(both.take(MAX_LINES).map(|(sign, line)| Line(sign, line.clone())));
    if all > MAX_LINES {
        lines.push(Line(' ', format!("… and {} more lines (--output json has all)", all - MAX_LINES)));
    }
}

/// What is said of a unit, without what is another for each of its kind: its id, and the numbers of its nodes.
fn shape(unit: &UnitChange) -> [Vec<String>; 2] {
    let one = |line: &String| match line.strip_prefix("node ") {
        Some(node) => node.replace(|c: char| c.is_ascii_digit(), ""),
        None => line.replace(&unit.id, ""),
    };
    [unit.before.iter().map(one).collect(), unit.after.iter().map(one).collect()]
}

const fn verb(kind: Kind) -> &'static str {
    match kind {
        Kind::Goes => "goes",
        Kind::Renumbered => "has another id",
        Kind::Renamed => "is another resource",
        Kind::OtherHardware => "is other hardware",
        Kind::OtherPlugin => "is of another plugin",
        Kind::Regranted => "gives a container something else",
        Kind::Health => "has another health",
        Kind::Replicas => "has other replicas",
        Kind::Comes => "comes",
    }
}

fn summary(plan: &Plan) -> String {
    let changed = plan.nodes.iter().filter(|node| node.changes()).count();
    let all = plan.nodes.len();
    if changed == 0 {
        return format!("nothing changes on {}", count(all, "recorded node"));
    }
    let units = || plan.nodes.iter().flat_map(|node| &node.units);
    let failing = plan.nodes.iter().flat_map(|node| &node.plugins).filter(|plugin| plugin.is_worse).count();
    let ended = units().filter(|unit| unit.change.ends()).count();
    let counts = [
        (ended, "go or are others"),
        (units().filter(|unit| unit.lost).count(), "of them held"),
        (units().filter(|unit| unit.change == Kind::Comes).count(), "come"),
        (units().filter(|unit| unit.change == Kind::Regranted).count(), "give something else"),
        (units().filter(|unit| unit.change == Kind::Health).count(), "have another health"),
        (failing, "plugins fail that did not"),
    ];
    let mut text = format!("{changed} of {} change", count(all, "node"));
    for (n, what) in counts.into_iter().filter(|(n, _)| *n > 0) {
        let _ = write!(text, "; {n} {what}");
    }
    if ended > 0 && plan.nodes.iter().any(|node| !node.held_known && !node.units.is_empty()) {
        text += "; what is held is not known of every node (NAME.held.json)";
    }
    text
}

/// The command that shows most of what is wrong, where something is and the policy is a file.
fn next(plan: &Plan) -> String {
    let failing = plan.nodes.iter().find(|node| node.plugins.iter().any(|plugin| plugin.is_worse));
    let (Some(node), Some(options)) = (failing, &plan.options) else { return String::new() };
    format!("next: {} check --run{options} --node-root {}\n", program(), quoted(Path::new(&node.file)))
}
