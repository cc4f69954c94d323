//! What of a policy gives away more than single devices.

use super::finding::Finding;
use super::grants::GrantFacts;
use devgate_core::Match;
use devgate_node::{DevicePath, MountKind, Node};
use devgate_policy::{
    Danger, PluginPolicy, ValueRule, dangerous_annotation, dangerous_if_writable, dangerous_mount, dangerous_node,
};
use devgate_types::escape;

pub(super) fn look(
    node: &Node,
    policy: &PluginPolicy,
    matches: &[Match],
    granted: &GrantFacts,
    findings: &mut Vec<Finding>,
) {
    words(node, policy, matches, granted, findings);
    any_rules(policy, findings);
    for mount in policy.containers.mounts.values().filter(|mount| mount.unchecked) {
        let message = format!(
            "mount {} (unchecked: true) is handed out without a look at {}: a program that can write there chooses what it is",
            escape(&mount.name, 80),
            escape(&mount.source, 256)
        );
        findings.push(Finding::danger("mount-unchecked", Some(&mount.origin), message));
    }
    if policy.shares_hardware {
        let message =
            "shares-hardware: several containers may have the same device at once, and see what others do with it";
        findings.push(Finding::warning("shares-hardware", Some(&policy.origin), message));
    }
    if policy.partitions.is_some() {
        let message = "partitions: several containers may have parts of the same device at once; the device keeps them apart, not devgate";
        findings.push(Finding::warning("partitions", Some(&policy.origin), message));
    }
}

/// Each word of `dangerous`, and what passes here only because of it.
fn words(node: &Node, policy: &PluginPolicy, matches: &[Match], granted: &GrantFacts, findings: &mut Vec<Finding>) {
    let at = Some(&policy.origin);
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for granted in matches.iter().flat_map(|found| &found.nodes) {
        let danger = danger_of(node, granted.owner.as_ref(), granted.node.number);
        found.extend(danger.map(|danger| (danger.key, says("node", &granted.node.path, danger))));
    }
    for granted in granted.host_nodes.iter().filter(|granted| granted.withheld.is_none()) {
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
            let message = format!("dangerous: {word} is granted, and nothing here needs it");
            findings.push(Finding::danger("dangerous-unused", at, message));
        }
        for (_, says) in because {
            let message = format!("dangerous: {word}: {says}");
            findings.push(Finding::danger("dangerous", at, message));
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

fn any_rules(policy: &PluginPolicy, findings: &mut Vec<Finding>) {
    let containers = &policy.containers;
    for (what, entries) in
        [("env", &containers.env), ("annotations", &containers.annotations), ("cdi", &containers.cdi)]
    {
        for entry in entries.iter().filter(|entry| entry.rule == ValueRule::Any) {
            let key = escape(&entry.key, 128);
            let message = format!("containers.{what}: {key} may be anything that the component says (any)");
            findings.push(Finding::danger("any-value", Some(&entry.origin), message));
        }
    }
}
