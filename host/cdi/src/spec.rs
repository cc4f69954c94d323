//! What a file says, and what is wrong with one: as strict as the CNCF's library, for which a file with one unknown field is no file
//! (`pkg/cdi/spec.go`, `pkg/cdi/container-edits.go`, `pkg/parser/parser.go`, `specs-go/version.go`).

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The versions that there are, oldest first.
const VERSIONS: &[&str] = &[
    "0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0",
];
/// What every reader that there is takes.
const LOWEST: &str = "0.3.0";
/// The moments of a container's life that a hook can have.
const HOOKS: &[&str] = &[
    "prestart",
    "createRuntime",
    "createContainer",
    "startContainer",
    "poststart",
    "poststop",
];

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    /// The version that says what may be in it.
    pub cdi_version: String,
    /// `vendor/class` of its devices.
    pub kind: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Its devices.
    pub devices: Vec<Device>,
    /// What each container gets that has any of them.
    #[serde(default, skip_serializing_if = "Edits::is_empty")]
    pub container_edits: Edits,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Device {
    /// One in its file.
    pub name: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// What a container gets that has it.
    pub container_edits: Edits,
}

/// What a container gets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Edits {
    /// `NAME=value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Device nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_nodes: Vec<DeviceNode>,
    /// Interfaces of the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub net_devices: Vec<NetDevice>,
    /// Mounts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// Programs of the machine, which root runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// Groups of its first process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_gids: Vec<u32>,
    /// Its share of caches and memory bandwidth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intel_rdt: Option<IntelRdt>,
}

/// A device node of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DeviceNode {
    /// In the container, absolute.
    pub path: String,
    /// On the machine, where that is another.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub host_path: Option<String>,
    /// `b`, `c`, `u` or `p`.
    #[serde(
        rename = "type",
        deserialize_with = "filled",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<String>,
    /// The kernel's.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub major: Option<i64>,
    /// The kernel's.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub minor: Option<i64>,
    /// The bits of its mode.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub file_mode: Option<u32>,
    /// `r`, `w`, `m`; all where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// The owner; that of the container's process where there is none.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The same for the group.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub gid: Option<u32>,
}

/// An interface of the network that moves into the container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetDevice {
    /// On the machine.
    pub host_interface_name: String,
    /// In the container.
    pub name: String,
}

/// A mount of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mount {
    /// On the machine.
    pub host_path: String,
    /// In the container.
    pub container_path: String,
    /// As mount(8) has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// A file system's.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "filled",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<String>,
}

/// A program that the runtime runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hook {
    /// When.
    pub hook_name: String,
    /// Which.
    pub path: String,
    /// With what, its name first.
    #[serde(default)]
    pub args: Vec<String>,
    /// `NAME=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// In seconds.
    #[serde(default, deserialize_with = "number")]
    pub timeout: Option<i64>,
}

/// A share of caches and memory bandwidth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IntelRdt {
    /// The class.
    #[serde(rename = "closID", default)]
    pub clos_id: String,
    /// Caches.
    #[serde(default)]
    pub l3_cache_schema: String,
    /// Bandwidth.
    #[serde(default)]
    pub mem_bw_schema: String,
    /// Both.
    #[serde(default)]
    pub schemata: Option<Vec<String>>,
    /// Cache monitoring, of old.
    #[serde(rename = "enableCMT", default)]
    pub enable_cmt: bool,
    /// Bandwidth monitoring, of old.
    #[serde(rename = "enableMBM", default)]
    pub enable_mbm: bool,
    /// Both.
    #[serde(default)]
    pub enable_monitoring: bool,
}

/// To the library a text that is empty is none.
fn filled<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.filter(|text| !text.is_empty()))
}

/// And a text is no number, also in YAML.
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
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn check(&self) -> Result<(), String> {
        for variable in self.env.iter().chain(self.hooks.iter().flat_map(|hook| &hook.env)) {
            let is_good = variable.split_once('=').is_some_and(|(name, _)| !name.is_empty());
            ensure(is_good, || format!("variable {variable:?} is not NAME=value"))?;
        }
        for node in &self.device_nodes {
            ensure(!node.path.is_empty(), || "a device node has no path".to_owned())?;
            let (kind, letters) = (&node.kind, &node.permissions);
            let (kind, letters) = (
                kind.as_deref().unwrap_or_default(),
                letters.as_deref().unwrap_or_default(),
            );
            let is_good = ["", "b", "c", "u", "p"].contains(&kind);
            ensure(is_good, || {
                format!("node {}: type {kind:?} is none of b, c, u, p", node.path)
            })?;
            let is_good = letters.chars().all(|letter| "rwm".contains(letter));
            ensure(is_good, || {
                format!("node {}: permissions {letters:?} are not of r, w, m", node.path)
            })?;
        }
        let (mut hosts, mut names) = (BTreeSet::new(), BTreeSet::new());
        for NetDevice {
            host_interface_name: host,
            name,
        } in &self.net_devices
        {
            let is_good = !host.is_empty() && !name.is_empty() && hosts.insert(host) && names.insert(name);
            ensure(is_good, || {
                "net devices must each have two names of their own".to_owned()
            })?;
        }
        for mount in &self.mounts {
            let is_good = !mount.host_path.is_empty() && !mount.container_path.is_empty();
            ensure(is_good, || "a mount has no hostPath or no containerPath".to_owned())?;
        }
        for Hook { hook_name, path, .. } in &self.hooks {
            let is_good = HOOKS.contains(&hook_name.as_str());
            ensure(is_good, || {
                format!("hook {hook_name:?} is none of {}", HOOKS.join(", "))
            })?;
            ensure(!path.is_empty(), || format!("hook {hook_name} has no path"))?;
        }
        let id = self.intel_rdt.as_ref().map_or("", |rdt| rdt.clos_id.as_str());
        let is_path = id.len() >= 4096 || [".", ".."].contains(&id) || id.contains(['/', '\n']);
        ensure(!is_path || id == "/", || "intelRdt: closID is no name".to_owned())
    }

    /// The lowest version that has all of it.
    fn version(&self) -> &'static str {
        let rdt = self.intel_rdt.as_ref();
        if !self.net_devices.is_empty() || rdt.is_some_and(|rdt| rdt.schemata.is_some() || rdt.enable_monitoring) {
            "1.1.0"
        } else if rdt.is_some() || !self.additional_gids.is_empty() {
            "0.7.0"
        } else if self.device_nodes.iter().any(|node| node.host_path.is_some()) {
            "0.5.0"
        } else if self.mounts.iter().any(|mount| mount.kind.is_some()) {
            "0.4.0"
        } else {
            LOWEST
        }
    }
}

impl Spec {
    /// A file of one device, with the lowest version that has all of it.
    #[must_use]
    pub fn of_one(kind: &str, name: &str, edits: Edits) -> Self {
        let device = Device {
            name: name.to_owned(),
            annotations: BTreeMap::new(),
            container_edits: edits,
        };
        Self::new(kind, vec![device])
    }

    /// A file of these devices, with the lowest version that has all of them.
    #[must_use]
    pub fn new(kind: &str, devices: Vec<Device>) -> Self {
        let mut spec = Self {
            cdi_version: String::new(),
            kind: kind.to_owned(),
            annotations: BTreeMap::new(),
            devices,
            container_edits: Edits::default(),
        };
        spec.cdi_version = spec.version().to_owned();
        spec
    }

    /// The lowest version that has all of it, `specs-go/version.go`.
    #[must_use]
    pub fn version(&self) -> &'static str {
        let edits = std::iter::once(&self.container_edits);
        let edits = edits.chain(self.devices.iter().map(|device| &device.container_edits));
        let annotated = self.devices.iter().any(|device| !device.annotations.is_empty());
        let dotted = self.kind.split_once('/').is_some_and(|(_, class)| class.contains('.'));
        let starts_with_digit = |device: &Device| device.name.starts_with(|first: char| first.is_ascii_digit());
        let mut all: Vec<_> = edits.map(Edits::version).collect();
        if annotated || !self.annotations.is_empty() || dotted {
            all.push("0.6.0");
        }
        if self.devices.iter().any(starts_with_digit) {
            all.push("0.5.0");
        }
        let newest = all.into_iter().max_by_key(|version| place(version));
        newest.unwrap_or(LOWEST)
    }

    /// Takes what the library would take.
    ///
    /// # Errors
    /// Why the library would not. For people, unescaped.
    pub fn check(&self) -> Result<(), String> {
        let version = self.cdi_version.strip_prefix('v').unwrap_or(&self.cdi_version);
        let none = || format!("cdiVersion {:?} is none of {}", self.cdi_version, VERSIONS.join(", "));
        let has = place(version).ok_or_else(none)?;
        problem_of_kind(&self.kind).map_or(Ok(()), Err)?;
        let needs = self.version();
        let is_enough = place(needs).is_none_or(|needs| has >= needs);
        ensure(is_enough, || {
            format!("cdiVersion {version} has not all that is used, {needs} has")
        })?;
        ensure(!self.devices.is_empty(), || "it has no devices".to_owned())?;
        let mut names = BTreeSet::new();
        for Device {
            name, container_edits, ..
        } in &self.devices
        {
            ensure(is_device_name(name), || format!("device {name:?} cannot be called so"))?;
            ensure(names.insert(name), || format!("device {name} is in it twice"))?;
            let nothing = || format!("device {name} gives nothing: its containerEdits are empty");
            ensure(!container_edits.is_empty(), nothing)?;
            container_edits.check().map_err(|why| format!("device {name}: {why}"))?;
        }
        self.container_edits.check()
    }
}

fn ensure(is_good: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if is_good { Ok(()) } else { Err(why()) }
}

fn place(version: &str) -> Option<usize> {
    VERSIONS.iter().position(|known| *known == version)
}

fn is_device_name(name: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || b"_-.:".contains(&b);
    let is_end = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    is_end(name.as_bytes().first()) && is_end(name.as_bytes().last()) && name.bytes().all(is_inner)
}

/// Why a kind is none, if so. A vendor or class of one letter is one by the text, and ends every released library.
#[must_use]
pub fn problem_of_kind(kind: &str) -> Option<String> {
    let Some((vendor, class)) = kind.split_once('/') else {
        return Some(format!("kind {kind:?} is not vendor/class"));
    };
    let part = |what: &str, part: &str| {
        let is_inner = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
        let bytes = part.as_bytes();
        let starts = bytes.first().is_some_and(u8::is_ascii_alphabetic);
        let ends = bytes.last().is_some_and(u8::is_ascii_alphanumeric);
        if !starts || !ends || !part.bytes().all(is_inner) {
            return Some(format!(
                "kind {kind:?}: the {what} must start with a letter, end with a letter or digit, and have only those, _, - and . between"
            ));
        }
        (bytes.len() == 1).then(|| format!("kind {kind:?}: a {what} of one letter ends every program that reads it"))
    };
    part("vendor", vendor).or_else(|| part("class", class))
}

#[cfg(test)]
pub(crate) mod tests;
