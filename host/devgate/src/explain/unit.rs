//! Units, and the plugins that they would come from.

use super::find::Target;
use super::{Explanation, World};
use crate::monitoring::Report;
use crate::status::text::short;
use crate::survey::{self, Given};
use devgate_core::status::{CauseStatus, DeviceStatus};
use devgate_core::{Cause, LeftOut, Outcome, Surveyed, SurveyedUnit};
use devgate_node::DevicePath;
use devgate_policy::PluginPolicy;
use devgate_types::escape;
use serde::Serialize;
use std::collections::BTreeMap;

/// A plugin that has to do with what was asked for.
#[derive(Debug, Serialize)]
pub(super) struct ExplainedPlugin {
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
pub(super) struct ExplainedUnit {
    pub(super) plugin: String,
    pub(super) resource: String,
    pub(super) id: String,
    /// How many devices the kubelet is told of.
    pub(super) devices: usize,
    /// Why it may not be handed out; nothing where it may.
    pub(super) unhealthy: Option<String>,
    /// Who says so: `exclusivity`, `host` or `component`.
    pub(super) says: Option<&'static str>,
    /// All that speaks against it, the one above first. Besides those of the host, `rejected` and `comes-and-goes`.
    pub(super) causes: Vec<CauseStatus>,
    /// Who has it or a replica of it, as the host that runs here knows.
    pub(super) held_by: Vec<String>,
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
pub(super) fn left_out(world: &World, target: &Target) -> Vec<LeftOutFacts> {
    let is_except = |policy: &PluginPolicy, left: &LeftOut| policy.except.iter().any(|it| it.origin == left.origin);
    let left = world.plugins().flat_map(|(policy, surveyed)| {
        let left = surveyed.left.iter().filter(|left| target.is_left(left));
        left.map(move |left| (policy, left))
    });
    let facts = left.map(|(policy, left)| LeftOutFacts {
        plugin: policy.name.to_string(),
        resource: left.resource.to_string(),
        id: left.id.to_string(),
        by: if is_except(policy, left) { "except" } else { "only" },
        at: left.origin.to_string(),
    });
    facts.collect()
}

/// What was said in the calls of the plugins that have to do with it.
pub(super) fn said(world: &World, explanation: &Explanation) -> Vec<Said> {
    let shown = |surveyed: &&Surveyed| {
        let name = surveyed.name.as_str();
        explanation.concerns(name) && explanation.plugins.iter().any(|facts| facts.plugin == name)
    };
    let surveyed = world.surveyed.iter().filter(shown);
    let lines = surveyed.flat_map(|surveyed| surveyed.lines.iter().map(|line| (&surveyed.name, line)));
    let said = lines.map(|(plugin, line)| Said {
        plugin: plugin.to_string(),
        level: survey::level(line),
        text: line.text.clone(),
    });
    said.collect()
}

/// Those that may offer the resource or see the devices; where nothing is known of it, all.
pub(super) fn plugins(world: &World, target: &Target) -> Vec<ExplainedPlugin> {
    let may_offer = |policy: &PluginPolicy| {
        let resource = target.resource.as_ref();
        resource.is_none_or(|resource| policy.grants_resource(resource))
    };
    let plugins = world.plugins().filter(|(policy, _)| may_offer(policy));
    plugins.map(|(policy, surveyed)| facts(world, policy, surveyed)).collect()
}

fn facts(world: &World, policy: &PluginPolicy, surveyed: &Surveyed) -> ExplainedPlugin {
    let idle = || "no selector matches a device of this node, so its component is not run".to_owned();
    let why = surveyed.outcome.why().or_else(|| (surveyed.outcome == Outcome::Idle).then(idle));
    let healthy = surveyed.units.iter().filter(|unit| unit.causes.is_empty());
    ExplainedPlugin {
        plugin: surveyed.name.to_string(),
        outcome: surveyed.outcome.as_str(),
        why: why.map(|why| survey::without_plugin(&why, &surveyed.name)),
        resources: policy.resources.iter().map(ToString::to_string).collect(),
        healthy: healthy.count(),
        units: surveyed.units.len(),
        unread: surveyed.unread.iter().map(|name| escape(name, 256)).collect(),
        unused: surveyed.unused.iter().map(|device| named(world, device)).collect(),
        labels: surveyed.labels.labels.clone(),
    }
}

/// As an admin asks for it.
fn named(world: &World, device: &DevicePath) -> String {
    let subsystem = world.node.subsystem(device).ok().flatten();
    let subsystem = subsystem.map(|subsystem| format!("{}/", subsystem.name));
    escape(&format!("{}{}", subsystem.unwrap_or_default(), device.name()), 256)
}

pub(super) fn units(world: &World, target: &Target) -> Vec<ExplainedUnit> {
    let units = world.surveyed.iter().flat_map(|surveyed| {
        let units = surveyed.units.iter().filter(|unit| target.is(unit));
        units.map(|unit| unit_facts(surveyed.name.as_str(), unit))
    });
    let mut units: Vec<_> = units.collect();
    if let Some(running) = &world.running {
        units.iter_mut().for_each(|unit| unit.add(running));
    }
    units
}

fn unit_facts(plugin: &str, unit: &SurveyedUnit) -> ExplainedUnit {
    let SurveyedUnit { record, .. } = unit;
    let properties =
        record.properties.iter().map(|(name, value)| Property { name: escape(name, 128), value: escape(value, 256) });
    let mut facts = ExplainedUnit {
        plugin: plugin.to_owned(),
        resource: unit.resource.to_string(),
        id: record.id.to_string(),
        devices: unit.devices,
        unhealthy: None,
        says: None,
        causes: CauseStatus::of(&unit.causes),
        held_by: Vec::new(),
        hidden: false,
        backing: record.backing.iter().map(|device| escape(device.name(), 256)).collect(),
        nodes: unit.nodes().map(Given::of).collect(),
        numa_nodes: record.numa_nodes.iter().copied().collect(),
        properties: properties.collect(),
    };
    facts.judge();
    facts
}

impl ExplainedUnit {
    /// Makes up its mind by what speaks against it.
    fn judge(&mut self) {
        let is = |cause: &CauseStatus, any: &[Cause]| any.iter().any(|it| it.as_str() == cause.cause);
        let exclusivity = [Cause::IdTaken, Cause::Conflict];
        self.unhealthy = self.causes.first().map(|cause| cause.reason.clone());
        self.says = self.causes.first().map(|cause| match cause {
            lost if is(lost, &exclusivity) => "exclusivity",
            unhealthy if is(unhealthy, &[Cause::Unhealthy]) => "component",
            _ => "host",
        });
        self.hidden = self.causes.iter().any(|cause| is(cause, &[Cause::IdTaken]));
    }

    /// Adds what the host that runs here has against it: that remembers what no look at the node shows.
    pub(super) fn add(&mut self, running: &Report) {
        let plugin = running.plugins.iter().find(|plugin| plugin.name == self.plugin);
        let mut resources = plugin.into_iter().flat_map(|plugin| &plugin.resources);
        let resource = resources.find(|resource| resource.name == self.resource);
        let mut devices = resource.into_iter().flat_map(|resource| &resource.devices);
        let device = devices.find(|device| device.id == self.id);
        let mut more: Vec<_> = device.into_iter().flat_map(|device| &device.causes).cloned().collect();
        let another = |cause: &str, reason: String| CauseStatus { cause: cause.to_owned(), reason };
        let mut rejected = plugin.into_iter().flat_map(|plugin| &plugin.rejected);
        if let (None, Some(it)) = (device, rejected.find(|it| it.names(&self.resource, &self.id))) {
            more.push(another("rejected", format!("the host that runs here rejects {}: {}", it.what, it.why)));
        }
        if let Some(until) = running.hidden_until(&self.resource, &self.id) {
            let left = short(running.now.ago(until));
            more.push(another("comes-and-goes", format!("the kubelet is shown it as unhealthy for another {left}")));
        }
        self.held_by = device.map(DeviceStatus::held_by).unwrap_or_default();
        for cause in more {
            if self.causes.iter().all(|known| known.cause != cause.cause) {
                self.causes.push(cause);
            }
        }
        let rank = |cause: &CauseStatus| Cause::ALL.iter().position(|it| it.as_str() == cause.cause);
        self.causes.sort_by_key(|cause| rank(cause).unwrap_or(usize::MAX));
        self.judge();
    }
}

/// Where units may be meant, the rejected ones as well: those of the id or resource, and all others of a plugin that may see the
/// device, since what was rejected is known by its id alone.
pub(super) fn rejected(world: &World, target: &Target) -> Vec<RejectionFacts> {
    let is_device = !target.devices.is_empty() || target.node.is_some();
    let rejected = world.plugins().flat_map(|(policy, surveyed)| {
        let resource = target.resource.as_ref();
        let all = is_device || resource.is_some_and(|resource| policy.grants_resource(resource));
        let rejected = surveyed.rejected.iter();
        let meant = rejected.filter(move |rejection| all || rejection.what.contains(target.id()));
        meant.map(|rejection| RejectionFacts {
            plugin: policy.name.to_string(),
            what: rejection.what.clone(),
            why: rejection.why.clone(),
        })
    });
    rejected.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitoring::tests::one;

    fn unit(id: &str) -> ExplainedUnit {
        ExplainedUnit {
            plugin: "edge".into(),
            resource: "devgate.dev/fuse".into(),
            id: id.into(),
            devices: 4,
            unhealthy: None,
            says: None,
            causes: Vec::new(),
            held_by: Vec::new(),
            hidden: false,
            backing: Vec::new(),
            nodes: Vec::new(),
            numa_nodes: Vec::new(),
            properties: Vec::new(),
        }
    }

    /// What no look at the node shows: who has it, that the kubelet is shown it otherwise, and that the host rejects it.
    #[test]
    fn what_the_host_that_runs_knows_is_added() {
        let running = one();
        let told = |id: &str| {
            let mut unit = unit(id);
            unit.add(&running);
            (unit.unhealthy.unwrap_or_default(), unit.held_by)
        };
        let hidden = "the kubelet is shown it as unhealthy for another 12s".to_owned();
        assert_eq!(told("fuse"), (hidden, vec!["team-a/train-0 (main)".to_owned()]));
        let rejected = "the host that runs here rejects id x of devgate.dev/fuse: its node is not offered".to_owned();
        assert_eq!(told("x"), (rejected, Vec::new()));
        assert_eq!(told("fus"), (String::new(), Vec::new()));
    }
}
