//! What a plugin's grants match on this node.

use super::PluginReport;
use super::finding::Finding;
use crate::survey::Given;
use devgate_core::{Grants, Match, NotGranted, PathMatch};
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

/// Says what they match, and has it in the report.
pub(super) fn look(view: &Grants, policy: &PluginPolicy, report: &mut PluginReport) -> Vec<Match> {
    let matches = view.matches().unwrap_or_else(|error| {
        report.finds("node-unreadable", format!("the node's device tree cannot be read: {error}"));
        Vec::new()
    });
    selectors(view, policy, report);
    for withheld in matches.iter().flat_map(|found| &found.withheld) {
        if !report.findings.iter().any(|said| said.code == "node-withheld" && said.message == withheld.why) {
            report.finds("node-withheld", withheld.why.clone());
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
    report.grants = GrantFacts {
        idle: matches.is_empty() && !policy.hardware.is_empty(),
        devices: matches.iter().map(device).collect(),
        host_nodes: host_nodes(view, report),
        files: files(view, report),
        mounts: mounts(view, policy, report),
        kernel_log: None,
    };
    matches
}

fn selectors(view: &Grants, policy: &PluginPolicy, report: &mut PluginReport) {
    // What cannot be read has been said.
    let counts = view.selector_counts().unwrap_or_default();
    for (selector, count) in policy.hardware.iter().zip(counts) {
        let (at, subsystem) = (&selector.origin, &selector.subsystem);
        if count == 0 {
            let message = format!("hardware: this selector of {subsystem} matches no device of this node");
            report.finds_at("matches-nothing", at, message);
        } else if selector.is_everything() {
            let message = format!("hardware: this selector states only {subsystem}, and matches every device of it");
            report.finds_at("matches-everything", at, message);
        }
    }
}

fn host_nodes(view: &Grants, report: &mut PluginReport) -> Vec<HostNodeGrant> {
    let mut nodes: Vec<HostNodeGrant> = Vec::new();
    for found in view.host_nodes() {
        look_at(&found, "host-nodes", "node", report);
        if matches!(found.pattern.as_str(), "/dev/*" | "/dev/**") {
            let message = format!("host-nodes: {} matches every node", found.pattern);
            report.finds_at("matches-everything", &found.origin, message);
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

fn files(view: &Grants, report: &mut PluginReport) -> Vec<String> {
    let mut files = Vec::new();
    for found in view.files() {
        look_at(&found, "files", "file", report);
        files.extend(found.found.iter().map(|path| escape(path, 256)));
    }
    files.sort();
    files.dedup();
    files
}

/// What an admin should know of a pattern under `key`.
fn look_at<T>(found: &PathMatch<T>, key: &str, what: &str, report: &mut PluginReport) {
    let at = &found.origin;
    if found.found.is_empty() && found.withheld.is_empty() && !found.more {
        let message = format!("{key}: {} matches no {what} of this node", escape(&found.pattern, 256));
        report.finds_at("matches-nothing", at, message);
    }
    let code = if what == "node" { "node-withheld" } else { "file-withheld" };
    for withheld in &found.withheld {
        // A selector may offer the same node.
        let is_same = |said: &Finding| said.code == code && said.message.ends_with(&withheld.why);
        if !report.findings.iter().any(is_same) {
            let message = format!("{}: {}", escape(&withheld.what, 256), withheld.why);
            report.finds_at(code, at, message);
        }
    }
}

fn mounts(view: &Grants, policy: &PluginPolicy, report: &mut PluginReport) -> Vec<MountFacts> {
    for (name, mount) in &policy.containers.mounts {
        let says = |why: &str| format!("mount {}: {why}", escape(name, 80));
        match view.mount(name) {
            Ok(_) => {}
            Err(NotGranted::Missing(why)) => report.finds_at("mount-missing", &mount.origin, says(&why)),
            Err(why) => report.finds_at("mount-refused", &mount.origin, says(&why.to_string())),
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
