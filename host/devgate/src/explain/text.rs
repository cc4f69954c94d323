//! What people read.

use super::Explanation;
use super::device::{DeviceFacts, Given, PluginSight};
use super::find::Found;
use super::unit::UnitFacts;
use crate::output::columns;
use std::fmt::Write;

/// Units beyond which a list says how many more there are.
const SHOWN: usize = 50;

/// The answer in one sentence.
pub(super) fn summary(explanation: &Explanation, found: &Found) -> String {
    let what = &explanation.what;
    let (all, healthy) = (
        explanation.units.len(),
        explanation.units.iter().filter(|unit| unit.unhealthy.is_none()).count(),
    );
    if let Some(resource) = &found.resource {
        return match (all, explanation.plugins.first()) {
            (0, None) => format!("{resource} is not offered: no plugin's resources has it"),
            (0, Some(plugin)) => {
                let why = first_line(plugin.why.as_deref());
                let why = why.unwrap_or("its component offers nothing that passes the gate");
                format!("{resource} is not offered: plugin {}: {why}", plugin.plugin)
            }
            _ if healthy == 0 => format!("{resource} is offered, and none of its {all} units can be allocated"),
            _ => format!("{resource} is offered: {healthy} of {all} units can be allocated"),
        };
    }
    let unit = explanation.units.iter().find(|unit| unit.unhealthy.is_none());
    match (unit, explanation.units.first()) {
        (Some(unit), _) => format!("{what} is offered as {}: {}", unit.resource, of(unit)),
        (None, Some(unit)) => {
            let why = unit.unhealthy.as_deref().unwrap_or_default();
            format!("{what} is {} and cannot be allocated: {why}", of(unit))
        }
        (None, None) => format!("{what} is not offered: {}", absence(explanation, found)),
    }
}

/// A refusal's table follows it elsewhere.
fn first_line(why: Option<&str>) -> Option<&str> {
    let line = why?.lines().next()?;
    Some(line.trim_end_matches(':'))
}

fn of(unit: &UnitFacts) -> String {
    format!("id {} of plugin {}", unit.id, unit.plugin)
}

/// Why no unit has to do with it: the first thing that stands in the way.
fn absence(explanation: &Explanation, found: &Found) -> String {
    if let Some(problem) = explanation.node.as_ref().and_then(|node| node.problem.as_ref()) {
        return format!("the node cannot be looked at: {problem}");
    }
    let named = explanation
        .rejected
        .iter()
        .find(|rejection| rejection.what.starts_with(&format!("id {} ", found.id())));
    if let Some(rejection) = named {
        return format!("{} was rejected: {}", rejection.what, rejection.why);
    }
    if let Some(left) = explanation.left_out.iter().find(|left| left.id == found.id()) {
        return format!("plugin {}'s only or except leaves it out ({})", left.plugin, left.at);
    }
    if explanation.devices.is_empty() && explanation.node.is_none() {
        return "this node has no such device, and no plugin such a unit".to_owned();
    }
    let sights = || explanation.devices.iter().flat_map(|device| &device.plugins);
    let listed = explanation.node.as_ref().map(|node| &node.plugins);
    let listed = listed.filter(|plugins| !plugins.is_empty());
    let withheld = listed.and_then(|plugins| plugins.iter().find_map(|plugin| plugin.withheld.as_ref()));
    if let Some(why) = withheld {
        return why.clone();
    }
    if let Some(sight) = sights().find(|sight| sight.usage == Some("offer")) {
        let plugin = explanation.plugins.iter().find(|facts| facts.plugin == sight.plugin);
        let why = plugin.and_then(|facts| first_line(facts.why.as_deref()));
        return match (why, sight.withheld.first()) {
            (Some(why), _) => format!("plugin {} may offer it, but does not work: {why}", sight.plugin),
            (None, Some(withheld)) => format!("plugin {} may offer it, but {}", sight.plugin, withheld.why),
            (None, None) => format!("plugin {} may offer it, and its component does not", sight.plugin),
        };
    }
    if let Some(plugin) = listed.and_then(|plugins| plugins.first()) {
        return format!("plugin {} may hand it out, and its component does not", plugin.plugin);
    }
    match sights().find(|sight| sight.usage == Some("read")) {
        Some(sight) => format!(
            "plugin {} may only look at it (use: offer would let it be offered)",
            sight.plugin
        ),
        None => "no plugin's policy grants it".to_owned(),
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
    if !explanation.left_out.is_empty() {
        text += "\nLeft out by only or except\n";
    }
    for left in &explanation.left_out {
        let _ = writeln!(
            text,
            "  plugin {}: id {} of {}: {}",
            left.plugin, left.id, left.resource, left.at
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
