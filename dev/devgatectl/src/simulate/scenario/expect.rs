//! What a step expects.

use super::read::{Item, Read};
use devgate_policy::yaml::{Node, Value};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const KEYS: &str = "devices reason pod plugins status log choice";
pub(super) const RESOURCE: &str = "healthy unhealthy numa";
pub(super) const CHOICE: &str = "resource size available must-include prefers";
pub(super) const LINE: &str = "text plugin level";
pub(super) const POD: &str = "name container devices nodes env mounts annotations cdi";

/// Everything that one step expects; all of it must hold at once.
#[derive(Debug)]
pub(in crate::simulate) struct Expect {
    /// By resource.
    pub(in crate::simulate) devices: BTreeMap<String, Resource>,
    /// By device: part of the reason why it is unhealthy.
    pub(in crate::simulate) reasons: BTreeMap<String, String>,
    pub(in crate::simulate) pod: Option<PodExpect>,
    /// By plugin: a part of what `devgate status` says of it.
    pub(in crate::simulate) plugins: BTreeMap<String, Node>,
    /// A part of all that it says.
    pub(in crate::simulate) status: Option<Node>,
    /// Lines of the host's log since something happened last.
    pub(in crate::simulate) log: Vec<LogLine>,
    pub(in crate::simulate) choice: Option<Choice>,
}

/// A line of the log.
#[derive(Debug, Default)]
pub(in crate::simulate) struct LogLine {
    /// A part of it.
    pub(in crate::simulate) text: String,
    pub(in crate::simulate) plugin: Option<String>,
    /// `WARN`
    pub(in crate::simulate) level: Option<String>,
}

/// What a plugin prefers.
#[derive(Debug)]
pub(in crate::simulate) struct Choice {
    pub(in crate::simulate) resource: String,
    pub(in crate::simulate) size: usize,
    /// All that are healthy and free, if nothing is said.
    pub(in crate::simulate) available: Option<Vec<String>>,
    pub(in crate::simulate) must_include: Vec<String>,
    pub(in crate::simulate) prefers: Amount,
}

/// What the kubelet knows of one resource.
#[derive(Debug)]
pub(in crate::simulate) struct Resource {
    pub(in crate::simulate) healthy: Option<Amount>,
    pub(in crate::simulate) unhealthy: Option<Amount>,
    /// By device, of those that are unhealthy.
    reasons: BTreeMap<String, String>,
    /// By device.
    pub(in crate::simulate) numa: BTreeMap<String, BTreeSet<i64>>,
}

/// How many devices, or which.
#[derive(Debug)]
pub(in crate::simulate) enum Amount {
    Count(usize),
    /// Patterns for ids: each matches one or more, and all ids match one.
    These(Vec<String>),
}

/// What a container was started with.
#[derive(Debug)]
pub(in crate::simulate) struct PodExpect {
    pub(in crate::simulate) name: String,
    pub(in crate::simulate) container: Option<String>,
    /// By resource.
    pub(in crate::simulate) devices: BTreeMap<String, Amount>,
    pub(in crate::simulate) nodes: Option<Vec<PathExpect>>,
    pub(in crate::simulate) mounts: Option<Vec<PathExpect>>,
    /// A value is a pattern; `None` if the key must not be there.
    pub(in crate::simulate) env: BTreeMap<String, Option<String>>,
    pub(in crate::simulate) annotations: BTreeMap<String, Option<String>>,
    pub(in crate::simulate) cdi: Option<Vec<String>>,
}

/// A node or mount that a container has.
#[derive(Debug, Default)]
pub(in crate::simulate) struct PathExpect {
    /// A pattern for the path in the container.
    pub(in crate::simulate) path: String,
    pub(in crate::simulate) host: Option<String>,
    /// A node's permissions; [`mount_mode`] of a mount.
    pub(in crate::simulate) mode: Option<String>,
    /// How many match; one or more if nothing is said.
    pub(in crate::simulate) count: Option<usize>,
}

/// How a mount is shown.
pub(in crate::simulate) fn mount_mode(read_only: bool) -> String {
    if read_only { "read-only" } else { "read-write" }.to_owned()
}

impl Expect {
    /// Whether only the host knows.
    pub(in crate::simulate) fn asks_the_host(&self) -> bool {
        !self.reasons.is_empty() || !self.plugins.is_empty() || self.status.is_some()
    }
}

impl Read for Expect {
    fn read(item: &Item<'_>) -> Option<Self> {
        let fields = item.fields("\"expect\"", KEYS)?;
        if matches!(&item.node.value, Value::Map(map) if map.is_empty()) {
            let message = format!("\"expect\" has none of {}", KEYS.replace(' ', ", "));
            item.report.error(item.at, message);
        }
        let devices: BTreeMap<String, Resource> = fields.get("devices").unwrap_or_default();
        let mut reasons: BTreeMap<_, _> = devices.values().flat_map(|of| of.reasons.clone()).collect();
        reasons.extend(fields.get::<BTreeMap<_, _>>("reason").unwrap_or_default());
        Some(Self {
            devices,
            reasons,
            pod: fields.get("pod"),
            plugins: fields.get("plugins").unwrap_or_default(),
            status: fields.get("status"),
            log: fields.get("log").unwrap_or_default(),
            choice: fields.get("choice"),
        })
    }
}

impl Read for LogLine {
    fn read(item: &Item<'_>) -> Option<Self> {
        if !item.is_map() {
            let text = Read::read(item)?;
            return Some(Self { text, ..Self::default() });
        }
        let fields = item.fields("a line of the log", LINE)?;
        let level = fields.get::<String>("level").map(|level| level.to_uppercase());
        let known = |level: &String| ["ERROR", "WARN", "INFO", "DEBUG"].contains(&level.as_str());
        if !level.as_ref().is_none_or(known) {
            fields.item("level")?.wrong::<()>("error, warn, info or debug");
        }
        Some(Self { text: fields.need("text")?, plugin: fields.get("plugin"), level })
    }
}

impl Read for Choice {
    fn read(item: &Item<'_>) -> Option<Self> {
        let fields = item.fields("\"choice\"", CHOICE)?;
        Some(Self {
            prefers: Amount::These(fields.need("prefers")?),
            resource: fields.need("resource")?,
            size: fields.need("size")?,
            available: fields.get("available"),
            must_include: fields.get("must-include").unwrap_or_default(),
        })
    }
}

impl Read for Resource {
    /// A number stands for so many devices, all of them healthy.
    fn read(item: &Item<'_>) -> Option<Self> {
        let (mut reasons, mut numa) = (BTreeMap::new(), BTreeMap::new());
        let (healthy, unhealthy) = match &item.node.value {
            Value::Number(_) | Value::List(_) => (Some(Read::read(item)?), Some(Amount::Count(0))),
            Value::Map(_) => {
                let fields = item.fields(&format!("\"{}\"", item.key), RESOURCE)?;
                numa = fields.get("numa").unwrap_or_default();
                let unhealthy = match fields.item("unhealthy") {
                    // Ids with the reasons.
                    Some(item) if item.is_map() => {
                        reasons = Read::read(item)?;
                        Some(Amount::These(reasons.keys().cloned().collect()))
                    }
                    item => item.and_then(Read::read),
                };
                (fields.get("healthy"), unhealthy)
            }
            _ => return item.wrong("how many devices, a list of ids, or a mapping with healthy and unhealthy"),
        };
        Some(Self { healthy, unhealthy, reasons, numa })
    }
}

impl Read for Amount {
    fn read(item: &Item<'_>) -> Option<Self> {
        match &item.node.value {
            Value::Number(_) => Read::read(item).map(Self::Count),
            Value::List(_) => Read::read(item).map(Self::These),
            _ => item.wrong("how many, or a list of ids"),
        }
    }
}

impl Read for PodExpect {
    fn read(item: &Item<'_>) -> Option<Self> {
        let fields = item.fields("\"pod\" in \"expect\"", POD)?;
        Some(Self {
            name: fields.need("name")?,
            container: fields.get("container"),
            devices: fields.get("devices").unwrap_or_default(),
            nodes: fields.get("nodes"),
            mounts: fields.get("mounts"),
            env: fields.get("env").unwrap_or_default(),
            annotations: fields.get("annotations").unwrap_or_default(),
            cdi: fields.get("cdi"),
        })
    }
}

impl Read for PathExpect {
    fn read(item: &Item<'_>) -> Option<Self> {
        if let Value::Text(path) = &item.node.value {
            let path = path.clone();
            return Some(Self { path, ..Self::default() });
        }
        let fields = if item.key == "mounts" {
            item.fields("a mount", "path host read-only")?
        } else {
            item.fields("a node", "path host permissions count")?
        };
        Some(Self {
            path: fields.need("path")?,
            host: fields.get("host"),
            mode: fields.get("permissions").or(fields.get("read-only").map(mount_mode)),
            count: fields.get("count"),
        })
    }
}
