//! What people read.

use super::Explanation;
use super::device::{DeviceFacts, Given, PluginSight};
use super::unit::UnitFacts;
use crate::output::columns;
use std::fmt::Write;

/// Units beyond which a list says how many more there are.
const SHOWN: usize = 50;

/// What the plugins whose units are shown tell of the node.
fn labels(text: &mut String, explanation: &Explanation) {
    let has_unit = |plugin: &str| explanation.units.iter().any(|unit| unit.plugin == plugin);
    let telling = explanation.plugins.iter().filter(|facts| has_unit(&facts.plugin));
    let labels: Vec<_> = telling.flat_map(|facts| &facts.labels).collect();
    if !labels.is_empty() {
        *text += "\nLabels of the node\n";
    }
    for (name, value) in labels {
        let _ = writeln!(text, "  {name}={value}");
    }
}

pub(super) fn of_explanation(explanation: &Explanation) -> String {
    let mut text = format!("{}\n", explanation.summary);
    if let Some(node) = &explanation.node {
        let number = node.number.as_deref().or(node.problem.as_deref()).unwrap_or_default();
        let _ = writeln!(text, "\nNode {}  {number}", node.path);
        for plugin in &node.plugins {
            let says = match (&plugin.granted, &plugin.withheld) {
                (Some(given), _) => format!("may hand it out (host-nodes): {}", access(given)),
                (None, Some(why)) => format!("lists it (host-nodes), but {why}"),
                (None, None) => continue,
            };
            let _ = writeln!(text, "  plugin {} {says}", plugin.plugin);
        }
    }
    for facts in &explanation.devices {
        device(&mut text, facts);
    }
    let broken: Vec<_> = explanation
        .plugins
        .iter()
        .filter(|facts| explanation.concerns(&facts.plugin))
        .filter_map(|facts| Some((facts, facts.why.as_ref()?)))
        .collect();
    if !broken.is_empty() {
        text += "\nPlugins that offer nothing here\n";
    }
    for (facts, why) in broken {
        // Several lines where all missing imports are named.
        let _ = writeln!(
            text,
            "  {} ({}): {}",
            facts.plugin,
            facts.outcome,
            why.replace('\n', "\n    ")
        );
    }
    units(&mut text, &explanation.units);
    labels(&mut text, explanation);
    if !explanation.left_out.is_empty() {
        text += "\nLeft out by only or except\n";
    }
    for left in &explanation.left_out {
        let _ = writeln!(
            text,
            "  plugin {}: id {} of {}: {}, {}",
            left.plugin, left.id, left.resource, left.by, left.at
        );
    }
    if !explanation.rejected.is_empty() {
        text += "\nRejected by the gate\n";
    }
    for rejection in &explanation.rejected {
        let _ = writeln!(
            text,
            "  plugin {}: {}: {}",
            rejection.plugin, rejection.what, rejection.why
        );
    }
    if !explanation.said.is_empty() {
        text += "\nWhat components said\n";
    }
    for said in &explanation.said {
        let _ = writeln!(text, "  plugin {} ({}): {}", said.plugin, said.level, said.text);
    }
    text
}

fn device(text: &mut String, facts: &DeviceFacts) {
    let driver = facts.driver.as_ref();
    let driver = driver.map_or("no driver".to_owned(), |driver| format!("driver {driver}"));
    let numa = facts.numa_node.map(|n| format!(", NUMA node {n}")).unwrap_or_default();
    let _ = writeln!(text, "\nDevice {}/{}  {driver}{numa}", facts.subsystem, facts.name);
    let _ = writeln!(text, "  {}", facts.location);
    for sight in &facts.plugins {
        sight_of(text, sight, &facts.subsystem);
    }
}

fn sight_of(text: &mut String, sight: &PluginSight, subsystem: &str) {
    let same = sight
        .selectors
        .iter()
        .filter(|selector| selector.subsystem == subsystem);
    if sight.usage.is_none() && same.clone().next().is_none() {
        let _ = writeln!(
            text,
            "  plugin {} does not see it: no selector of {subsystem}",
            sight.plugin
        );
        return;
    }
    let may = match sight.usage {
        Some("offer") => "may offer it",
        Some(_) => "may look at it, and not offer it (use: read)",
        None => "does not see it",
    };
    let through = sight.through.as_ref();
    let through = through
        .map(|above| format!(", as a part of {above}"))
        .unwrap_or_default();
    let _ = writeln!(text, "  plugin {} {may}{through}", sight.plugin);
    let rows = same.map(|selector| {
        let says = match selector.unmet {
            None => "matches".to_owned(),
            Some(key) => format!("does not match: {key}"),
        };
        [
            selector.at.clone(),
            selector.subsystem.clone(),
            selector.usage.to_owned(),
            says,
        ]
    });
    *text += &columns(4, &rows.collect::<Vec<_>>());
    for node in &sight.nodes {
        let _ = writeln!(text, "    node {} {}", node.path, access(node));
    }
    for withheld in &sight.withheld {
        let _ = writeln!(text, "    withheld: {}", withheld.why);
    }
}

fn units(text: &mut String, units: &[UnitFacts]) {
    if units.is_empty() {
        return;
    }
    *text += "\nUnits\n";
    let rows = units.iter().take(SHOWN).map(|unit| {
        let health = match (&unit.unhealthy, unit.says) {
            (None, _) => "healthy".to_owned(),
            (Some(why), Some("component")) => format!("unhealthy, says the component: {why}"),
            (Some(why), _) => format!("unhealthy: {why}"),
        };
        let times = if unit.devices > 1 {
            format!(" x {}", unit.devices)
        } else {
            String::new()
        };
        let nodes: Vec<_> = unit.nodes.iter().map(|node| node.path.as_str()).collect();
        [
            format!("{}{times}", unit.resource),
            unit.id.clone(),
            unit.plugin.clone(),
            nodes.join(" "),
            health,
        ]
    });
    let head = ["resource", "id", "plugin", "nodes", "health"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    *text += &columns(2, &rows);
    if let Some(more @ 1..) = units.len().checked_sub(SHOWN) {
        let _ = writeln!(text, "  and {more} more (--output json has all)");
    }
}

fn access(node: &Given) -> String {
    let shared = if node.shared { ", shared" } else { "" };
    format!("{}{shared}", node.access)
}
