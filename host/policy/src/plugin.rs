//! One plugin's entry in the policy.

use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::yaml::At;
use crate::{ComponentSource, Containers, Health, HostNodes, Selector, key, limits};
use devgate_model::{Limits, PluginName, ResourceName};
use std::fmt;
use std::sync::Arc;

/// The most resources of one plugin: the kubelet never forgets one.
const MOST_RESOURCES: usize = 16;
/// The most selectors of one plugin.
const MOST_SELECTORS: usize = 256;
/// The most bytes of `config` as JSON, so that it costs a call little.
const MOST_CONFIG: usize = 64 * 1024;

/// Where something is written, for messages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The file, as the caller of [`crate::parse`] named it.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
}

impl Origin {
    pub(crate) fn new(report: &Report, at: At) -> Self {
        Self {
            file: Arc::clone(&report.file),
            line: at.line,
        }
    }
}

impl fmt::Display for Origin {
    /// `policy.yaml:12`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", devgate_model::escape(&self.file, 256), self.line)
    }
}

/// All that the policy says about one plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginPolicy {
    /// Its name.
    pub name: PluginName,
    /// Where it is written.
    pub origin: Origin,
    /// Where its component comes from.
    pub component: ComponentSource,
    /// What it may offer: 1 to 16 resources, which no other plugin offers.
    pub resources: Vec<ResourceName>,
    /// The kernel devices that it may see.
    pub hardware: Vec<Selector>,
    /// The nodes without a kernel device that it may hand out.
    pub host_nodes: HostNodes,
    /// What else a container may get.
    pub containers: Containers,
    /// Whether several units may have the same backing and nodes.
    pub shares_hardware: bool,
    /// How many times each unit is offered: 1 to 4,096.
    pub replicas: u32,
    /// When a device's state counts as changed.
    pub health: Health,
    /// What one call may use up.
    pub limits: Limits,
    /// What the component is told, at most 64 KiB as JSON; `Null` where the policy says nothing.
    pub config: serde_json::Value,
}

impl PluginPolicy {
    /// Reads an entry; every mistake in it is reported.
    pub(crate) fn read(entry: &Item<'_>, report: &mut Report) -> Option<Self> {
        let name = match PluginName::try_new(entry.key) {
            Ok(name) => Some(name),
            Err(error) => {
                report.error(entry.key_at, error.to_string());
                None
            }
        };
        let place = format!("plugin \"{}\"", devgate_model::escape(entry.key, 80));
        let fields = Fields::open(entry.node, &place, &key::PLUGIN, report)?;
        let component = fields.need("component", report);
        let component = component.and_then(|item| ComponentSource::read(&item, &place, report));
        let resources = fields.need("resources", report);
        let resources = resources.map(|item| read_resources(&item, report)).unwrap_or_default();
        let hardware = fields.get("hardware").map(|item| read_hardware(&item, &place, report));
        let host_nodes = fields
            .get("host-nodes")
            .map(|item| HostNodes::read(&item, &place, report));
        let containers = fields.get("containers");
        let containers = containers.map(|item| Containers::read(&item, &place, &resources, report));
        let mut shares_hardware = false;
        fields.flag("shares-hardware", &mut shares_hardware, report);
        let mut replicas = 1;
        fields.number("replicas", 1..=4_096, &mut replicas, report);
        let health = fields.get("health").map(|item| Health::read(&item, &place, report));
        let limits = fields.get("limits").map(|item| limits::read(&item, &place, report));
        let config = fields.get("config").map(|item| read_config(&item, report));
        // Only now: what is missing must not hide what else is wrong.
        Some(Self {
            name: name?,
            origin: Origin::new(report, entry.key_at),
            component: component?,
            resources,
            hardware: hardware.unwrap_or_default(),
            host_nodes: host_nodes.unwrap_or_default(),
            containers: containers.unwrap_or_default(),
            shares_hardware,
            replicas,
            health: health.unwrap_or_default(),
            limits: limits.unwrap_or_default(),
            config: config.unwrap_or_default(),
        })
    }
}

fn read_config(item: &Item<'_>, report: &mut Report) -> serde_json::Value {
    let value = item.node.to_json();
    let size = value.to_string().len();
    if size > MOST_CONFIG {
        item.error(report, format!("has {size} bytes as JSON, more than {MOST_CONFIG}"));
    }
    value
}

fn read_hardware(item: &Item<'_>, place: &str, report: &mut Report) -> Vec<Selector> {
    let list = item.list(report);
    if list.len() > MOST_SELECTORS {
        item.error(report, format!("must have at most {MOST_SELECTORS} entries"));
    }
    list.iter()
        .take(MOST_SELECTORS)
        .filter_map(|entry| Selector::read(entry, place, report))
        .collect()
}

fn read_resources(item: &Item<'_>, report: &mut Report) -> Vec<ResourceName> {
    let mut out: Vec<ResourceName> = Vec::new();
    let texts = item.texts(report);
    if texts.len() > MOST_RESOURCES {
        item.error(report, format!("must have at most {MOST_RESOURCES} entries"));
        return out;
    }
    for (item, text) in texts {
        match ResourceName::try_new(text) {
            Ok(name) if out.contains(&name) => item.error(report, format!("has \"{name}\" twice")),
            Ok(name) => out.push(name),
            Err(error) => report.error(item.node.at, error.to_string()),
        }
    }
    out
}
