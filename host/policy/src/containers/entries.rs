//! One key of `env`, `annotations` or `cdi` with its rule.

use crate::Origin;
use crate::error::Problem;
use crate::fields::Item;
use crate::resources::ResourceGrant;
use crate::value_rule::{Template, ValueRule};
use crate::yaml::{At, Value};
use devgate_types::{ResourceName, escape};
use std::sync::Arc;

/// The longest value, in bytes: the contract's own limit for a text.
const MAX_VALUE: usize = 4_096;
/// What stands for the resource's name in a key.
const RESOURCE: &str = "{RESOURCE}";

/// One key with its rule, as the policy writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleEntry {
    /// The key; `{RESOURCE}` in it stands for the resource's name in capitals.
    pub key: String,
    /// What its value may be.
    pub rule: ValueRule,
    /// Where it is written.
    pub origin: Origin,
    pub(crate) at: At,
}

impl RuleEntry {
    /// The key and the rule where units of `resource` are allocated.
    pub(crate) fn bind(&self, resource: &ResourceName) -> (String, ValueRule) {
        (named(&self.key, resource), self.rule.bind(resource))
    }

    /// The names that the key stands for, as far as the policy says them.
    pub(crate) fn names(&self, resources: &[ResourceGrant]) -> Vec<String> {
        if self.key.contains(RESOURCE) { exact(&self.key, resources) } else { vec![self.key.clone()] }
    }

    /// Reads an entry of a mapping, whatever its key.
    pub(crate) fn read(item: &Item<'_>) -> Option<Self> {
        Some(Self {
            key: item.key.to_owned(),
            rule: rule(item)?,
            origin: item.report.origin(item.key_at),
            at: item.key_at,
        })
    }
}

fn named(key: &str, resource: &ResourceName) -> String {
    key.replace(RESOURCE, &resource.as_env())
}

/// The names that a key stands for; without a resource that the policy names in full, a sample.
pub(crate) fn names(key: &str, resources: &[ResourceGrant]) -> Vec<String> {
    let mut names = exact(key, resources);
    if names.is_empty() {
        names.push(key.replace(RESOURCE, "X"));
    }
    names
}

fn exact(key: &str, resources: &[ResourceGrant]) -> Vec<String> {
    let exact = resources.iter().filter_map(|grant| grant.exact.as_ref());
    exact.map(|name| named(key, name)).collect()
}

/// Whether each resource of the plugin has the key to itself; reported where not.
pub(crate) fn is_one_resources(item: &Item<'_>, resources: &[ResourceGrant]) -> bool {
    let patterns = resources.iter().any(|grant| grant.exact.is_none());
    let several = match resources.len() {
        _ if item.key.contains(RESOURCE) => return true,
        _ if patterns => "the resources that this plugin's patterns match".to_owned(),
        0 | 1 => return true,
        count => format!("this plugin's {count} resources"),
    };
    let shown = escape(item.key, 80);
    item.error_at_key(format!(
        "\"{shown}\" would be set by each of {several}, and a container with two of them would get one value in random order; name the \
         resource in it, such as \"{shown}_{RESOURCE}\", or write one plugin per resource"
    ));
    false
}

fn rule(entry: &Item<'_>) -> Option<ValueRule> {
    match &entry.node.value {
        Value::Text(text) if text == "any" => Some(ValueRule::Any),
        Value::Text(_) => {
            let template = entry.parse(|text| match Template::parse(text) {
                Ok(_) if text.contains('\0') => Err(Problem("must be text without NUL".to_owned())),
                parsed => parsed,
            });
            template.map(ValueRule::Template)
        }
        Value::List(_) => {
            let mut values = Vec::new();
            for item in entry.list(usize::MAX) {
                // An empty value may be meant, so this is not `text`.
                let Value::Text(text) = &item.node.value else {
                    item.wrong_kind("a list of texts");
                    return None;
                };
                let is_template = ["{ids}", "{resource}", "{property."].iter().any(|part| text.contains(part));
                if is_template || text.len() > MAX_VALUE || text.contains('\0') {
                    item.error(format!(
                        "has in its list what is no plain value of at most {MAX_VALUE} bytes; a template stands alone, not in a list"
                    ));
                    return None;
                }
                values.push(text.clone());
            }
            (!values.is_empty()).then(|| ValueRule::OneOf(Arc::from(values)))
        }
        _ => {
            entry.wrong_kind("a template, a list of values or the word any");
            None
        }
    }
}
