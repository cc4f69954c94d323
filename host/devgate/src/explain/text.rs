//! What people read.

use super::Explanation;
use super::device::{ExplainedDevice, PluginSight, SelectorFacts};
use super::unit::{ExplainedUnit, LeftOutFacts};
use crate::output::{BAD, beyond, columns};
use std::fmt::Write;

/// Units beyond which a list says how many more there are.
const SHOWN: usize = 50;

/// What the plugins whose units are shown tell of the node.
fn labels(explanation: &Explanation) -> impl Iterator<Item = String> {
    let has_unit = |plugin: &str| explanation.units.iter().any(|unit| unit.plugin == plugin);
    let telling = explanation.plugins.iter().filter(move |facts| has_unit(&facts.plugin));
    let labels = telling.flat_map(|facts| &facts.labels);
    labels.map(|(name, value)| format!("{name}={value}"))
}

pub(super) fn of_explanation(explanation: &Explanation) -> String {
    let mut text = format!("{}\n", explanation.summary);
    if let Some(node) = &explanation.node {
        let number = node.number.as_deref().or(node.problem.as_deref()).unwrap_or_default();
        let _ = writeln!(text, "\nNode {}  {number}", node.path);
        for plugin in &node.plugins {
            let says = match (&plugin.granted, &plugin.withheld) {
                (Some(given), _) => format!("may hand it out (host-nodes): {}", given.access()),
                (None, Some(why)) => format!("lists it (host-nodes), but {why}"),
                (None, None) => continue,
            };
            let _ = writeln!(text, "  plugin {} {says}", plugin.plugin);
        }
    }
    for facts in &explanation.devices {
        device(&mut text, facts);
    }
    let concerned = explanation.plugins.iter();
    let concerned = concerned.filter(|facts| explanation.concerns(&facts.plugin));
    let broken = concerned.filter_map(|facts| {
        // Several lines where all missing imports are named.
        let why = facts.why.as_ref()?.replace('\n', "\n    ");
        Some(format!("{} ({}): {why}", facts.plugin, facts.outcome))
    });
    section(&mut text, "Plugins that offer nothing here", broken);
    units(&mut text, &explanation.units);
    section(&mut text, "Labels of the node", labels(explanation));
    let left = explanation.left_out.iter().map(|left| {
        let LeftOutFacts { plugin, resource, id, by, at } = left;
        format!("plugin {plugin}: id {id} of {resource}: {by}, {at}")
    });
    section(&mut text, "Left out by only or except", left);
    let rejected = explanation.rejected.iter();
    let rejected = rejected.map(|it| format!("plugin {}: {}: {}", it.plugin, it.what, it.why));
    section(&mut text, "Rejected by the gate", rejected);
    let said = explanation.said.iter();
    let said = said.map(|said| format!("plugin {} ({}): {}", said.plugin, said.level, said.text));
    section(&mut text, "What components said", said);
    text
}

/// Lines under a heading; nothing where there are none.
fn section(text: &mut String, heading: &str, lines: impl Iterator<Item = String>) {
    let lines: String = lines.map(|line| format!("  {line}\n")).collect();
    if !lines.is_empty() {
        *text += &format!("\n{heading}\n{lines}");
    }
}

fn device(text: &mut String, facts: &ExplainedDevice) {
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
    let (plugin, selectors) = (&sight.plugin, sight.selectors.iter());
    let same = selectors.filter(|selector| selector.subsystem == subsystem);
    if sight.usage.is_none() && same.clone().next().is_none() {
        let _ = writeln!(text, "  plugin {plugin} does not see it: no selector of {subsystem}");
        return;
    }
    let may = match sight.usage {
        Some("offer") => "may offer it",
        Some(_) => "may look at it, and not offer it (use: read)",
        None => "does not see it",
    };
    let through = sight.through.as_ref().map(|above| format!(", as a part of {above}"));
    let _ = writeln!(text, "  plugin {plugin} {may}{}", through.unwrap_or_default());
    let rows = same.map(|selector| {
        let says = match selector.unmet {
            None => "matches".to_owned(),
            Some(key) => format!("does not match: {key}"),
        };
        let SelectorFacts { at, subsystem, usage, .. } = selector;
        [at.clone(), subsystem.clone(), (*usage).to_owned(), says]
    });
    *text += &columns(4, &rows.collect::<Vec<_>>());
    for node in &sight.nodes {
        let _ = writeln!(text, "    node {} {}", node.path, node.access());
    }
    for withheld in &sight.withheld {
        let _ = writeln!(text, "    withheld: {}", withheld.why);
    }
}

fn units(text: &mut String, units: &[ExplainedUnit]) {
    if units.is_empty() {
        return;
    }
    *text += "\nUnits\n";
    let rows = units.iter().take(SHOWN).map(|unit| {
        let health = match (&unit.unhealthy, unit.says) {
            (None, _) => "healthy".to_owned(),
            (Some(why), Some("component")) => format!("{BAD}unhealthy{BAD:#}, says the component: {why}"),
            (Some(why), _) => format!("{BAD}unhealthy{BAD:#}: {why}"),
        };
        let also = unit.causes.iter().skip(1);
        let health = also.fold(health, |health, also| format!("{health}; also {}: {}", also.cause, also.reason));
        let health = match unit.held_by.as_slice() {
            [] => health,
            all => format!("{health}; held by {}", all.join(", ")),
        };
        let resource = match unit.devices {
            0 | 1 => unit.resource.clone(),
            times => format!("{} x {times}", unit.resource),
        };
        let nodes: Vec<_> = unit.nodes.iter().map(|node| node.path.as_str()).collect();
        [resource, unit.id.clone(), unit.plugin.clone(), nodes.join(" "), health]
    });
    let head = ["resource", "id", "plugin", "nodes", "health"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    *text += &columns(2, &rows);
    if let Some(more) = beyond(units.len(), SHOWN) {
        let _ = writeln!(text, "  and {more} more (--output json has all)");
    }
}
