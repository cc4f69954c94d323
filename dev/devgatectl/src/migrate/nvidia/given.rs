//! What NVIDIA's plugin is told besides its file: by variables, flags or a chart's values; as `flags` of its file.

use serde_json::{Map, Value, json};

/// Their variables; a flag is called the same with `-`, in small letters. Which key of a chart and of `flags` is the same, where `flags`
/// has it, and whether it tells that a list of variables or flags is this plugin's.
const SETTINGS: &[(&str, &str, Place, bool)] = &[
    ("MIG_STRATEGY", "migStrategy", Place::Flags, true),
    ("FAIL_ON_INIT_ERROR", "failOnInitError", Place::Flags, true),
    ("DEVICE_DISCOVERY_STRATEGY", "deviceDiscoveryStrategy", Place::Flags, true),
    ("NVIDIA_DRIVER_ROOT", "nvidiaDriverRoot", Place::Flags, false),
    ("NVIDIA_DEV_ROOT", "nvidiaDevRoot", Place::Flags, false),
    ("GDRCOPY_ENABLED", "gdrcopyEnabled", Place::Flags, false),
    ("GDS_ENABLED", "gdsEnabled", Place::Flags, false),
    ("MOFED_ENABLED", "mofedEnabled", Place::Flags, false),
    ("IMEX_CHANNEL_IDS", "IMEX_CHANNEL_IDS", Place::Flags, false),
    ("IMEX_REQUIRED", "IMEX_REQUIRED", Place::Flags, false),
    ("DP_DISABLE_HEALTHCHECKS", "DP_DISABLE_HEALTHCHECKS", Place::Flags, true),
    ("DP_ENABLE_HEALTHCHECKS", "DP_ENABLE_HEALTHCHECKS", Place::Flags, true),
    ("DEVICE_LIST_STRATEGY", "deviceListStrategy", Place::Plugin, true),
    ("DEVICE_ID_STRATEGY", "deviceIDStrategy", Place::Plugin, true),
    ("PASS_DEVICE_SPECS", "passDeviceSpecs", Place::Plugin, true),
    ("SHARED_DEVICES_ALLOCATION_POLICY", "sharedDevicesAllocationPolicy", Place::Plugin, true),
    ("CDI_ANNOTATION_PREFIX", "cdiAnnotationPrefix", Place::Plugin, false),
];

/// Where `flags` has a setting.
#[derive(Clone, Copy)]
enum Place {
    Flags,
    Plugin,
}

/// Whether it is a container of another of NVIDIA's programs, which have some of these variables, too.
pub(in super::super) fn is_of_another(map: &Map<String, Value>) -> bool {
    let has = |key: &str| {
        let text = map.get(key).and_then(Value::as_str).unwrap_or_default();
        ["feature-discovery", "validator", "validation"].iter().any(|word| text.contains(word))
    };
    map.get("env").is_some_and(Value::is_array) && (has("name") || has("image"))
}

/// Of a container's `env`.
pub(in super::super) fn by_variables(list: &[Value]) -> Option<Value> {
    let all = list.iter().filter_map(|one| Some((one.get("name")?.as_str()?, one.get("value")?)));
    taken(all, |variable, _| variable.to_owned())
}

/// Of a program's flags.
pub(in super::super) fn by_flags<'a>(flags: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Value> {
    let flags: Vec<_> =
        flags.map(|(name, value)| (name, json!(if value.is_empty() { "true" } else { value }))).collect();
    let all = flags.iter().map(|(name, value)| (*name, value));
    taken(all, |variable, _| variable.to_ascii_lowercase().replace('_', "-"))
}

/// Of a chart's values, or the GPU operator's.
pub(in super::super) fn by_values(map: &Map<String, Value>) -> Option<Value> {
    let is_operators = ["devicePlugin", "toolkit"].iter().any(|key| map.contains_key(*key));
    let strategy = map.get("mig").filter(|_| is_operators).and_then(|mig| mig.get("strategy"));
    let all = map.iter().map(|(key, value)| (key.as_str(), value)).chain(strategy.map(|value| ("migStrategy", value)));
    taken(all.filter(|(_, value)| !value.is_null() && *value != ""), |_, key| key.to_owned())
}

/// The settings among these, if any tells whose they are.
fn taken<'a>(all: impl Iterator<Item = (&'a str, &'a Value)>, named: impl Fn(&str, &str) -> String) -> Option<Value> {
    let (mut flags, mut plugin, mut is_theirs) = (Map::new(), Map::new(), false);
    for (name, value) in all {
        let known = SETTINGS.iter().find(|(variable, key, ..)| named(variable, key) == name);
        let Some((_, key, place, tells)) = known else { continue };
        is_theirs |= tells;
        let value = match value.as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("true") => Value::Bool(true),
            Some("false") => Value::Bool(false),
            _ => value.clone(),
        };
        let of = match place {
            Place::Flags => &mut flags,
            Place::Plugin => &mut plugin,
        };
        of.insert((*key).to_owned(), value);
    }
    if !plugin.is_empty() {
        flags.insert("plugin".to_owned(), Value::Object(plugin));
    }
    is_theirs.then_some(Value::Object(flags))
}

/// A configuration under what is told besides, which counts more.
pub(super) fn over(config: &Value, given: &[Value]) -> Value {
    let mut config = config.clone();
    for given in given {
        merge(&mut config, &json!({ "flags": given }));
    }
    config
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}
