//! What a step expects.

use super::read::{Fields, Item, Report, entries};
use devgate_policy::yaml::{Node, Value};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const KEYS: [&str; 7] = ["devices", "reason", "pod", "plugins", "status", "log", "choice"];
pub(super) const RESOURCE: [&str; 3] = ["healthy", "unhealthy", "numa"];
pub(super) const CHOICE: [&str; 5] = ["resource", "size", "available", "must-include", "prefers"];
pub(super) const LINE: [&str; 3] = ["text", "plugin", "level"];
pub(super) const POD: [&str; 8] = [
    "name",
    "container",
    "devices",
    "nodes",
    "env",
    "mounts",
    "annotations",
    "cdi",
];

/// Everything that one step expects; all of it must hold at once.
#[derive(Debug, Clone, Default)]
pub(in crate::simulate) struct Expect {
    /// By resource.
    pub(in crate::simulate) devices: BTreeMap<String, Resource>,
    /// By device: part of the reason why it is unhealthy.
    pub(in crate::simulate) reasons: BTreeMap<String, String>,
    pub(in crate::simulate) pod: Option<PodExpect>,
    /// By plugin: a part of what `devgate status` says of it.
    pub(in crate::simulate) plugins: Vec<(String, Node)>,
    /// A part of all that it says.
    pub(in crate::simulate) status: Option<Node>,
    /// Lines of the host's log since something happened last.
    pub(in crate::simulate) log: Vec<LogLine>,
    pub(in crate::simulate) choice: Option<Choice>,
}

/// A line of the log.
#[derive(Debug, Clone)]
pub(in crate::simulate) struct LogLine {
    /// A part of it.
    pub(in crate::simulate) text: String,
    pub(in crate::simulate) plugin: Option<String>,
    /// `WARN`
    pub(in crate::simulate) level: Option<String>,
}

/// What a plugin prefers.
#[derive(Debug, Clone)]
pub(in crate::simulate) struct Choice {
    pub(in crate::simulate) resource: String,
    pub(in crate::simulate) size: usize,
    /// All that are healthy and nobody has, if nothing is said.
    pub(in crate::simulate) available: Option<Vec<String>>,
    pub(in crate::simulate) must_include: Vec<String>,
    pub(in crate::simulate) prefers: Amount,
}

/// What the kubelet knows of one resource.
#[derive(Debug, Clone, Default)]
pub(in crate::simulate) struct Resource {
    pub(in crate::simulate) healthy: Option<Amount>,
    pub(in crate::simulate) unhealthy: Option<Amount>,
    /// By device.
    pub(in crate::simulate) numa: BTreeMap<String, BTreeSet<i64>>,
}

/// How many devices, or which.
#[derive(Debug, Clone)]
pub(in crate::simulate) enum Amount {
    Count(usize),
    /// Patterns for ids: each matches one or more, and all ids match one.
    These(Vec<String>),
}

/// What a container was started with.
#[derive(Debug, Clone, Default)]
pub(in crate::simulate) struct PodExpect {
    pub(in crate::simulate) name: String,
    pub(in crate::simulate) container: Option<String>,
    /// By resource.
    pub(in crate::simulate) devices: BTreeMap<String, Amount>,
    pub(in crate::simulate) nodes: Option<Vec<NodeExpect>>,
    /// A value is a pattern; nothing where the key must not be there.
    pub(in crate::simulate) env: BTreeMap<String, Option<String>>,
    pub(in crate::simulate) mounts: Option<Vec<MountExpect>>,
    pub(in crate::simulate) annotations: BTreeMap<String, Option<String>>,
    pub(in crate::simulate) cdi: Option<Vec<String>>,
}

/// A node that a container has.
#[derive(Debug, Clone)]
pub(in crate::simulate) struct NodeExpect {
    /// A pattern for the path in the container.
    pub(in crate::simulate) path: String,
    pub(in crate::simulate) host: Option<String>,
    pub(in crate::simulate) permissions: Option<String>,
    /// How many nodes match; one or more where nothing is said.
    pub(in crate::simulate) count: Option<usize>,
}

/// A mount that a container has.
#[derive(Debug, Clone)]
pub(in crate::simulate) struct MountExpect {
    /// A pattern for the path in the container.
    pub(in crate::simulate) path: String,
    pub(in crate::simulate) host: Option<String>,
    pub(in crate::simulate) read_only: Option<bool>,
}

impl Expect {
    /// Whether only the host knows.
    pub(in crate::simulate) fn asks_the_host(&self) -> bool {
        !self.reasons.is_empty() || !self.plugins.is_empty() || self.status.is_some()
    }

    pub(super) fn read(item: &Item<'_>, report: &mut Report<'_>) -> Option<Self> {
        let fields = Fields::open(item.node, "\"expect\"", &KEYS, report)?;
        if matches!(&item.node.value, Value::Map(map) if map.is_empty()) {
            report.error(item.at, format!("\"expect\" has none of {}", KEYS.join(", ")));
        }
        let mut expect = Self::default();
        if let Some(devices) = fields.get("devices") {
            for entry in entries(devices.node, "\"devices\"", report)? {
                expect.devices.insert(
                    entry.key.to_owned(),
                    Resource::read(&entry, &mut expect.reasons, report)?,
                );
            }
        }
        if let Some(reasons) = fields.get("reason") {
            for entry in entries(reasons.node, "\"reason\"", report)? {
                expect
                    .reasons
                    .insert(entry.key.to_owned(), entry.text(report)?.to_owned());
            }
        }
        if let Some(pod) = fields.get("pod") {
            expect.pod = PodExpect::read(&pod, report);
        }
        if let Some(plugins) = fields.get("plugins") {
            let all = entries(plugins.node, "\"plugins\"", report)?;
            expect.plugins = all
                .iter()
                .map(|entry| (entry.key.to_owned(), entry.node.clone()))
                .collect();
        }
        expect.status = fields.get("status").map(|item| item.node.clone());
        if let Some(log) = fields.get("log") {
            let lines = match &log.node.value {
                Value::List(list) => list.as_slice(),
                _ => std::slice::from_ref(log.node),
            };
            let lines = lines.iter().map(|node| LogLine::read(&log.element(node), report));
            expect.log = lines.collect::<Option<_>>()?;
        }
        if let Some(choice) = fields.get("choice") {
            expect.choice = Some(Choice::read(&choice, report)?);
        }
        Some(expect)
    }
}

impl LogLine {
    fn read(item: &Item<'_>, report: &mut Report<'_>) -> Option<Self> {
        if !matches!(item.node.value, Value::Map(_)) {
            return Some(Self {
                text: item.text(report)?.to_owned(),
                plugin: None,
                level: None,
            });
        }
        let fields = Fields::open(item.node, "a line of the log", &LINE, report)?;
        let level = fields.get("level");
        let upper = level.and_then(|item| item.text(report)).map(str::to_uppercase);
        let known = |level: &String| ["ERROR", "WARN", "INFO", "DEBUG"].contains(&level.as_str());
        if let (Some(item), false) = (level, upper.as_ref().is_none_or(known)) {
            item.wrong("error, warn, info or debug", report);
        }
        Some(Self {
            text: fields.need_text("text", report)?,
            plugin: fields.text("plugin", report),
            level: upper,
        })
    }
}

impl Choice {
    fn read(item: &Item<'_>, report: &mut Report<'_>) -> Option<Self> {
        let fields = Fields::open(item.node, "\"choice\"", &CHOICE, report)?;
        let prefers = fields.need("prefers", report).and_then(|item| item.texts(report));
        let must_include = fields.get("must-include").and_then(|item| item.texts(report));
        Some(Self {
            resource: fields.need_text("resource", report)?,
            size: fields.need("size", report)?.count(report)?,
            available: fields.get("available").and_then(|item| item.texts(report)),
            must_include: must_include.unwrap_or_default(),
            prefers: Amount::These(prefers?),
        })
    }
}

impl Resource {
    /// A number stands for so many devices, all of them healthy.
    fn read(item: &Item<'_>, reasons: &mut BTreeMap<String, String>, report: &mut Report<'_>) -> Option<Self> {
        match &item.node.value {
            Value::Number(_) => Some(Self {
                healthy: Some(Amount::Count(item.count(report)?)),
                unhealthy: Some(Amount::Count(0)),
                numa: BTreeMap::new(),
            }),
            Value::List(_) => Some(Self {
                healthy: Some(Amount::read(item, report)?),
                unhealthy: Some(Amount::Count(0)),
                numa: BTreeMap::new(),
            }),
            Value::Map(_) => {
                let fields = Fields::open(item.node, &format!("\"{}\"", item.key), &RESOURCE, report)?;
                let healthy = fields.get("healthy").and_then(|item| Amount::read(&item, report));
                let unhealthy = fields.get("unhealthy").and_then(|item| match &item.node.value {
                    // Ids with the reasons.
                    Value::Map(_) => {
                        let mut ids = Vec::new();
                        for entry in entries(item.node, "\"unhealthy\"", report)? {
                            reasons.insert(entry.key.to_owned(), entry.text(report)?.to_owned());
                            ids.push(entry.key.to_owned());
                        }
                        Some(Amount::These(ids))
                    }
                    _ => Amount::read(&item, report),
                });
                let mut numa = BTreeMap::new();
                if let Some(nodes) = fields.get("numa") {
                    for entry in entries(nodes.node, "\"numa\"", report)? {
                        numa.insert(entry.key.to_owned(), numa_nodes(&entry, report)?);
                    }
                }
                Some(Self {
                    healthy,
                    unhealthy,
                    numa,
                })
            }
            _ => {
                item.wrong(
                    "how many devices, a list of ids, or a mapping with healthy and unhealthy",
                    report,
                );
                None
            }
        }
    }
}

/// One NUMA node, or a list of them.
fn numa_nodes(item: &Item<'_>, report: &mut Report<'_>) -> Option<BTreeSet<i64>> {
    let nodes = match &item.node.value {
        Value::List(list) => list.as_slice(),
        _ => std::slice::from_ref(item.node),
    };
    let number = |node| item.element(node).count(report).and_then(|n| i64::try_from(n).ok());
    nodes.iter().map(number).collect()
}

impl Amount {
    fn read(item: &Item<'_>, report: &mut Report<'_>) -> Option<Self> {
        match &item.node.value {
            Value::Number(_) => item.count(report).map(Self::Count),
            Value::List(_) => item.texts(report).map(Self::These),
            _ => {
                item.wrong("how many, or a list of ids", report);
                None
            }
        }
    }
}

impl PodExpect {
    fn read(item: &Item<'_>, report: &mut Report<'_>) -> Option<Self> {
        let fields = Fields::open(item.node, "\"pod\" in \"expect\"", &POD, report)?;
        let mut pod = Self {
            name: fields.need_text("name", report)?,
            container: fields.text("container", report),
            env: values(fields.get("env"), report),
            annotations: values(fields.get("annotations"), report),
            cdi: fields.get("cdi").and_then(|item| item.texts(report)),
            ..Self::default()
        };
        if let Some(devices) = fields.get("devices") {
            for entry in entries(devices.node, "\"devices\"", report)? {
                pod.devices.insert(entry.key.to_owned(), Amount::read(&entry, report)?);
            }
        }
        if let Some(nodes) = fields.get("nodes") {
            let list = nodes.list(report)?.iter();
            let nodes = list.filter_map(|node| NodeExpect::read(&nodes.element(node), report));
            pod.nodes = Some(nodes.collect());
        }
        if let Some(mounts) = fields.get("mounts") {
            let list = mounts.list(report)?.iter();
            let mounts = list.filter_map(|node| MountExpect::read(&mounts.element(node), report));
            pod.mounts = Some(mounts.collect());
        }
        Some(pod)
    }
}

impl NodeExpect {
    fn read(item: &Item<'_>, report: &mut Report<'_>) -> Option<Self> {
        if let Value::Text(path) = &item.node.value {
            return Some(Self {
                path: path.clone(),
                host: None,
                permissions: None,
                count: None,
            });
        }
        let fields = Fields::open(item.node, "a node", &["path", "host", "permissions", "count"], report)?;
        Some(Self {
            path: fields.need_text("path", report)?,
            host: fields.text("host", report),
            permissions: fields.text("permissions", report),
            count: fields.get("count").and_then(|item| item.count(report)),
        })
    }
}

impl MountExpect {
    fn read(item: &Item<'_>, report: &mut Report<'_>) -> Option<Self> {
        if let Value::Text(path) = &item.node.value {
            return Some(Self {
                path: path.clone(),
                host: None,
                read_only: None,
            });
        }
        let fields = Fields::open(item.node, "a mount", &["path", "host", "read-only"], report)?;
        Some(Self {
            path: fields.need_text("path", report)?,
            host: fields.text("host", report),
            read_only: fields.get("read-only").and_then(|item| item.yes(report)),
        })
    }
}

/// Values by key; `null` says that the key is not there.
fn values(item: Option<Item<'_>>, report: &mut Report<'_>) -> BTreeMap<String, Option<String>> {
    let mut values = BTreeMap::new();
    let Some(item) = item else { return values };
    for entry in entries(item.node, &format!("\"{}\"", item.key), report).unwrap_or_default() {
        match &entry.node.value {
            Value::Null => {
                values.insert(entry.key.to_owned(), None);
            }
            _ => {
                if let Some(text) = entry.text(report) {
                    values.insert(entry.key.to_owned(), Some(text.to_owned()));
                }
            }
        }
    }
    values
}
