//! What a file says: as strict as the CNCF's library, for which a file with one unknown field is no file (`pkg/cdi/spec.go`,
//! `specs-go/config.go`).

mod rules;

pub use rules::NoSpec;
#[cfg(test)]
pub(crate) use rules::problem_of_kind;
pub(crate) use rules::{is_device_name, is_name};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// A file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Spec {
    pub(crate) cdi_version: String,
    /// `vendor/class` of its devices.
    pub(crate) kind: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) devices: Vec<Device>,
    /// What each container gets that has any of them.
    #[serde(skip_serializing_if = "Edits::is_empty")]
    pub(crate) container_edits: Edits,
}

/// A device: no other in its file has its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Device {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) container_edits: Edits,
}

/// What a container gets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Edits {
    /// `NAME=value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) env: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) device_nodes: Vec<DeviceNode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) net_devices: Vec<NetDevice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) mounts: Vec<Mount>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hooks: Vec<Hook>,
    /// Of its first process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) additional_gids: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) intel_rdt: Option<IntelRdt>,
}

/// A device node of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct DeviceNode {
    /// In the container, absolute.
    pub(crate) path: String,
    /// On the machine, where that is another.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub(crate) host_path: Option<String>,
    /// `b`, `c`, `u` or `p`.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub(crate) r#type: Option<String>,
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub(crate) major: Option<i64>,
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub(crate) minor: Option<i64>,
    /// The bits of its mode.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub(crate) file_mode: Option<u32>,
    /// `r`, `w`, `m`; all where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) permissions: Option<String>,
    /// The owner; that of the container's process where there is none.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub(crate) uid: Option<u32>,
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub(crate) gid: Option<u32>,
}

/// An interface of the network that moves into the container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct NetDevice {
    pub(crate) host_interface_name: String,
    pub(crate) name: String,
}

/// A mount of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Mount {
    pub(crate) host_path: String,
    pub(crate) container_path: String,
    /// As mount(8) has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) options: Vec<String>,
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub(crate) r#type: Option<String>,
}

/// A program of the machine that the runtime runs as root at a moment of the container's life.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Hook {
    pub(crate) hook_name: String,
    pub(crate) path: String,
    /// Its name first.
    pub(crate) args: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) env: Vec<String>,
    /// In seconds.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<i64>,
}

/// A share of caches and memory bandwidth (resctrl).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct IntelRdt {
    #[serde(rename = "closID")]
    pub(crate) clos_id: String,
    pub(crate) l3_cache_schema: String,
    pub(crate) mem_bw_schema: String,
    pub(crate) schemata: Option<Vec<String>>,
    #[serde(rename = "enableCMT")]
    pub(crate) enable_cmt: bool,
    #[serde(rename = "enableMBM")]
    pub(crate) enable_mbm: bool,
    pub(crate) enable_monitoring: bool,
}

/// To the library a text that is empty is none.
fn filled<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.filter(|text| !text.is_empty()))
}

/// The library takes no text for a number, in YAML neither.
fn number<'de, D: Deserializer<'de>, N: TryFrom<i64>>(from: D) -> Result<Option<N>, D::Error> {
    let number = Option::<serde_json::Number>::deserialize(from)?;
    let fits = |number: serde_json::Number| {
        let fitting = number.as_i64().and_then(|whole| N::try_from(whole).ok());
        fitting.ok_or_else(|| D::Error::custom(format_args!("{number} cannot be here")))
    };
    number.map(fits).transpose()
}

impl Edits {
    /// Whether a container gets nothing by it. A device that is empty is none: the library refuses its file.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Spec {
    /// A file of one device, with the lowest version that has all of it.
    pub(crate) fn of_one(kind: &str, name: &str, edits: Edits) -> Self {
        let device = Device { name: name.to_owned(), container_edits: edits, ..Device::default() };
        Self::new(kind, vec![device])
    }

    /// A file of these devices, with the lowest version that has all of them.
    pub(crate) fn new(kind: &str, devices: Vec<Device>) -> Self {
        let mut spec = Self { kind: kind.to_owned(), devices, ..Self::default() };
        spec.version().clone_into(&mut spec.cdi_version);
        spec
    }
}

#[cfg(test)]
pub(crate) mod tests;
