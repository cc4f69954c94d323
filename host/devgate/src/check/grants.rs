//! What a plugin's grants match on this node.

use super::finding::Finding;
use crate::survey::Given;
use devgate_core::{Grants, Match, MountDenied, PathMatch};
use devgate_policy::{PluginPolicy, Use};
use devgate_types::{NodeNumber, escape};
use serde::Serialize;

/// What a plugin's grants match here.
#[derive(Debug, Default, Serialize)]
pub(super) struct GrantFacts {
    /// Whether it would not even be loaded here: no selector matches anything.
    pub(super) idle: bool,
    pub(super) devices: Vec<DeviceGrant>,
    pub(super) host_nodes: Vec<HostNodeGrant>,
    /// Paths that `files` matches.
    pub(super) files: Vec<String>,
    pub(super) mounts: Vec<MountFacts>,
    /// Where lines of the kernel's log come from here; nothing where none are granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kernel_log: Option<String>,
}

/// A device that a selector matches.
#[derive(Debug, Serialize)]
pub(super) struct DeviceGrant {
    pub(super) subsystem: String,
    pub(super) name: String,
    /// `offer` or `read`.
    #[serde(rename = "use")]
    pub(super) usage: &'static str,
    /// The nodes that come with it, each with its access.
    pub(super) nodes: Vec<Given>,
}

/// A node that `host-nodes` matches.
#[derive(Debug, Serialize)]
pub(super) struct HostNodeGrant {
    pub(super) path: String,
    pub(super) access: Option<String>,
    pub(super) shared: bool,
    /// Why it is not given.
    pub(super) withheld: Option<String>,
    #[serde(skip)]
    pub(super) number: Option<NodeNumber>,
}

/// A mount that the policy names.
#[derive(Debug, Serialize)]
pub(super) struct MountFacts {
    pub(super) name: String,
    pub(super) source: String,
    pub(super) target: String,
    pub(super) writable: bool,
    pub(super) unchecked: bool,
}

pub(super) fn look(view: &Grants, policy: &PluginPolicy, findings: &mut Vec<Finding>) -> (GrantFacts, Vec<Match>) {
    let at = Some(&policy.origin);
    let matches = view.matches().unwrap_or_else(|error| {
        let message = format!("the node's device tree cannot be read: {error}");
        findings.push(Finding::error("node-unreadable", at, message));
        Vec::new()
    });
    selectors(view, policy, findings);
    for withheld in matches.iter().flat_map(|found| &found.withheld) {
        let finding = Finding::warning("node-withheld", at, withheld.why.clone());
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    let device = |found: &Match| DeviceGrant {
        subsystem: escape(&found.subsystem, 80),
        name: escape(found.device.name(), 256),
        usage: found.usage.as_str(),
        // A grant that only lets a device be looked at gives none of them.
        nodes: match found.usage {
            Use::Offer => found.nodes.iter().map(Given::of).collect(),
            Use::Read => Vec::new(),
        },
    };
    let facts = GrantFacts {
        idle: matches.is_empty() && !policy.hardware.is_empty(),
        devices: matches.iter().map(device).collect(),
        host_nodes: host_nodes(view, findings),
        files: files(view, findings),
        mounts: mounts(view, policy, findings),
        kernel_log: None,
    };
    (facts, matches)
}

fn selectors(view: &Grants, policy: &PluginPolicy, findings: &mut Vec<Finding>) {
    // What cannot be read has been said.
    let counts = view.selector_counts().unwrap_or_default();
    for (selector, count) in policy.hardware.iter().zip(counts) {
        let (at, subsystem) = (Some(&selector.origin), &selector.subsystem);
        if count == 0 {
            let message = format!("hardware: this selector of {subsystem} matches no device of this node");
            findings.push(Finding::warning("matches-nothing", at, message));
        } else if selector.is_everything() {
            let message = format!("hardware: this selector states only {subsystem}, and matches every device of it");
            findings.push(Finding::warning("matches-everything", at, message));
        }
    }
}

fn host_nodes(view: &Grants, findings: &mut Vec<Finding>) -> Vec<HostNodeGrant> {
    let mut nodes: Vec<HostNodeGrant> = Vec::new();
    for found in view.host_nodes() {
        look_at(&found, "host-nodes", "node", findings);
        if matches!(found.pattern.as_str(), "/dev/*" | "/dev/**") {
            let message = format!("host-nodes: {} matches every node", found.pattern);
            findings.push(Finding::warning("matches-everything", Some(&found.origin), message));
        }
        nodes.extend(found.found.iter().map(|granted| HostNodeGrant {
            path: escape(&granted.node.path, 256),
            access: Some(granted.grant.access.to_string()),
            shared: granted.grant.shared,
            withheld: None,
            number: Some(granted.node.number),
        }));
        nodes.extend(found.withheld.iter().map(|withheld| HostNodeGrant {
            path: escape(&withheld.what, 256),
            access: None,
            shared: false,
            withheld: Some(withheld.why.clone()),
            number: None,
        }));
    }
    // Several patterns may match one.
    nodes.sort_by(|a, b| a.path.cmp(&b.path));
    nodes.dedup_by(|a, b| a.path == b.path);
    nodes
}

fn files(view: &Grants, findings: &mut Vec<Finding>) -> Vec<String> {
    let mut files = Vec::new();
    for found in view.files() {
        look_at(&found, "files", "file", findings);
        files.extend(found.found.iter().map(|path| escape(path, 256)));
    }
    files.sort();
    files.dedup();
    files
}

/// What an admin should know of a pattern under `key`.
fn look_at<T>(found: &PathMatch<T>, key: &str, what: &str, findings: &mut Vec<Finding>) {
    let at = Some(&found.origin);
    if found.found.is_empty() && found.withheld.is_empty() && !found.more {
        let message = format!("{key}: {} matches no {what} of this node", escape(&found.pattern, 256));
        findings.push(Finding::warning("matches-nothing", at, message));
    }
    let code = if what == "node" { "node-withheld" } else { "file-withheld" };
    for withheld in &found.withheld {
        // A selector may offer the same node.
        let is_same = |said: &Finding| said.code == code && said.message.ends_with(&withheld.why);
        if !findings.iter().any(is_same) {
            let message = format!("{}: {}", escape(&withheld.what, 256), withheld.why);
            findings.push(Finding::warning(code, at, message));
        }
    }
}

fn mounts(view: &Grants, policy: &PluginPolicy, findings: &mut Vec<Finding>) -> Vec<MountFacts> {
    for (name, mount) in &policy.containers.mounts {
        let origin = Some(&mount.origin);
        let says = |why: &str| format!("mount {}: {why}", escape(name, 80));
        match view.mount(name) {
            Ok(_) | Err(MountDenied::NotGranted) => {}
            Err(MountDenied::Missing(why)) => findings.push(Finding::warning("mount-missing", origin, says(&why))),
            Err(MountDenied::Refused(why)) => findings.push(Finding::error("mount-refused", origin, says(&why))),
        }
    }
    let mounts = policy.containers.mounts.values().map(|mount| MountFacts {
        name: escape(&mount.name, 80),
        source: escape(&mount.source, 256),
        target: escape(&mount.target, 256),
        writable: mount.writable,
        unchecked: mount.unchecked,
    });
    mounts.collect()
}
