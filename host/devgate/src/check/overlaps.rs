//! Plugins that may offer the same hardware: the earlier one in the policy keeps it.

use super::finding::Finding;
use super::grants::GrantFacts;
use devgate_model::{NodeNumber, escape};
use devgate_node::DevicePath;
use devgate_plugin::Match;
use devgate_policy::{PluginPolicy, Use};

/// Examples that a message names.
const NAMED: usize = 3;

/// What one plugin may offer here.
pub(super) struct Offers {
    plugin: String,
    shares: bool,
    devices: Vec<DevicePath>,
    /// With whether each is shared.
    nodes: Vec<(NodeNumber, String, bool)>,
}

/// Compares a plugin with all before it, and adds it to them.
pub(super) fn look(
    policy: &PluginPolicy,
    matches: &[Match],
    granted: &GrantFacts,
    before: &mut Vec<Offers>,
    findings: &mut Vec<Finding>,
) {
    let offered = matches.iter().filter(|found| found.usage == Use::Offer);
    let nodes = matches.iter().flat_map(|found| &found.nodes);
    let listed = granted
        .host_nodes
        .iter()
        .filter_map(|node| Some((node.number?, node.path.clone(), node.shared)));
    let own = Offers {
        plugin: policy.name.to_string(),
        shares: policy.shares_hardware,
        devices: offered.map(|found| found.device.clone()).collect(),
        nodes: nodes
            .map(|granted| {
                (
                    granted.node.number,
                    escape(&granted.node.path, 256),
                    granted.grant.shared,
                )
            })
            .chain(listed)
            .collect(),
    };
    for earlier in before.iter().filter(|earlier| !(earlier.shares && own.shares)) {
        let both = |device: &&DevicePath| {
            let other = |other: &DevicePath| other == *device || other.is_beneath(device) || device.is_beneath(other);
            earlier.devices.iter().any(other)
        };
        let devices = own.devices.iter().filter(both).map(|device| escape(device.name(), 128));
        say(
            "overlap-devices",
            "device",
            devices.collect(),
            earlier,
            policy,
            findings,
        );
        // Where both share it, both may have it.
        let both = |(number, _, shared): &&(NodeNumber, String, bool)| {
            let same =
                |(other, _, other_shared): &(NodeNumber, String, bool)| other == number && !(*shared && *other_shared);
            earlier.nodes.iter().any(same)
        };
        let nodes = own.nodes.iter().filter(both).map(|(_, path, _)| path.clone());
        say("overlap-nodes", "node", nodes.collect(), earlier, policy, findings);
    }
    before.push(own);
}

/// The first of some names, and how many more there are.
pub(super) fn first_few(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}

fn say(
    code: &'static str,
    what: &str,
    mut names: Vec<String>,
    earlier: &Offers,
    policy: &PluginPolicy,
    findings: &mut Vec<Finding>,
) {
    names.sort();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let shown = first_few(&names);
    let plural = if names.len() == 1 { "" } else { "s" };
    let message = format!(
        "plugin {} may offer the same {what}{plural}: {shown}; it comes first in the policy and keeps what both claim",
        earlier.plugin
    );
    findings.push(Finding::warning(code, Some(&policy.origin), message));
}
