//! The configuration as NVIDIA's plugin reads it (version v1).

use super::super::draft::Draft;
use serde::Deserialize;
use serde_json::{Map, Value};

/// What the whole file says.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    #[serde(default)]
    pub(super) flags: Flags,
    #[serde(default)]
    pub(super) sharing: Sharing,
    #[serde(default)]
    imex: Map<String, Value>,
    #[serde(default)]
    resources: Value,
    #[serde(default, rename = "version")]
    _version: Value,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Flags {
    pub(super) mig_strategy: Option<String>,
    pub(super) plugin: Plugin,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Plugin {
    device_list_strategy: Value,
    pub(super) shared_devices_allocation_policy: Option<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Sharing {
    pub(super) time_slicing: Option<Slicing>,
    pub(super) mps: Option<Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Slicing {
    #[serde(default)]
    pub(super) rename_by_default: bool,
    pub(super) fail_requests_greater_than_one: Option<bool>,
    #[serde(default)]
    pub(super) resources: Vec<Replicated>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Replicated {
    pub(super) name: String,
    pub(super) replicas: u32,
    #[serde(default)]
    pub(super) rename: String,
    #[serde(default)]
    pub(super) devices: Value,
}

/// What needs nothing here: `guests/PARITY.md` says of each why.
const NOT_NEEDED: [&str; 11] = [
    "failOnInitError",
    "mpsRoot",
    "nvidiaDriverRoot",
    "useNodeFeatureAPI",
    "deviceDiscoveryStrategy",
    "gfd",
    "passDeviceSpecs",
    "cdiAnnotationPrefix",
    "nvidiaCTKPath",
    "containerDriverRoot",
    "version",
];

impl Config {
    /// Names what is not carried over and has no place of its own.
    pub(super) fn lose_unknown(&self, at: &str, draft: &mut Draft) {
        draft.lose_unknown(at, self.rest.keys());
        if self.resources.as_object().is_some_and(|resources| !resources.is_empty()) {
            draft.lose(
                format!("{at}: resources"),
                "their plugin ignores it, too; `rename` by `property: {model: …}` does it",
            );
        }
        if self.imex.get("channelIDs").and_then(Value::as_array).is_some_and(|ids| !ids.is_empty()) {
            draft.lose(format!("{at}: imex: channelIDs"), "IMEX channels are not offered");
        }
        let slicing = self.sharing.time_slicing.iter().map(|slicing| (&slicing.rest, "sharing: timeSlicing"));
        let flags =
            [(&self.flags.rest, "flags"), (&self.flags.plugin.rest, "flags: plugin"), (&self.sharing.rest, "sharing")];
        for (rest, place) in flags.into_iter().chain(slicing) {
            for (key, value) in rest.iter().filter(|(key, value)| !is_needless(key, value)) {
                draft.lose(format!("{at}: {place}: {key}"), why(key, value));
            }
        }
    }
}

/// Whether it says nothing that is not so here anyway.
fn is_needless(key: &str, value: &Value) -> bool {
    NOT_NEEDED.contains(&key)
        || *value == Value::Bool(false)
        || matches!((key, value.as_str()), ("deviceIDStrategy", Some("uuid")) | ("nvidiaDevRoot", Some("/" | "")))
}

fn why(key: &str, value: &Value) -> String {
    match key {
        "deviceIDStrategy" => format!("{value}: ids are UUIDs, as an index is another GPU's when one fails to come up"),
        "DP_DISABLE_HEALTHCHECKS" | "DP_ENABLE_HEALTHCHECKS" => {
            format!("{value}: code by code, as `config: {{xid: {{\"109\": ignore}}}}`")
        }
        "IMEX_CHANNEL_IDS" | "IMEX_REQUIRED" => "IMEX channels are not offered".to_owned(),
        "nvidiaDevRoot" => format!("{value}: nodes are those in /dev"),
        "gdrcopyEnabled" | "gdsEnabled" | "mofedEnabled" => {
            "its nodes can be offered by a plugin with generic and `host-nodes`".to_owned()
        }
        _ => "this key is not known, and their plugin ignores it".to_owned(),
    }
}

impl Plugin {
    /// Each way in which a container is to get its GPUs.
    pub(super) fn strategies(&self) -> Vec<&str> {
        match &self.device_list_strategy {
            Value::String(one) => one.split(',').map(str::trim).collect(),
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            _ => vec!["envvar"],
        }
    }
}
