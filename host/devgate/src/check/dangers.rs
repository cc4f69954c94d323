//! What of a policy gives away more than single devices.

use super::PluginReport;
use devgate_core::Match;
use devgate_node::{DevicePath, MountKind, Node};
use devgate_policy::{
    Danger, PluginPolicy, ValueRule, dangerous_annotation, dangerous_if_writable, dangerous_mount, dangerous_node,
};
use devgate_types::escape;

pub(super) fn look(node: &Node, policy: &PluginPolicy, matches: &[Match], report: &mut PluginReport) {
    words(node, policy, matches, report);
    any_rules(policy, report);
    for mount in policy.containers.mounts.values().filter(|mount| mount.unchecked) {
        let message = format!(
            "mount {} (unchecked: true) is handed out without a look at {}: a program that can write there chooses what it is",
            escape(&mount.name, 80),
            escape(&mount.source, 256)
        );
        report.finds_at("mount-unchecked", &mount.origin, message);
    }
    if policy.shares_hardware {
        let message =
            "shares-hardware: several containers may have the same device at once, and see what others do with it";
        report.finds("shares-hardware", message);
    }
    if policy.partitions.is_some() {
        let message = "partitions: several containers may have parts of the same device at once; the device keeps them apart, not devgate";
        report.finds("partitions", message);
    }
}

/// Each word of `dangerous`, and what passes here only because of it.
fn words(node: &Node, policy: &PluginPolicy, matches: &[Match], report: &mut PluginReport) {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for granted in matches.iter().flat_map(|found| &found.nodes) {
        let danger = danger_of(node, granted.owner.as_ref(), granted.node.number);
        found.extend(danger.map(|danger| (danger.key, says("node", &granted.node.path, danger))));
    }
    for granted in report.grants.host_nodes.iter().filter(|granted| granted.withheld.is_none()) {
        let Some(number) = granted.number else { continue };
        let danger = danger_of(node, node.owner_of(number).as_ref(), number);
        found.extend(danger.map(|danger| (danger.key, says("node", &granted.path, danger))));
    }
    for mount in policy.containers.mounts.values() {
        let writable = || dangerous_if_writable(&mount.source).filter(|_| mount.writable);
        let danger = dangerous_mount(&mount.source).or_else(writable);
        found.extend(danger.map(|danger| (danger.key, says("mount", &mount.source, danger))));
        // What is unchecked is not looked at: nothing of it is known, and no word is asked for.
        let socket = || match node.mount_source(&mount.source) {
            Ok(MountKind::Directory { socket }) => socket,
            _ => None,
        };
        if !mount.unchecked && socket().is_some() {
            let danger = Danger::SOCKETS;
            found.push((danger.key, says("mount", &mount.source, danger)));
        }
    }
    for entry in &policy.containers.annotations {
        let danger = dangerous_annotation(&entry.key);
        found.extend(danger.map(|danger| {
            let (key, why) = (escape(&entry.key, 128), danger.why);
            (danger.key, format!("annotation {key} may be set, which {why}"))
        }));
    }
    found.sort();
    found.dedup();
    for word in &policy.dangerous {
        let mut because = found.iter().filter(|(key, _)| key == word).peekable();
        if because.peek().is_none() {
            report.finds("dangerous-unused", format!("dangerous: {word} is granted, and nothing here needs it"));
        }
        for (_, says) in because {
            report.finds("dangerous", format!("dangerous: {word}: {says}"));
        }
    }
}

fn says(what: &str, path: &str, danger: Danger) -> String {
    format!("{what} {} is handed out, which {}", escape(path, 256), danger.why)
}

fn danger_of(node: &Node, owner: Option<&DevicePath>, number: devgate_types::NodeNumber) -> Option<Danger> {
    let subsystem = owner.and_then(|owner| node.subsystem(owner).ok().flatten());
    let class = subsystem.as_ref().map(|subsystem| subsystem.name.as_str());
    dangerous_node(class, owner.map(DevicePath::name), number)
}

fn any_rules(policy: &PluginPolicy, report: &mut PluginReport) {
    let containers = &policy.containers;
    for (what, entries) in
        [("env", &containers.env), ("annotations", &containers.annotations), ("cdi", &containers.cdi)]
    {
        for entry in entries.iter().filter(|entry| entry.rule == ValueRule::Any) {
            let key = escape(&entry.key, 128);
            let message = format!("containers.{what}: {key} may be anything that the component says (any)");
            report.finds_at("any-value", &entry.origin, message);
        }
    }
}
