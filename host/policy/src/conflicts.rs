//! What no two plugins may both have: a container can get units of both.

use crate::error::Report;
use crate::resources::ResourceGrant;
use crate::yaml::At;
use crate::{LabelRule, MountGrant, Origin, PluginPolicy, RuleEntry};
use devgate_types::escape;
use std::collections::HashMap;
use std::sync::Arc;

/// What the plugins read so far have claimed.
#[derive(Default)]
pub(crate) struct Claims {
    resources: Vec<(ResourceGrant, String, Origin)>,
    env: HashMap<String, (String, Origin)>,
    annotations: HashMap<String, (String, Origin)>,
    targets: HashMap<String, (Arc<MountGrant>, String)>,
    labels: Vec<(LabelRule, String)>,
    types: HashMap<String, (String, Origin)>,
    drivers: HashMap<String, (String, Origin)>,
}

impl Claims {
    /// Adds a plugin's claims; reports those that another has already. `at` is where the plugin is written.
    pub(crate) fn add(&mut self, plugin: &PluginPolicy, at: At, report: &Report) {
        self.resources(plugin, at, report);
        for entry in &plugin.containers.env {
            claim(&mut self.env, plugin, entry, "may set", report);
        }
        for entry in &plugin.containers.annotations {
            claim(&mut self.annotations, plugin, entry, "may set the annotation", report);
        }
        self.targets(plugin, report);
        self.labels(plugin, report);
        // The kubelet asks a driver by its name alone.
        if let Some(dra) = &plugin.dra {
            sole(&mut self.drivers, plugin, &dra.driver, ["is driver", "is", ""], at, report);
        }
        if let Some(exec) = &plugin.exec {
            let hint = "a caller can ask for a type alone: ";
            sole(&mut self.types, plugin, &exec.kind, ["serves type", "does", hint], at, report);
        }
    }

    /// A node has a label once.
    fn labels(&mut self, plugin: &PluginPolicy, report: &Report) {
        for rule in &plugin.labels.0 {
            let other = self.labels.iter().find(|(other, _)| other.name.overlaps(&rule.name));
            if let Some((other, whose)) = other {
                let message = format!(
                    "label \"{}\" of plugin \"{}\" may be the same as \"{}\" of plugin \"{whose}\" ({})",
                    rule.name, plugin.name, other.name, other.origin
                );
                report.error(rule.at, message + "; a node has a label once: give them different names");
                continue;
            }
            self.labels.push((rule.clone(), plugin.name.to_string()));
        }
    }

    fn resources(&mut self, plugin: &PluginPolicy, at: At, report: &Report) {
        let others = self.resources.len();
        for grant in &plugin.resources {
            let other = self.resources.iter().take(others).find(|(other, ..)| other.overlaps(grant));
            if let Some((theirs, other, origin)) = other {
                let theirs = if theirs == grant { "does".to_owned() } else { format!("may with \"{theirs}\"") };
                let message =
                    format!("plugin \"{}\" offers \"{grant}\", as plugin \"{other}\" {theirs} ({origin})", plugin.name);
                report.error(at, message + "; a resource belongs to one plugin");
                continue;
            }
            let by = (grant.clone(), plugin.name.to_string(), plugin.origin.clone());
            self.resources.push(by);
        }
    }

    /// Two mounts may share a target if they are the same: a container gets it once.
    fn targets(&mut self, plugin: &PluginPolicy, report: &Report) {
        for mount in plugin.containers.mounts.values() {
            if let Some((other, whose)) = self.targets.get(&mount.target) {
                if (&other.source, other.writable) != (&mount.source, mount.writable) {
                    let message = format!(
                        "mount \"{}\" of plugin \"{}\" is at \"{}\" in a container, as \"{}\" of plugin \"{whose}\" is ({})",
                        mount.name,
                        plugin.name,
                        escape(&mount.target, 80),
                        other.name,
                        other.origin
                    );
                    let hint = "; two mounts share a target only if source and writable are the same";
                    report.error(mount.at, message + hint);
                }
                continue;
            }
            let by = (Arc::clone(mount), plugin.name.to_string());
            self.targets.insert(mount.target.clone(), by);
        }
    }
}

/// Claims a name that one plugin has alone: what it is to it, the same in short, and why it must be.
fn sole(
    claimed: &mut HashMap<String, (String, Origin)>,
    plugin: &PluginPolicy,
    name: &str,
    [verb, short, hint]: [&str; 3],
    at: At,
    report: &Report,
) {
    let mine = (plugin.name.to_string(), plugin.origin.clone());
    if let Some((other, origin)) = claimed.insert(name.to_owned(), mine) {
        let message = format!("plugin \"{}\" {verb} \"{name}\", as plugin \"{other}\" {short} ({origin})", plugin.name);
        report.error(at, format!("{message}; {hint}give them different ones"));
    }
}

/// Claims the names that a key stands for.
fn claim(
    claimed: &mut HashMap<String, (String, Origin)>,
    plugin: &PluginPolicy,
    entry: &RuleEntry,
    what: &str,
    report: &Report,
) {
    for name in entry.names(&plugin.resources) {
        if let Some((other, origin)) = claimed.get(&name) {
            let whose = if other == plugin.name.as_str() {
                "for another of its resources".to_owned()
            } else {
                format!("as plugin \"{other}\" may ({origin})")
            };
            let message = format!(
                "plugin \"{}\" {what} \"{}\", {whose}: a container with both would get one of the values in random order",
                plugin.name,
                escape(&name, 80)
            );
            report.error(entry.at, message);
            continue;
        }
        claimed.insert(name, (plugin.name.to_string(), entry.origin.clone()));
    }
}
