//! Reading files into one policy.

use crate::conflicts::Claims;
use crate::error::{PolicyError, PolicyErrors, Report};
use crate::fields::Fields;
use crate::plugin::{Origin, PluginPolicy};
use crate::yaml::{self, At};
use crate::{API_VERSION, KIND, Policy, PolicyFile, key};
use devgate_types::{PluginName, escape};
use indexmap::IndexMap;
use std::collections::HashMap;

/// The most plugins in a policy.
const MOST_PLUGINS: usize = 256;

/// Reads one policy from all its files.
///
/// # Errors
/// Everything that is wrong: in a file that is not YAML the first mistake, in all others every one.
pub fn parse(files: &[PolicyFile<'_>]) -> Result<Policy, PolicyErrors> {
    let mut whole = Whole::default();
    let mut errors = Vec::new();
    for file in files {
        let mut report = Report::new(file.name);
        whole.read(file, &mut report);
        errors.extend(report.into_errors());
    }
    if files.is_empty() {
        let mut report = Report::new("");
        report.error(At::default(), "a policy needs at least one file");
        errors.extend(report.into_errors());
    }
    if whole.plugins.len() > MOST_PLUGINS {
        let mut report = Report::new("");
        report.error(
            At::default(),
            format!("the policy has more than {MOST_PLUGINS} plugins"),
        );
        errors.extend::<Vec<PolicyError>>(report.into_errors());
    }
    if errors.is_empty() {
        return Ok(Policy { plugins: whole.plugins });
    }
    Err(PolicyErrors { errors })
}

/// What the files read so far say, with what no two plugins may both have.
#[derive(Default)]
struct Whole {
    plugins: IndexMap<PluginName, PluginPolicy>,
    names: HashMap<String, Origin>,
    claims: Claims,
}

impl Whole {
    fn read(&mut self, file: &PolicyFile<'_>, report: &mut Report) {
        let node = match yaml::read(file.text) {
            Ok(node) => node,
            Err((at, message)) => return report.error(at, message),
        };
        let Some(fields) = Fields::open(&node, "the policy", &key::POLICY, report) else {
            return;
        };
        for (name, only) in [("apiVersion", API_VERSION), ("kind", KIND)] {
            if let Some(item) = fields.need(name, report)
                && let Some(text) = item.text(report)
                && text != only
            {
                item.error(report, format!("must be {only}, not \"{}\"", escape(text, 80)));
            }
        }
        let Some(plugins) = fields.need("plugins", report) else {
            return;
        };
        for entry in plugins.map(report) {
            let origin = Origin::new(report, entry.key_at);
            if let Some(first) = self.names.get(entry.key) {
                let shown = escape(entry.key, 80);
                report.error(entry.key_at, format!("plugin \"{shown}\" is also in {first}"));
                continue;
            }
            self.names.insert(entry.key.to_owned(), origin);
            if let Some(plugin) = PluginPolicy::read(&entry, report) {
                self.add(plugin, entry.key_at, report);
            }
        }
    }

    fn add(&mut self, plugin: PluginPolicy, at: At, report: &mut Report) {
        self.claims.add(&plugin, at, report);
        self.plugins.insert(plugin.name.clone(), plugin);
    }
}
