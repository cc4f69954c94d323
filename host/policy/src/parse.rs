//! Reading files into one policy.

use crate::conflicts::Claims;
use crate::error::{PolicyErrors, Report};
use crate::fields::Fields;
use crate::plugin::{Origin, PluginPolicy};
use crate::yaml::{self, At};
use crate::{API_VERSION, KIND, Policy, PolicyFile, key};
use devgate_types::{PluginName, escape};
use indexmap::IndexMap;
use std::collections::HashMap;

/// The most plugins in a policy.
const MAX_PLUGINS: usize = 256;

/// Reads one policy from all its files. The error has everything that is wrong: in a file that is not YAML the first mistake, in all others
/// every one.
pub fn parse(files: &[PolicyFile<'_>]) -> Result<Policy, PolicyErrors> {
    let mut whole = Whole::default();
    let mut errors = Vec::new();
    for file in files {
        let report = Report::new(file.name);
        whole.read(file, &report);
        errors.extend(report.into_errors());
    }
    let report = Report::new("");
    if files.is_empty() {
        report.error(At::default(), "a policy needs at least one file");
    }
    if whole.plugins.len() > MAX_PLUGINS {
        let message = format!("the policy has more than {MAX_PLUGINS} plugins");
        report.error(At::default(), message);
    }
    errors.extend(report.into_errors());
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
    fn read(&mut self, file: &PolicyFile<'_>, report: &Report) {
        let node = match yaml::read(file.text) {
            Ok(node) => node,
            Err((at, message)) => return report.error(at, message),
        };
        let Some(fields) = Fields::open(&node, "the policy", &key::POLICY, report) else {
            return;
        };
        for (name, only) in [("apiVersion", API_VERSION), ("kind", KIND)] {
            fields.need(name).and_then(|item| {
                item.parse(|text| match text {
                    _ if text == only => Ok(()),
                    _ => Err(format!("must be {only}, not \"{}\"", escape(text, 80))),
                })
            });
        }
        let plugins = fields.need("plugins").map(|item| item.map(usize::MAX));
        for entry in plugins.into_iter().flatten() {
            if let Some(first) = self.names.get(entry.key) {
                let shown = escape(entry.key, 80);
                entry.error_at_key(format!("plugin \"{shown}\" is also in {first}"));
                continue;
            }
            let origin = report.origin(entry.key_at);
            self.names.insert(entry.key.to_owned(), origin);
            if let Some(plugin) = PluginPolicy::read(&entry) {
                self.claims.add(&plugin, entry.key_at, report);
                self.plugins.insert(plugin.name.clone(), plugin);
            }
        }
    }
}
