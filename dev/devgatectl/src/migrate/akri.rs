//! Akri's Configurations whose devices udev finds, for the component `generic`.

mod device;
mod rule;

use super::draft::Draft;
use super::find::Found;
use super::generic::{self, Entry};
use super::yaml::scalar;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What resources are called before the `/`.
const DOMAIN: &str = "akri.sh";
/// The most containers that may share a unit.
const MAX_REPLICAS: u32 = 4096;
/// Keys of what an object of Kubernetes' is and how it is known.
const OF_OBJECTS: [&str; 5] = ["apiVersion", "kind", "metadata", "enabled", "name"];

/// A Configuration, by its object or by a chart's values.
struct Configuration<'a> {
    name: &'a str,
    /// The handler's name, and what it is told.
    handler: &'a str,
    details: Value,
    /// All that is said besides.
    rest: &'a Map<String, Value>,
}

/// What the handler for udev is told.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    #[serde(default)]
    udev_rules: Vec<String>,
    #[serde(default)]
    group_recursive: bool,
    #[serde(default)]
    permissions: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Takes Configurations over, each as a plugin. `set` has the variables that those before it set.
pub(super) fn take_over<'a>(found: impl Iterator<Item = &'a Found>, draft: &mut Draft) {
    let mut set = BTreeMap::new();
    for one in found {
        let Some(configuration) = Configuration::of(&one.value) else {
            draft.lose(&one.at, "has neither a discovery handler nor what it is told");
            continue;
        };
        let at = format!("{} ({})", one.at, configuration.name);
        if configuration.handler != "udev" {
            let why = "finds no devices of a node; keep Akri for these";
            draft.lose(format!("{at}: discoveryHandler {}", configuration.handler), why);
            continue;
        }
        match Details::deserialize(&configuration.details) {
            Ok(details) => plugin(&configuration, &details, &mut set, &at, draft),
            Err(why) => draft.lose(format!("{at}: discoveryDetails"), why),
        }
    }
}

impl<'a> Configuration<'a> {
    fn of(value: &'a Value) -> Option<Self> {
        let spec = value.get("spec").unwrap_or(value);
        let named = value.pointer("/metadata/name").or_else(|| value.get("name")).and_then(Value::as_str);
        // Before version 0.6.
        let protocol = spec.get("protocol").and_then(Value::as_object).and_then(|all| all.iter().next());
        let (handler, details) = match (spec.get("discoveryHandler"), protocol) {
            (Some(handler), _) => (handler.get("name")?.as_str()?, handler.get("discoveryDetails")),
            (None, Some((name, details))) => (name.as_str(), Some(details)),
            (None, None) => ("udev", Some(spec.get("discoveryDetails")?)),
        };
        let details = match details {
            Some(Value::String(text)) => serde_saphyr::from_str(text).unwrap_or_else(|_| Value::from(text.as_str())),
            Some(other) => other.clone(),
            None => Value::Null,
        };
        Some(Self { name: named.unwrap_or("akri-udev"), handler, details, rest: spec.as_object()? })
    }
}

fn plugin(
    configuration: &Configuration<'_>,
    details: &Details,
    set: &mut BTreeMap<String, String>,
    at: &str,
    draft: &mut Draft,
) {
    let resource = format!("{DOMAIN}/{}", configuration.name);
    draft.lose_unknown(&format!("{at}: discoveryDetails"), details.rest.keys());
    let access = generic::access(&details.permissions);
    let mut entries = Vec::new();
    for rule in &details.udev_rules {
        let at = format!("{at}: {rule}");
        match device::meant(rule, &access, details.group_recursive) {
            Ok(meant) => {
                meant.notes.iter().for_each(|note| draft.lose(&at, note));
                entries.push(Entry::of_kernel(&resource, meant.of, meant.nodes));
            }
            Err(why) => draft.lose(at, format!("{why}; the rule is left out")),
        }
    }
    let replicas = capacity(configuration.rest, at, draft);
    lose_rest(configuration.rest, at, draft);
    if entries.is_empty() {
        return draft.lose(at, "none of its rules is left");
    }
    let name: String = configuration
        .name
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' })
        .collect();
    let mut keys = generic::plugin(replicas, &entries);
    let env = env(configuration, set, at, draft);
    if !env.is_empty() {
        keys += &format!("    containers:\n      env: {{{}}}\n", env.join(", "));
    }
    draft.plugin(name.trim_matches('-'), &keys);
}

/// How many containers may have a device.
fn capacity(rest: &Map<String, Value>, at: &str, draft: &mut Draft) -> u32 {
    let Some(capacity) = rest.get("capacity") else { return 1 };
    let number = capacity.as_u64().filter(|n| (1..=u64::from(MAX_REPLICAS)).contains(n));
    if number.is_none() {
        draft.lose(format!("{at}: capacity {capacity}"), format!("must be from 1 to {MAX_REPLICAS}; it is 1"));
    }
    number.and_then(|n| n.try_into().ok()).unwrap_or(1)
}

/// Variables of each container, as the policy has them.
fn env(
    configuration: &Configuration<'_>,
    set: &mut BTreeMap<String, String>,
    at: &str,
    draft: &mut Draft,
) -> Vec<String> {
    let mut env = Vec::new();
    for (key, value) in configuration.rest.get("brokerProperties").and_then(Value::as_object).into_iter().flatten() {
        let at = format!("{at}: brokerProperties: {key}");
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let begins = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if !begins || !key.chars().all(is_name) || text.is_empty() {
            draft.lose(at, "is no variable that a policy may set");
        } else if let Some(other) = set.get(key) {
            draft.lose(at, format!("is set for {other} already, and one plugin sets a variable"));
        } else {
            set.insert(key.clone(), configuration.name.to_owned());
            env.push(format!("{}: {}", scalar(key), scalar(&text.replace('{', "{{").replace('}', "}}"))));
        }
    }
    env
}

/// Names what is done by other means than a policy.
fn lose_rest(rest: &Map<String, Value>, at: &str, draft: &mut Draft) {
    let known = ["discoveryHandler", "discoveryDetails", "protocol", "capacity", "brokerProperties"];
    let is_nothing = |value: &Value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Bool(is_so) => !is_so,
        _ => false,
    };
    for (key, value) in
        rest.iter().filter(|(key, _)| !known.contains(&key.as_str()) && !OF_OBJECTS.contains(&key.as_str()))
    {
        let why = match key.as_str() {
            _ if is_nothing(value) => continue,
            // A chart's values have these for a broker that may not be there.
            "brokerPod" | "brokerJob" if value.pointer("/image/repository").is_none() => continue,
            "createInstanceServices" | "createConfigurationService" | "instanceService" | "configurationService" => {
                continue;
            }
            "brokerSpec" | "brokerPodSpec" | "brokerJobSpec" | "brokerPod" | "brokerJob" => {
                "no pod is made for a device: a DaemonSet or Deployment asks for the resource, and is told ids by `env` of the entry"
            }
            "instanceServiceSpec" | "configurationServiceSpec" => "no Service is made for a device",
            "discoveryProperties" => "the handler has other questions than the component",
            _ => "this key is not known",
        };
        draft.lose(format!("{at}: {key}"), why);
    }
}

#[cfg(test)]
mod tests;
