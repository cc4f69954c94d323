//! `--run`: what comes of it when each component is started once.
//!
//! Behind a flag, because compiling takes seconds for some languages, and because a component's answer belongs to one moment of
//! one node, while the rest of `check` holds as long as the policy and the node do.

use super::PluginReport;
use crate::components::Components;
use crate::output::{few, named};
use crate::survey;
use devgate_core::status::{ConditionStatus, Nothing};
use devgate_core::{Outcome, Surveyed, SurveyedUnit};
use devgate_node::Node;
use devgate_policy::{Facts, Policy};
use devgate_runner::Runners;
use devgate_types::{AttributeValue, escape};
use serde::Serialize;
use std::collections::BTreeMap;

/// Findings of one kind that are shown one by one.
const SHOWN: usize = 16;
/// Devices that one finding names.
const NAMED: usize = 3;

/// What a plugin would offer.
#[derive(Debug, Serialize)]
pub(super) struct UnitCounts {
    pub(super) units: usize,
    pub(super) healthy: usize,
    /// How many pools and units the gate did not let through; a pool counts once, whatever is in it.
    pub(super) rejected: usize,
    /// How many of these are whole pools.
    pub(super) rejected_pools: usize,
}

/// A unit, as schedulers would know it.
#[derive(Debug, Serialize)]
pub(super) struct Published {
    pub(super) id: String,
    /// As text, by their names.
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) capacity: BTreeMap<String, u64>,
    /// What is not as it should be with it.
    pub(super) conditions: Vec<ConditionStatus>,
}

impl Published {
    fn of(unit: &SurveyedUnit, facts: &Facts) -> Self {
        let text = |value: &AttributeValue| match value {
            AttributeValue::Int(number) => number.to_string(),
            AttributeValue::Bool(is) => is.to_string(),
            AttributeValue::Text(text) | AttributeValue::Version(text) => text.clone(),
        };
        let attributes = facts.attributes.iter().map(|(name, value)| (name.clone(), text(value)));
        Self {
            id: unit.record.id.to_string(),
            attributes: attributes.collect(),
            capacity: facts.capacity.clone(),
            conditions: unit.conditions.iter().map(ConditionStatus::of).collect(),
        }
    }
}

/// A line that was said while the component was asked.
#[derive(Debug, Serialize)]
pub(super) struct Said {
    /// `info`, `warn` or `error`, as the component has it; `refused` for what it asked for and did not get.
    pub(super) level: &'static str,
    pub(super) text: String,
}

pub(super) fn look(
    runners: Runners,
    components: &Components,
    policy: &Policy,
    node: &Node,
    plugins: &mut [PluginReport],
) {
    let surveyed = survey::survey(runners, components.clone(), policy, node);
    for (report, surveyed) in plugins.iter_mut().zip(&surveyed) {
        outcome(report, surveyed);
        units(report, surveyed);
        labels(report, surveyed);
        published(report, surveyed);
    }
}

fn outcome(report: &mut PluginReport, surveyed: &Surveyed) {
    let has = |start: &str| report.findings.iter().any(|finding| finding.code.starts_with(start));
    match &surveyed.outcome {
        Outcome::Failed(why) => report.finds("call-failed", why.clone()),
        // What can be known without compiling has been said, all of it.
        Outcome::NotLoaded(why) if !has("component-") && !has("import-") => report.finds("not-loaded", why.to_string()),
        Outcome::Blind(why) if !has("node-unreadable") => report.finds("node-unreadable", why.clone()),
        Outcome::NotLoaded(_) | Outcome::Blind(_) | Outcome::Idle | Outcome::Answered => {}
    }
}

fn units(report: &mut PluginReport, surveyed: &Surveyed) {
    report.outcome = Some(surveyed.outcome.as_str());
    let said = surveyed.lines.iter().map(|line| Said { level: survey::level(line), text: line.text.clone() });
    report.said = said.collect();
    if surveyed.outcome != Outcome::Answered {
        return;
    }
    let unhealthy = surveyed.units.iter().filter_map(|unit| {
        let why = unit.causes.reason()?;
        Some(format!("id {} of {}: {why}", unit.record.id, unit.resource))
    });
    let rejected = surveyed.rejected.iter().map(ToString::to_string);
    for (code, all) in [("unit-unhealthy", unhealthy.collect::<Vec<_>>()), ("unit-rejected", rejected.collect())] {
        for message in few(all, SHOWN, |more| format!("and {more} more; `devgate explain` has each")) {
            report.finds(code, message);
        }
    }
    let (listed, rejected) = (!surveyed.units.is_empty(), !surveyed.rejected.is_empty());
    let (unread, left_out) = (!surveyed.unread.is_empty(), !surveyed.left.is_empty());
    if let Some(nothing) = Nothing::of(listed, rejected, unread, left_out) {
        report.finds(nothing.code(), nothing.as_str());
    }
    unused(report, surveyed);
    let healthy = surveyed.units.iter().filter(|unit| unit.causes.is_empty());
    let pools = surveyed.rejected.iter().filter(|it| it.what.starts_with("resource "));
    report.units = Some(UnitCounts {
        units: surveyed.units.len(),
        healthy: healthy.count(),
        rejected: surveyed.rejected.len(),
        rejected_pools: pools.count(),
    });
}

/// What it would tell of the node, and what it would not although the policy wants it.
fn labels(report: &mut PluginReport, surveyed: &Surveyed) {
    report.labels.clone_from(&surveyed.labels.labels);
    for missing in &surveyed.labels.missing {
        report.finds("label-missing", format!("no label {}: {}", missing.name, missing.why));
    }
}

/// What schedulers would be told of its units, and what they would not although the policy names it.
fn published(report: &mut PluginReport, surveyed: &Surveyed) {
    let told = surveyed.units.iter().filter_map(|unit| Some((unit, unit.facts.as_ref()?)));
    let mut missing = Vec::new();
    for (unit, facts) in told {
        let id = &unit.record.id;
        let so = if facts.is_less { ", and it is not published" } else { "" };
        missing.extend(facts.missing.iter().map(|what| format!("id {id}: dra: {what}{so}")));
        if !facts.is_less {
            report.published.push(Published::of(unit, facts));
        }
    }
    for message in few(missing, SHOWN, |more| format!("and {more} more of this kind")) {
        report.finds("attribute-missing", message);
    }
}

/// Devices that the policy offers and the component makes nothing of.
fn unused(report: &mut PluginReport, surveyed: &Surveyed) {
    let names = surveyed.unused.iter().map(|device| {
        let unread = surveyed.unread.contains(device.name());
        let says = if unread { " (which its component cannot describe now)" } else { "" };
        format!("{}{says}", escape(device.name(), 128))
    });
    let (what, backs) = match surveyed.unused.len() {
        0 => return,
        1 => ("device", "backs"),
        _ => ("devices", "back"),
    };
    let message = format!(
        "{} offered {what} {backs} no unit: {}",
        surveyed.unused.len(),
        named(&names.collect::<Vec<_>>(), NAMED, ", ")
    );
    report.finds("device-unused", message);
}
