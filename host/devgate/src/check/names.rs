//! Devices of others that a plugin's containers may be told by name (`containers.cdi`): whether anything says here what they are.

use super::PluginReport;
use devgate_cdi::check::{Checked, check};
use devgate_node::Node;
use devgate_policy::{PluginPolicy, RuleEntry, ValueRule};
use std::path::{Path, PathBuf};

/// Where runtimes look, beneath the node's root.
const DIRS: [&str; 2] = ["etc/cdi", "run/cdi"];

/// The names that there are. `None` where that cannot be seen: on a recorded node, and in a pod, which has none of the directories.
pub(super) fn known(node: &Node, root: &Path) -> Option<Vec<String>> {
    let mut dirs: Vec<PathBuf> = DIRS.iter().map(|dir| root.join(dir)).collect();
    dirs.retain(|dir| dir.is_dir());
    if node.is_recorded() || dirs.is_empty() {
        return None;
    }
    check(&dirs, node).ok().map(|Checked { devices, .. }| devices)
}

pub(super) fn look(known: &[String], policy: &PluginPolicy, report: &mut PluginReport) {
    for entry in &policy.containers.cdi {
        if let Some(missing) = missing(known, entry) {
            let message = format!(
                "containers.cdi: a container that is told {missing} does not start: no file of this node, or more than one, says what it is (devgate cdi check)"
            );
            report.finds_at("cdi-unknown", &entry.origin, message);
        }
    }
}

/// A name that the rule lets through and nothing knows; of a rule that names none, any of its kind will do.
fn missing(known: &[String], RuleEntry { key, rule, .. }: &RuleEntry) -> Option<String> {
    if let ValueRule::OneOf(names) = rule {
        let mut names = names.iter().map(|name| format!("{key}={name}"));
        return names.find(|name| !known.contains(name));
    }
    let is_of = |name: &String| name.split_once('=').is_some_and(|(kind, _)| kind == key);
    (!known.iter().any(is_of)).then(|| format!("{key}=\u{2026}"))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Finding;
    use super::*;
    use devgate_policy::{PolicyFile, parse};

    #[test]
    fn a_name_that_nothing_knows_is_said_where_it_can_be_seen() {
        let text = "
apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  gpus:
    component: {file: a.wasm}
    resources: [vendor.com/gpu]
    containers: {cdi: {vendor.com/gpu: [all, \"0\"], vendor.com/nic: any}}
    hardware: [{subsystem: misc, name: fuse, use: offer, nodes: [{access: rw}]}]
";
        let name = "policy.yaml";
        let policy = parse(&[PolicyFile { name, text }]).unwrap();
        let plugin = policy.plugins.values().next().unwrap();
        let said = |known: &[&str]| {
            let mut report = PluginReport::new(plugin);
            let known: Vec<_> = known.iter().map(|name| (*name).to_owned()).collect();
            look(&known, plugin, &mut report);
            let told = |finding: &Finding| finding.message.split_whitespace().nth(6).unwrap_or_default().to_owned();
            report.findings.iter().map(told).collect::<Vec<_>>()
        };
        assert_eq!(said(&[]), ["vendor.com/gpu=all", "vendor.com/nic=\u{2026}"]);
        assert_eq!(said(&["vendor.com/gpu=all", "vendor.com/nic=eth7"]), ["vendor.com/gpu=0"]);
        assert!(said(&["vendor.com/gpu=0", "vendor.com/gpu=all", "vendor.com/nic=eth7"]).is_empty());
    }

    #[test]
    fn names_are_those_of_the_files_of_both_directories() {
        let root = tempfile::tempdir().unwrap();
        let node = Node::open(root.path()).unwrap();
        assert_eq!(known(&node, root.path()), None, "a pod sees none of them");
        std::fs::create_dir_all(root.path().join("run/cdi")).unwrap();
        assert_eq!(known(&node, root.path()), Some(Vec::new()));
        std::fs::create_dir_all(root.path().join("etc/cdi")).unwrap();
        let file = |kind: &str| {
            format!(
                r#"{{"cdiVersion": "0.5.0", "kind": "{kind}", "devices": [{{"name": "0", "containerEdits": {{"env": ["A=1"]}}}}]}}"#
            )
        };
        std::fs::write(root.path().join("etc/cdi/a.json"), file("vendor.com/gpu")).unwrap();
        std::fs::write(root.path().join("run/cdi/b.yaml"), file("vendor.com/nic")).unwrap();
        let known = known(&node, root.path()).unwrap();
        assert_eq!(known, ["vendor.com/gpu=0", "vendor.com/nic=0"]);
    }
}
