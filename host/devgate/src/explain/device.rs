//! A kernel device or a node, and what each plugin's grants say of it.

use super::World;
use crate::survey::Given;
use devgate_core::{Grants, NotGranted, Withheld};
use devgate_node::DevicePath;
use devgate_policy::Use;
use devgate_types::escape;
use serde::Serialize;
use std::sync::Arc;

/// A node that was asked for.
#[derive(Debug, Serialize)]
pub(super) struct ExplainedNode {
    pub(super) path: String,
    /// Type, major and minor; nothing where it is not there.
    pub(super) number: Option<String>,
    /// Why it is not there.
    pub(super) problem: Option<String>,
    /// What plugins' `host-nodes` say of it, where they list it.
    pub(super) plugins: Vec<HostNode>,
}

/// What one plugin's `host-nodes` say of a node.
#[derive(Debug, Serialize)]
pub(super) struct HostNode {
    pub(super) plugin: String,
    /// How it may be given.
    pub(super) granted: Option<Given>,
    /// Why it is not.
    pub(super) withheld: Option<String>,
}

/// A kernel device.
#[derive(Debug, Serialize)]
pub(super) struct ExplainedDevice {
    pub(super) subsystem: String,
    pub(super) name: String,
    pub(super) location: String,
    pub(super) driver: Option<String>,
    pub(super) numa_node: Option<u32>,
    /// In the policy's order.
    pub(super) plugins: Vec<PluginSight>,
}

/// How one plugin sees a device.
#[derive(Debug, Serialize)]
pub(super) struct PluginSight {
    pub(super) plugin: String,
    /// `offer`, `read`, or nothing.
    #[serde(rename = "use")]
    pub(super) usage: Option<&'static str>,
    /// The device above that the selectors match.
    pub(super) through: Option<String>,
    pub(super) selectors: Vec<SelectorFacts>,
    pub(super) nodes: Vec<Given>,
    /// The nodes that the policy offers and the host does not give.
    pub(super) withheld: Vec<Withheld>,
}

/// What one selector says of a device.
#[derive(Debug, Serialize)]
pub(super) struct SelectorFacts {
    /// Where it is written: `policy.yaml:12`.
    pub(super) at: String,
    pub(super) subsystem: String,
    #[serde(rename = "use")]
    pub(super) usage: &'static str,
    /// The first key that does not hold.
    pub(super) unmet: Option<&'static str>,
}

pub(super) fn node_facts(world: &World, path: &str) -> ExplainedNode {
    let (number, problem) = match world.node.node_at(path) {
        Ok(node) => (Some(node.number.to_string()), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let plugins = world.policy.plugins.values().filter_map(|policy| {
        let grants = Grants::new(world.node.clone(), Arc::new(policy.clone()));
        let (granted, withheld) = match grants.node_at(path) {
            Ok(node) => (Some(Given::of(&node)), None),
            Err(NotGranted::Unlisted(_)) => return None,
            Err(why) => (None, Some(why.to_string())),
        };
        Some(HostNode { plugin: policy.name.to_string(), granted, withheld })
    });
    ExplainedNode { path: escape(path, 256), number, problem, plugins: plugins.collect() }
}

pub(super) fn device_facts(world: &World, device: &DevicePath) -> anyhow::Result<ExplainedDevice> {
    let subsystem = world.node.subsystem(device).ok().flatten();
    let mut plugins = Vec::new();
    for policy in world.policy.plugins.values() {
        let grants = Grants::new(world.node.clone(), Arc::new(policy.clone()));
        let sight = grants.sight(device)?;
        let answers = policy.hardware.iter().zip(sight.unmet);
        let selectors = answers.map(|(selector, unmet)| SelectorFacts {
            at: selector.origin.to_string(),
            subsystem: selector.subsystem.clone(),
            usage: selector.usage.as_str(),
            unmet,
        });
        plugins.push(PluginSight {
            plugin: policy.name.to_string(),
            usage: sight.usage.map(Use::as_str),
            through: sight.from.map(|from| escape(from.name(), 256)),
            selectors: selectors.collect(),
            nodes: sight.nodes.iter().map(Given::of).collect(),
            withheld: sight.withheld,
        });
    }
    Ok(ExplainedDevice {
        subsystem: escape(&subsystem.map(|s| s.name).unwrap_or_default(), 80),
        name: escape(device.name(), 256),
        location: escape(device.location(), 1024),
        driver: world.node.driver(device).map(|driver| escape(&driver, 80)),
        numa_node: world.node.numa_node(device),
        plugins,
    })
}
