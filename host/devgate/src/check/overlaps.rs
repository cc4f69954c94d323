//! Plugins that may offer the same hardware: the earlier one in the policy keeps it.

use super::PluginReport;
use super::grants::GrantFacts;
use crate::output::named;
use devgate_core::{GrantedNode, Match};
use devgate_node::{DevicePath, Node};
use devgate_policy::{PluginPolicy, Use};
use devgate_types::{NodeNumber, escape};
use std::collections::BTreeSet;

/// Examples that a message names.
const NAMED: usize = 3;

/// What one plugin may offer here.
pub(super) struct Offers {
    plugin: String,
    shares: bool,
    devices: Vec<DevicePath>,
    /// With whether each is shared.
    nodes: Vec<(NodeNumber, String, bool)>,
    /// The devices that it may have for itself, with all that their nodes reach.
    pieces: Vec<(DevicePath, Vec<DevicePath>)>,
}

/// Compares a plugin with all before it, and adds it to them.
pub(super) fn look(
    node: &Node,
    policy: &PluginPolicy,
    matches: &[Match],
    before: &mut Vec<Offers>,
    report: &mut PluginReport,
) {
    let offered = matches.iter().filter(|found| found.usage == Use::Offer);
    let nodes = matches.iter().flat_map(|found| &found.nodes);
    let granted = &report.grants;
    let listed = granted.host_nodes.iter().filter_map(|node| Some((node.number?, node.path.clone(), node.shared)));
    let with_path = |granted: &GrantedNode| {
        let path = escape(&granted.node.path, 256);
        (granted.node.number, path, granted.grant.shared)
    };
    let own = Offers {
        plugin: policy.name.to_string(),
        shares: policy.shares_hardware,
        devices: offered.map(|found| found.device.clone()).collect(),
        nodes: nodes.map(with_path).chain(listed).collect(),
        pieces: pieces(node, matches, granted),
    };
    for earlier in before.iter().filter(|earlier| !(earlier.shares && own.shares)) {
        let both = |device: &&DevicePath| is_among(device, &earlier.devices);
        let devices = own.devices.iter().filter(both).map(|device| escape(device.name(), 128));
        let devices: Vec<_> = devices.collect();
        let told = !devices.is_empty();
        say("overlap-devices", "device", devices, earlier, report);
        // Where both share it, both may have it.
        let both = |(number, _, shared): &&(NodeNumber, String, bool)| {
            let same =
                |(other, _, other_shared): &(NodeNumber, String, bool)| other == number && !(*shared && *other_shared);
            earlier.nodes.iter().any(same)
        };
        let nodes: Vec<_> = own.nodes.iter().filter(both).map(|(_, path, _)| path.clone()).collect();
        let told = told || !nodes.is_empty();
        say("overlap-nodes", "node", nodes, earlier, report);
        let both = |(_, places): &&(DevicePath, Vec<DevicePath>)| {
            let same = |(_, others): &(DevicePath, Vec<DevicePath>)| others.iter().any(|other| is_among(other, places));
            earlier.pieces.iter().any(same)
        };
        // Where a device or node is both's, that has been said.
        let siblings = own.pieces.iter().filter(|_| !told).filter(both);
        let names = siblings.map(|(device, _)| escape(device.name(), 128)).collect();
        let what = "hardware by another node";
        say("overlap-hardware", what, names, earlier, report);
    }
    before.push(own);
}

/// Whether a device is one of these, or lies above or beneath one.
fn is_among(device: &DevicePath, others: &[DevicePath]) -> bool {
    others.iter().any(|other| other.touches(device))
}

/// What the plugin may have for itself here: the devices of nodes that are not shared, and what is offered without a node.
fn pieces(node: &Node, matches: &[Match], granted: &GrantFacts) -> Vec<(DevicePath, Vec<DevicePath>)> {
    let nodes = matches.iter().flat_map(|found| &found.nodes);
    let exclusive = nodes.filter(|granted| !granted.grant.shared);
    let owners = exclusive.filter_map(|granted| granted.owner.clone());
    let listed = granted.host_nodes.iter().filter(|node| !node.shared);
    let listed = listed.filter_map(|listed| node.owner_of(listed.number?));
    let offered = matches
        .iter()
        .filter(|found| found.usage == Use::Offer && found.nodes.is_empty())
        .map(|found| found.device.clone());
    let devices: BTreeSet<_> = owners.chain(listed).chain(offered).collect();
    let with_places = |device: DevicePath| {
        let mut places = node.pieces(&device).unwrap_or_default();
        places.push(device.clone());
        (device, places)
    };
    devices.into_iter().map(with_places).collect()
}

fn say(code: &'static str, what: &str, mut names: Vec<String>, earlier: &Offers, report: &mut PluginReport) {
    names.sort();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let shown = named(&names, NAMED, ", ");
    let is_one = names.len() == 1 || what.contains(' ');
    let plural = if is_one { "" } else { "s" };
    let message = format!(
        "plugin {} may offer the same {what}{plural}: {shown}; it comes first in the policy and keeps what both claim",
        earlier.plugin
    );
    report.finds(code, message);
}
