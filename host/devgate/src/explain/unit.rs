//! Units, and the plugins that they would come from.

use super::device::{Given, given};
use super::find::Found;
use super::{Explanation, World};
use devgate_core::{LeftOut, LoadFailure, Outcome, Surveyed, SurveyedUnit};
use devgate_node::DevicePath;
use devgate_types::escape;
use serde::Serialize;
use std::collections::BTreeMap;

/// A plugin that has to do with what was asked for.
#[derive(Debug, Serialize)]
pub(super) struct PluginFacts {
    pub(super) plugin: String,
    /// `works`, `idle`, `not-loaded` or `failed`.
    pub(super) outcome: &'static str,
    /// Why it does not work.
    pub(super) why: Option<String>,
    /// What it may offer.
    pub(super) resources: Vec<String>,
    /// How many units of it may be handed out, and how many there are.
    pub(super) healthy: usize,
    pub(super) units: usize,
    /// The kernel names of devices that its component cannot describe now.
    pub(super) unread: Vec<String>,
    /// Devices that it may offer and that are part of no unit, as `subsystem/name`.
    pub(super) unused: Vec<String>,
    /// What it tells of the node.
    pub(super) labels: BTreeMap<String, String>,
}

/// A unit that passed the gate.
#[derive(Debug, Serialize)]
pub(super) struct UnitFacts {
    pub(super) plugin: String,
    pub(super) resource: String,
    pub(super) id: String,
    /// How many devices the kubelet is told of.
    pub(super) devices: usize,
    /// Why it may not be handed out; nothing where it may.
    pub(super) unhealthy: Option<String>,
    /// Who says so: `exclusivity`, `host` or `component`.
    pub(super) says: Option<&'static str>,
    /// Whether the kubelet is not even told of it.
    pub(super) hidden: bool,
    pub(super) backing: Vec<String>,
    pub(super) nodes: Vec<Given>,
    pub(super) numa_nodes: Vec<u32>,
    pub(super) properties: Vec<Property>,
}

#[derive(Debug, Serialize)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) value: String,
}

/// What the gate did not let through.
#[derive(Debug, Serialize)]
pub(super) struct RejectionFacts {
    pub(super) plugin: String,
    pub(super) what: String,
    pub(super) why: String,
}

/// A line that was said while a component was asked.
#[derive(Debug, Serialize)]
pub(super) struct Said {
    pub(super) plugin: String,
    /// `info`, `warn` or `error`, as its component has it; `refused` for what that asked for and did not get.
    pub(super) level: &'static str,
    pub(super) text: String,
}

/// A unit that `only` or `except` leaves out.
#[derive(Debug, Serialize)]
pub(super) struct LeftOutFacts {
    pub(super) plugin: String,
    /// As the component names it.
    pub(super) resource: String,
    pub(super) id: String,
    /// `only` or `except`.
    pub(super) by: &'static str,
    /// The filter, or the first of `only` where none of them matches.
    pub(super) at: String,
}

/// Those that are it, or are made of it.
pub(super) fn left_out(world: &World, found: &Found) -> Vec<LeftOutFacts> {
    let mut all = Vec::new();
    for surveyed in &world.surveyed {
        let policy = world.policy.plugins.get(&surveyed.name);
        let is_except = |left: &LeftOut| {
            policy.is_some_and(|policy| policy.except.iter().any(|filter| filter.origin == left.origin))
        };
        let left = surveyed.left.iter().filter(|left| found.is_left(left));
        all.extend(left.map(|left| LeftOutFacts {
            plugin: surveyed.name.to_string(),
            resource: left.resource.to_string(),
            id: left.id.to_string(),
            by: if is_except(left) { "except" } else { "only" },
            at: left.origin.to_string(),
        }));
    }
    all
}

/// What was said in the calls of the plugins that have to do with it.
pub(super) fn said(world: &World, explanation: &Explanation) -> Vec<Said> {
    let shown = |surveyed: &&Surveyed| {
        let name = surveyed.name.as_str();
        explanation.concerns(name) && explanation.plugins.iter().any(|facts| facts.plugin == name)
    };
    let of = |surveyed: &Surveyed| {
        let plugin = surveyed.name.to_string();
        let lines = surveyed.lines.iter().map(|line| Said {
            plugin: plugin.clone(),
            level: crate::said::level(line),
            text: line.text.clone(),
        });
        lines.collect::<Vec<_>>()
    };
    world.surveyed.iter().filter(shown).flat_map(of).collect()
}

/// Those that may offer the resource or see the devices; where nothing is known of it, all.
pub(super) fn plugins(world: &World, found: &Found) -> Vec<PluginFacts> {
    let all = world.surveyed.iter().map(|surveyed| facts(world, surveyed));
    let Some(resource) = &found.resource else {
        return all.collect();
    };
    let offers = |surveyed: &&Surveyed| {
        let policy = world.policy.plugins.get(&surveyed.name);
        policy.is_some_and(|policy| policy.grants_resource(resource))
    };
    let offering = world.surveyed.iter().filter(offers);
    offering.map(|surveyed| facts(world, surveyed)).collect()
}

fn facts(world: &World, surveyed: &Surveyed) -> PluginFacts {
    // Whoever shows it says whose it is.
    let prefix = format!("plugin {}: ", surveyed.name);
    let plain = |why: &str| why.strip_prefix(&prefix).unwrap_or(why).to_owned();
    let (outcome, why) = match &surveyed.outcome {
        Outcome::Answered => ("works", None),
        Outcome::Idle => (
            "idle",
            Some("no selector matches a device of this node, so its component is not run".to_owned()),
        ),
        Outcome::Blind(why) | Outcome::Failed(why) => ("failed", Some(plain(why))),
        Outcome::NotLoaded(LoadFailure::Refused(why) | LoadFailure::Guest(why) | LoadFailure::Host(why)) => {
            ("not-loaded", Some(plain(why)))
        }
    };
    let policy = world.policy.plugins.get(&surveyed.name);
    let resources = policy.map(|policy| policy.resources.iter().map(ToString::to_string).collect());
    let healthy = surveyed.units.iter().filter(|unit| unit.unhealthy().is_none());
    PluginFacts {
        plugin: surveyed.name.to_string(),
        outcome,
        why,
        resources: resources.unwrap_or_default(),
        healthy: healthy.count(),
        units: surveyed.units.len(),
        unread: surveyed.unread.iter().map(|name| escape(name, 256)).collect(),
        unused: surveyed.unused.iter().map(|device| named(world, device)).collect(),
        labels: surveyed.labels.labels.clone(),
    }
}

/// As somebody asks for it.
fn named(world: &World, device: &DevicePath) -> String {
    let subsystem = world.node.subsystem(device).ok().flatten();
    let subsystem = subsystem.map(|subsystem| format!("{}/", subsystem.name));
    escape(&format!("{}{}", subsystem.unwrap_or_default(), device.name()), 256)
}

pub(super) fn units(world: &World, found: &Found) -> Vec<UnitFacts> {
    let of = |surveyed: &Surveyed| {
        let plugin = surveyed.name.to_string();
        let units = surveyed.units.iter().filter(|unit| found.is(unit));
        units.map(|unit| unit_facts(&plugin, unit)).collect::<Vec<_>>()
    };
    world.surveyed.iter().flat_map(of).collect()
}

fn unit_facts(plugin: &str, unit: &SurveyedUnit) -> UnitFacts {
    let says = match (&unit.lost, &unit.problem, &unit.verdict) {
        (Some(_), _, _) => Some("exclusivity"),
        (None, Some(_), _) => Some("host"),
        (None, None, Some(_)) => Some("component"),
        (None, None, None) => None,
    };
    let properties = unit.properties.iter().map(|(name, value)| Property {
        name: escape(name, 128),
        value: escape(value, 256),
    });
    UnitFacts {
        plugin: plugin.to_owned(),
        resource: unit.resource.to_string(),
        id: unit.id.to_string(),
        devices: unit.devices,
        unhealthy: unit.unhealthy().map(ToString::to_string),
        says,
        hidden: unit.hidden,
        backing: unit.backing.iter().map(|device| escape(device.name(), 256)).collect(),
        nodes: unit.nodes.iter().map(given).collect(),
        numa_nodes: unit.numa_nodes.iter().copied().collect(),
        properties: properties.collect(),
    }
}

/// Where units may be meant, the rejected ones as well: those of the id or resource, and all others of a plugin that may see the
/// device, since what was rejected is known by its id alone.
pub(super) fn rejected(world: &World, found: &Found) -> Vec<RejectionFacts> {
    let mut rejected = Vec::new();
    for surveyed in &world.surveyed {
        let offers = |resource| {
            let policy = world.policy.plugins.get(&surveyed.name);
            policy.is_some_and(|policy| policy.grants_resource(resource))
        };
        for rejection in &surveyed.rejected {
            let named = rejection.what.contains(found.id());
            let resource = found.resource.as_ref().is_some_and(offers);
            if named || resource || !found.devices.is_empty() || found.node.is_some() {
                rejected.push(RejectionFacts {
                    plugin: surveyed.name.to_string(),
                    what: rejection.what.clone(),
                    why: rejection.why.clone(),
                });
            }
        }
    }
    rejected
}
