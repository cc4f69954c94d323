//! What one policy does on one node: what each plugin may touch, what it offers, and what a container gets with each unit.

use crate::reply;
use devgate_core::workbench::{ListedPool, ListedUnit, Workbench};
use devgate_core::{Cause, Grants, LoadFailure, Loader, Outcome, Surveyed, SurveyedUnit};
use devgate_node::Node;
use devgate_policy::{Control, PluginPolicy, Policy, Use};
use devgate_types::{Digest, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The longest value that is shown.
const SHOWN: usize = 256;

/// What a policy does on a node.
#[derive(Debug, Default)]
pub(crate) struct Offered {
    /// By name.
    pub(crate) plugins: BTreeMap<String, OfferedPlugin>,
    /// By id, which is one unit's alone.
    pub(crate) units: BTreeMap<String, OfferedUnit>,
}

/// How far a plugin gets, and by what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OfferedPlugin {
    /// `works`, `idle`, `not-loaded` or `failed`.
    pub(crate) outcome: &'static str,
    /// Why it fails, where it does.
    pub(crate) why: Option<String>,
    /// The digest of its component; `None` where that is not loaded.
    pub(crate) component: Option<String>,
    /// What it may see, offer, read and write here, a line each.
    pub(crate) grants: BTreeSet<String>,
    /// What it lists after the gate, whatever another plugin claims of it: by resource and id, what each unit is made of.
    pub(crate) listed: BTreeMap<(String, String), BTreeSet<String>>,
    /// How many times each unit is offered.
    pub(crate) replicas: u32,
    /// Its entry, to be compared with another.
    pub(crate) policy: PluginPolicy,
    /// Whether its component could not even be had, so that nothing is known of it.
    pub(crate) is_missing: bool,
    /// What it lists and the kubelet is not shown, with the reason.
    pub(crate) absent: BTreeMap<String, String>,
    /// What its component said, and what that asked for and did not get.
    pub(crate) said: Vec<String>,
}

/// A unit that the kubelet would be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfferedUnit {
    pub(crate) plugin: String,
    pub(crate) resource: String,
    /// How many devices the kubelet would be told of: one for each replica.
    pub(crate) devices: usize,
    /// What it is made of, and its nodes.
    pub(crate) hardware: BTreeSet<String>,
    /// Why it could not be allocated, where that is so.
    pub(crate) unhealthy: Option<String>,
    /// What a container gets with it, a line each.
    pub(crate) gives: BTreeSet<String>,
}

impl Offered {
    pub(crate) fn look(policy: &Policy, node: &Node, loader: &dyn Loader) -> anyhow::Result<Self> {
        let mut offered = Self::default();
        let surveyed = devgate_core::survey(policy, node, loader, None);
        for (plugin, surveyed) in policy.plugins.values().zip(&surveyed) {
            let mut bench = match surveyed.outcome {
                Outcome::Answered => benched(plugin, node, loader),
                _ => BTreeMap::new(),
            };
            let listed = bench.iter().map(|(key, unit)| (key.clone(), unit.hardware.clone())).collect();
            let looked = OfferedPlugin { listed, ..OfferedPlugin::look(plugin, node, surveyed, loader)? };
            offered.plugins.insert(plugin.name.to_string(), looked);
            for unit in surveyed.units.iter().filter(|unit| !unit.causes.has(Cause::IdTaken)) {
                let benched =
                    bench.remove(&(unit.resource.to_string(), unit.record.id.to_string())).unwrap_or_default();
                offered.units.insert(unit.record.id.to_string(), OfferedUnit::of(plugin, unit, benched));
            }
        }
        Ok(offered)
    }
}

impl OfferedPlugin {
    fn look(plugin: &PluginPolicy, node: &Node, surveyed: &Surveyed, loader: &dyn Loader) -> anyhow::Result<Self> {
        let is_loaded = matches!(surveyed.outcome, Outcome::Answered | Outcome::Failed(_));
        let component = is_loaded.then(|| loader.load(plugin).ok()?.profile().sha256).flatten();
        let component = component.map(|sha256| Digest(sha256).to_string());
        let rejected = surveyed.rejected.iter().map(|rejection| (rejection.what.clone(), rejection.why.clone()));
        let left = surveyed
            .left
            .iter()
            .map(|left| (format!("id {} of {}", left.id, left.resource), format!("is left out by {}", left.origin)));
        Ok(Self {
            listed: BTreeMap::new(),
            replicas: plugin.replicas,
            policy: plugin.clone(),
            is_missing: matches!(surveyed.outcome, Outcome::NotLoaded(LoadFailure::Host(_))),
            outcome: surveyed.outcome.as_str(),
            why: surveyed.outcome.why(),
            component,
            grants: grants(plugin, node)?,
            absent: rejected.chain(left).collect(),
            said: surveyed.lines.iter().map(|line| line.text.clone()).collect(),
        })
    }
}

impl OfferedUnit {
    fn of(plugin: &PluginPolicy, unit: &SurveyedUnit, benched: Benched) -> Self {
        Self {
            plugin: plugin.name.to_string(),
            resource: unit.resource.to_string(),
            devices: unit.devices,
            hardware: benched.hardware,
            unhealthy: unit.causes.reason().map(|reason| reason.to_string()),
            gives: benched.gives,
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

/// A unit that was asked for by hand.
#[derive(Default)]
struct Benched {
    hardware: BTreeSet<String>,
    gives: BTreeSet<String>,
}

impl Benched {
    fn of(bench: &Workbench, pool: &ListedPool, unit: &ListedUnit) -> Self {
        let backing = unit.backing.iter().map(|device| device.location().to_owned());
        let nodes = unit.nodes.iter().map(|node| {
            let number = node.node.number;
            format!("{} ({}:{})", node.node.path, number.major, number.minor)
        });
        let gives = match bench.allocate(pool, std::slice::from_ref(unit), &[]) {
            Ok(reply) => reply::lines(&reply),
            Err(why) => BTreeSet::from([format!("nothing: {why}")]),
        };
        Self { hardware: backing.chain(nodes).map(|text| escape(&text, SHOWN)).collect(), gives }
    }
}

/// What each unit is made of, and what a container gets with it alone, by resource and id. What cannot be asked has nothing here; the
/// outcome says why.
fn benched(plugin: &PluginPolicy, node: &Node, loader: &dyn Loader) -> BTreeMap<(String, String), Benched> {
    let mut units = BTreeMap::new();
    let Ok(component) = loader.load(plugin) else { return units };
    let Ok(bench) = Workbench::new(&Arc::new(plugin.clone()), node, component) else { return units };
    let Ok(listed) = bench.enumerate() else { return units };
    for pool in &listed.pools {
        for unit in &pool.units {
            units.insert((pool.resource.to_string(), unit.id.to_string()), Benched::of(&bench, pool, unit));
        }
    }
    units
}
