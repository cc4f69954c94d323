//! What one policy does on one node: what each plugin may touch, what it offers, and what a container gets with each unit.

use crate::reply;
use devgate_core::workbench::Workbench;
use devgate_core::{Cause, Grants, Loader, Outcome, Surveyed, SurveyedUnit};
use devgate_node::Node;
use devgate_policy::{Control, PluginPolicy, Policy, Use};
use devgate_types::{Digest, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The longest value that is shown.
const SHOWN: usize = 256;

/// What a policy does on a node.
#[derive(Debug, Default)]
pub(super) struct Offered {
    /// By name.
    pub(super) plugins: BTreeMap<String, OfferedPlugin>,
    /// By id, which is one unit's alone.
    pub(super) units: BTreeMap<String, OfferedUnit>,
}

/// How far a plugin gets, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OfferedPlugin {
    /// `works`, `idle`, `not-loaded` or `failed`.
    pub(super) outcome: &'static str,
    /// Why it fails, where it does.
    pub(super) why: Option<String>,
    /// The digest of its component; `None` where that is not loaded.
    pub(super) component: Option<String>,
    /// What it may see, offer, read and write here, a line each.
    pub(super) grants: BTreeSet<String>,
}

/// A unit that the kubelet would be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OfferedUnit {
    pub(super) plugin: String,
    pub(super) resource: String,
    /// How many devices the kubelet would be told of: one for each replica.
    pub(super) devices: usize,
    /// What it is made of, and its nodes.
    pub(super) hardware: BTreeSet<String>,
    /// Why it could not be allocated, where that is so.
    pub(super) unhealthy: Option<String>,
    /// What a container gets with it, a line each.
    pub(super) gives: BTreeSet<String>,
}

impl Offered {
    pub(super) fn look(policy: &Policy, node: &Node, loader: &dyn Loader) -> anyhow::Result<Self> {
        let mut offered = Self::default();
        let surveyed = devgate_core::survey(policy, node, loader);
        for (plugin, surveyed) in policy.plugins.values().zip(&surveyed) {
            let looked = OfferedPlugin::look(plugin, node, surveyed, loader)?;
            offered.plugins.insert(plugin.name.to_string(), looked);
            let mut gives = match surveyed.outcome {
                Outcome::Answered => gives(plugin, node, loader),
                _ => BTreeMap::new(),
            };
            for unit in surveyed.units.iter().filter(|unit| !unit.causes.has(Cause::IdTaken)) {
                let gives = gives.remove(unit.id.as_str()).unwrap_or_default();
                offered.units.insert(unit.id.to_string(), OfferedUnit::of(plugin, unit, gives));
            }
        }
        Ok(offered)
    }
}

impl OfferedPlugin {
    fn look(plugin: &PluginPolicy, node: &Node, surveyed: &Surveyed, loader: &dyn Loader) -> anyhow::Result<Self> {
        let (outcome, why) = match &surveyed.outcome {
            Outcome::Answered => ("works", None),
            Outcome::Idle => ("idle", None),
            Outcome::NotLoaded(why) => ("not-loaded", Some(why.to_string())),
            Outcome::Blind(why) | Outcome::Failed(why) => ("failed", Some(why.clone())),
        };
        let is_loaded = matches!(surveyed.outcome, Outcome::Answered | Outcome::Failed(_));
        let component = is_loaded.then(|| loader.load(plugin).ok()?.profile().sha256).flatten();
        let component = component.map(|sha256| Digest(sha256).to_string());
        Ok(Self { outcome, why, component, grants: grants(plugin, node)? })
    }
}

impl OfferedUnit {
    fn of(plugin: &PluginPolicy, unit: &SurveyedUnit, gives: BTreeSet<String>) -> Self {
        let backing = unit.backing.iter().map(|device| device.location().to_owned());
        let own = unit.nodes.iter().filter(|node| !node.grant.shared);
        Self {
            plugin: plugin.name.to_string(),
            resource: unit.resource.to_string(),
            devices: unit.devices,
            hardware: backing.chain(own.map(|node| node.node.path.clone())).collect(),
            unhealthy: unit.causes.reason().map(|reason| reason.to_string()),
            gives,
        }
    }
}

/// What a plugin may touch on a node.
fn grants(plugin: &PluginPolicy, node: &Node) -> anyhow::Result<BTreeSet<String>> {
    let grants = Grants::new(node.clone(), Arc::new(plugin.clone()));
    let mut lines = BTreeSet::new();
    for found in grants.matches()? {
        let usage = match found.usage {
            Use::Offer => "may offer",
            _ => "sees",
        };
        lines.insert(format!("{usage} {}/{}", found.subsystem, found.device.name()));
    }
    let files = grants.files().into_iter().flat_map(|matched| matched.found);
    lines.extend(files.map(|path| format!("reads {}", escape(&path, SHOWN))));
    let nodes = grants.host_nodes().into_iter().flat_map(|matched| matched.found);
    lines.extend(nodes.map(|node| format!("may give {} ({})", escape(&node.node.path, SHOWN), node.grant.access)));
    lines.extend(plugin.kernel_log.iter().map(|line| format!("reads the kernel's log: {}", line.as_str())));
    lines.extend(plugin.control.iter().map(writes));
    lines.extend(plugin.wasi.iter().map(|name| format!("has wasi:{name}")));
    lines.extend(plugin.dangerous.iter().map(|word| format!("dangerous: {word}")));
    if plugin.state {
        lines.insert("keeps state".to_owned());
    }
    Ok(lines)
}

fn writes(control: &Control) -> String {
    let moments = [(control.prepare, "prepare"), (control.release, "release")];
    let moments: Vec<_> = moments.iter().filter(|(is_then, _)| *is_then).map(|(_, name)| *name).collect();
    let values: Vec<_> = control.values.iter().map(|value| escape(value, SHOWN)).collect();
    format!("writes {} at {}: {}", control.attribute, moments.join(" and "), values.join(", "))
}

/// What a container gets with each unit alone, by id. What cannot be asked has nothing here; the outcome says why.
fn gives(plugin: &PluginPolicy, node: &Node, loader: &dyn Loader) -> BTreeMap<String, BTreeSet<String>> {
    let mut gives = BTreeMap::new();
    let Ok(component) = loader.load(plugin) else { return gives };
    let Ok(bench) = Workbench::new(&Arc::new(plugin.clone()), node, component) else { return gives };
    let Ok(listed) = bench.enumerate() else { return gives };
    for pool in &listed.pools {
        for unit in &pool.units {
            let lines = match bench.allocate(pool, std::slice::from_ref(unit)) {
                Ok(reply) => reply::lines(&reply),
                Err(why) => BTreeSet::from([format!("nothing: {why}")]),
            };
            gives.insert(unit.id.to_string(), lines);
        }
    }
    gives
}
