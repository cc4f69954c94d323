//! What a container may get besides device nodes.

use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::key;
use crate::value_rule::{Template, ValueRule};
use crate::yaml::{At, Value};
use devgate_model::{ResourceName, escape};
use indexmap::IndexMap;

/// The most environment variables of one plugin.
const MOST_ENV: usize = 64;
/// The longest value, in bytes: the contract's own limit for a text.
const MOST_VALUE: usize = 4_096;

/// What a container may get besides device nodes: `containers:` of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Containers {
    env: IndexMap<ResourceName, IndexMap<String, ValueRule>>,
    /// Every variable with its place, for the comparison with other plugins.
    pub(crate) keys: Vec<EnvKey>,
}

/// One environment variable that a plugin may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnvKey {
    pub(crate) name: String,
    pub(crate) at: At,
}

impl Containers {
    /// The rule for an environment variable in a container that gets units of `resource`; nothing if the policy does
    /// not grant that variable.
    #[must_use]
    pub fn env(&self, resource: &ResourceName, key: &str) -> Option<&ValueRule> {
        self.env.get(resource)?.get(key)
    }

    pub(crate) fn read(item: &Item<'_>, plugin: &str, resources: &[ResourceName], report: &mut Report) -> Self {
        let mut containers = Self::default();
        let place = format!("containers of {plugin}");
        if let Some(fields) = Fields::open(item.node, &place, &key::CONTAINERS, report)
            && let Some(env) = fields.get("env")
        {
            let entries = env.map(report);
            if entries.len() > MOST_ENV {
                env.error(report, format!("must have at most {MOST_ENV} entries"));
            }
            for entry in entries.iter().take(MOST_ENV) {
                containers.read_env(entry, resources, report);
            }
        }
        containers
    }

    fn read_env(&mut self, entry: &Item<'_>, resources: &[ResourceName], report: &mut Report) {
        let shown = escape(entry.key, 80);
        let at = entry.key_at;
        let names: Vec<String> = resources
            .iter()
            .map(|name| entry.key.replace("{RESOURCE}", &name.as_env()))
            .collect();
        // Without a resource, which is reported elsewhere, the rest of the name can still be wrong.
        let sample = names
            .first()
            .cloned()
            .unwrap_or_else(|| entry.key.replace("{RESOURCE}", "X"));
        if !is_env_name(&sample) {
            let hint = "letters, digits and \"_\", not a digit first; {RESOURCE} stands for the resource's name";
            report.error_with_hint(
                at,
                format!("\"{shown}\" is not the name of an environment variable"),
                hint,
            );
            return;
        }
        if resources.len() > 1 && !entry.key.contains("{RESOURCE}") {
            let hint =
                format!("name the resource in it, such as \"{shown}_{{RESOURCE}}\", or write one plugin per resource");
            let message = format!(
                "\"{shown}\" would be set by each of this plugin's {} resources, and a container with two of them would get one value in random order",
                resources.len()
            );
            report.error_with_hint(at, message, hint);
            return;
        }
        for (resource, name) in resources.iter().zip(names) {
            let Some(rule) = rule(entry, resource, report) else {
                return;
            };
            if is_loader_key(&name) && rule.is_free() {
                let hint = "write the value out, or a list of values";
                entry.error_with_hint(
                    report,
                    "decides which code a container runs, so the component must not choose it",
                    hint,
                );
                return;
            }
            self.keys.push(EnvKey { name: name.clone(), at });
            self.env.entry(resource.clone()).or_default().insert(name, rule);
        }
    }
}

fn rule(entry: &Item<'_>, resource: &ResourceName, report: &mut Report) -> Option<ValueRule> {
    match &entry.node.value {
        Value::Text(text) if text == "any" => Some(ValueRule::Any),
        Value::Text(_) => {
            let text = entry.text(report)?;
            let template = Template::parse(text, resource);
            template
                .map_err(|problem| entry.error(report, problem))
                .ok()
                .map(ValueRule::Template)
        }
        Value::List(_) => {
            let mut values = Vec::new();
            for item in entry.list(report) {
                // An empty value may be meant, so this is not `text`.
                let Value::Text(text) = &item.node.value else {
                    item.wrong_kind("a list of texts", report);
                    return None;
                };
                let template = ["{ids}", "{resource}", "{property."]
                    .iter()
                    .any(|part| text.contains(part));
                if template || text.len() > MOST_VALUE || text.contains('\0') {
                    let problem = format!("has in its list what is no plain value of at most {MOST_VALUE} bytes");
                    item.error_with_hint(report, problem, "a template stands alone, not in a list");
                    return None;
                }
                values.push(text.clone());
            }
            (!values.is_empty()).then_some(ValueRule::OneOf(values))
        }
        _ => {
            entry.wrong_kind("a template, a list of values or the word any", report);
            None
        }
    }
}

fn is_env_name(name: &str) -> bool {
    let ok = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=512).contains(&name.len()) && name.bytes().all(ok) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Variables with which the dynamic loader, the C library or a shell takes its code from elsewhere (ld.so(8), glibc's
/// `unsecvars.h`, bash(1)).
fn is_loader_key(name: &str) -> bool {
    name.starts_with("LD_") || matches!(name, "PATH" | "GCONV_PATH" | "LOCPATH" | "BASH_ENV" | "ENV")
}
