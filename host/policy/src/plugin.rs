//! One plugin's entry in the policy.

use crate::component::Component;
use crate::error::Report;
use crate::fields::{Fields, Item};
use crate::yaml::At;
use crate::{
    ComponentSource, Containers, Control, Danger, Files, Filter, Health, HostNodes, KernelPattern, Labels, Partitions,
    Rename, ResourceGrant, Selector, Use, key, limits, resources,
};
use devgate_types::{Limits, PluginName, ResourceName};
use std::fmt;
use std::sync::Arc;

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
        write!(f, "{}:{}", devgate_types::escape(&self.file, 256), self.line)
    }
}

/// Which units a container gets where it may get several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Near each other, and so that whole groups stay free.
    #[default]
    Packed,
    /// From the emptiest group and the least used hardware.
    Spread,
}

/// When a component makes units ready for a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prepare {
    /// When they are allocated, before the answer.
    #[default]
    Allocate,
    /// Before each start of a container that has them.
    Start,
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
    /// Files with public keys, of which one must have signed the component: beneath the directory of components, or beside the
    /// policy's file. Nothing where no signature is asked for.
    pub cosign_keys: Option<Vec<String>>,
    /// What it may offer: 1 to 16 entries, none of which another plugin's overlaps.
    pub resources: Vec<ResourceGrant>,
    /// The kernel devices that it may see.
    pub hardware: Vec<Selector>,
    /// The nodes without a kernel device that it may hand out.
    pub host_nodes: HostNodes,
    /// The files outside the device tree that it may read.
    pub files: Files,
    /// The lines of the kernel's log that it may have captures from.
    pub kernel_log: Vec<KernelPattern>,
    /// The attributes that it may write.
    pub control: Vec<Control>,
    /// Whether it may keep a blob that survives restarts.
    pub state: bool,
    /// What of WASI it may have besides what has nothing behind it: `clocks`, `random`.
    pub wasi: Vec<&'static str>,
    /// What may be handed out although it reaches beyond one device: [`Danger::key`] of each.
    pub dangerous: Vec<&'static str>,
    /// What else a container may get.
    pub containers: Containers,
    /// Whether several units may have the same backing and nodes.
    pub shares_hardware: bool,
    /// Which units are parts of one device; none where the policy says nothing of it.
    pub partitions: Option<Partitions>,
    /// How many times each unit is offered: 1 to 4,096.
    pub replicas: u32,
    /// Which units a container gets where it may get several.
    pub placement: Placement,
    /// When the component's `prepare` is called. With [`Prepare::Start`] the hardware is looked at then as well, whether there is
    /// such a function or not.
    pub prepare: Prepare,
    /// Units that match one of these are offered, and no others; all where there is none.
    pub only: Vec<Filter>,
    /// Units that match one of these are not offered.
    pub except: Vec<Filter>,
    /// Under which other name units are offered; the first that matches counts.
    pub rename: Vec<Rename>,
    /// Labels of the node.
    pub labels: Labels,
    /// When a device's state counts as changed.
    pub health: Health,
    /// What one call may use up.
    pub limits: Limits,
    /// What the component is told, at most 64 KiB as JSON; `Null` where the policy says nothing.
    pub config: serde_json::Value,
    /// The whole entry as JSON, without the places of its lines.
    pub(crate) written: Arc<str>,
}

impl PluginPolicy {
    /// Whether both mean the same, wherever in a file they are written.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        // A component's file is looked for beside the policy's.
        self.name == other.name && self.written == other.written && self.origin.file == other.origin.file
    }

    /// Whether the plugin may offer a resource under this name.
    #[must_use]
    pub fn grants_resource(&self, name: &ResourceName) -> bool {
        self.resource_rank(name).is_some()
    }

    /// The place of a resource in the policy's order: where two of one plugin want the same node, the earlier one has it.
    #[must_use]
    pub fn resource_rank(&self, name: &ResourceName) -> Option<usize> {
        self.resources.iter().position(|grant| grant.matches(name))
    }

    /// Whether the policy has a danger's key in `dangerous`.
    #[must_use]
    pub fn accepts(&self, danger: &Danger) -> bool {
        self.dangerous.contains(&danger.key)
    }

    /// Reads an entry; every mistake in it is reported.
    pub(crate) fn read(entry: &Item<'_>, report: &mut Report) -> Option<Self> {
        let name = match PluginName::try_new(entry.key) {
            Ok(name) => Some(name),
            Err(error) => {
                report.error(entry.key_at, error.to_string());
                None
            }
        };
        let place = format!("plugin \"{}\"", devgate_types::escape(entry.key, 80));
        let fields = Fields::open(entry.node, &place, &key::PLUGIN, report)?;
        let component = fields.need("component", report);
        let component = component.and_then(|item| Component::read(&item, &place, report));
        let resources = fields.need("resources", report);
        let resources = resources.map(|item| resources::read(&item, report)).unwrap_or_default();
        let hardware = fields.get("hardware").map(|item| read_hardware(&item, &place, report));
        let host_nodes = fields
            .get("host-nodes")
            .map(|item| HostNodes::read(&item, &place, report));
        let files = fields.get("files").map(|item| Files::read(&item, report));
        let kernel_log = fields.get("kernel-log");
        let kernel_log = kernel_log.map(|item| KernelPattern::read_list(&item, report));
        let control = fields.get("control");
        let control = control.map(|item| Control::read_list(&item, &place, report));
        let mut state = false;
        fields.flag("state", &mut state, report);
        let wasi = fields.words("wasi", report);
        let dangerous = fields.words("dangerous", report);
        let accepted = |danger: &Danger| dangerous.contains(&danger.key);
        let containers = fields.get("containers");
        let containers = containers.map(|item| Containers::read(&item, &place, &resources, &accepted, report));
        if let (Some(item), Some(containers)) = (fields.get("containers"), &containers) {
            let offers = hardware.iter().flatten().any(|selector| selector.usage == Use::Offer);
            refuse_empty_device_info(&item, containers, offers, report);
        }
        let mut shares_hardware = false;
        fields.flag("shares-hardware", &mut shares_hardware, report);
        let partitions = fields.get("partitions");
        if let Some(item) = partitions.as_ref().filter(|_| shares_hardware) {
            let problem =
                "must not be there with \"shares-hardware: true\", which lets units have everything in common";
            item.error(report, problem);
        }
        let partitions = partitions.map(|item| Partitions::read(&item, &place, report));
        let mut replicas = 1;
        fields.number("replicas", &mut replicas, report);
        let prepare = match fields.word("prepare", report) {
            Some("start") => Prepare::Start,
            _ => Prepare::Allocate,
        };
        let placement = match fields.word("placement", report) {
            Some("spread") => Placement::Spread,
            Some(_) => Placement::Packed,
            None if replicas > 1 => Placement::Spread,
            None => Placement::Packed,
        };
        if let Some(item) = fields.get("control") {
            refuse_shared_control(&item, shares_hardware, replicas, report);
        }
        let only = fields.get("only").map(|item| Filter::read_list(&item, &place, report));
        let except = fields
            .get("except")
            .map(|item| Filter::read_list(&item, &place, report));
        let rename = fields.get("rename");
        let rename = rename.map(|item| Rename::read_list(&item, &place, &resources, report));
        let labels = fields.get("labels").map(|item| Labels::read(&item, &place, report));
        let health = fields.get("health").map(|item| Health::read(&item, &place, report));
        let limits = fields.get("limits").map(|item| limits::read(&item, &place, report));
        let config = fields.get("config").map(|item| read_config(&item, report));
        // Only now: what is missing must not hide what else is wrong.
        let Component { source, cosign_keys } = component?;
        Some(Self {
            name: name?,
            origin: Origin::new(report, entry.key_at),
            component: source,
            cosign_keys,
            resources,
            hardware: hardware.unwrap_or_default(),
            host_nodes: host_nodes.unwrap_or_default(),
            files: files.unwrap_or_default(),
            kernel_log: kernel_log.unwrap_or_default(),
            control: control.unwrap_or_default(),
            state,
            wasi,
            dangerous,
            containers: containers.unwrap_or_default(),
            shares_hardware,
            partitions,
            replicas,
            placement,
            prepare,
            only: only.unwrap_or_default(),
            except: except.unwrap_or_default(),
            rename: rename.unwrap_or_default(),
            labels: labels.unwrap_or_default(),
            health: health.unwrap_or_default(),
            limits: limits.unwrap_or_default(),
            config: config.unwrap_or_default(),
            written: entry.node.to_json().to_string().into(),
        })
    }
}

/// What is written acts on all who have the device, and whoever is prepared or released is one of them: the others' pods would
/// find it reset under them.
fn refuse_shared_control(control: &Item<'_>, shares_hardware: bool, replicas: u32, report: &mut Report) {
    let shared = match (shares_hardware, replicas) {
        (true, _) => "\"shares-hardware: true\"",
        (false, 2..) => "several \"replicas\"",
        _ => return,
    };
    control.error(
        report,
        format!("must not be there with {shared}: several containers have the same device, and what one of them has written acts on all"),
    );
}

/// The files tell of PCI functions, which only `hardware` lets a plugin offer.
fn refuse_empty_device_info(item: &Item<'_>, containers: &Containers, offers: bool, report: &mut Report) {
    if containers.device_info() && !offers {
        let message =
            "has \"device-info\", which tells of a PCI function, and no entry of \"hardware\" has \"use: offer\"";
        item.error(report, message.to_owned());
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
