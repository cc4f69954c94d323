//! One plugin's entry in the policy.

use crate::dra::Dra;
use crate::exec::Exec;
use crate::fields::{Fields, Item};
use crate::{
    ComponentSource, Containers, Control, Danger, Files, Filter, Health, HostNodes, KernelPattern, Labels, Partitions,
    Rename, ResourceGrant, Selector, Use, component, key, limits, resources,
};
use devgate_types::{Limits, PluginName, ResourceName, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// The most selectors of one plugin.
const MAX_SELECTORS: usize = 256;
/// The most bytes of `config` as JSON, so that it costs a call little.
const MAX_CONFIG: usize = 64 * 1024;

/// Where something is written, for messages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The file, as the caller of [`crate::parse`] named it.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
}

impl fmt::Display for Origin {
    /// `policy.yaml:12`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", escape(&self.file, 256), self.line)
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
    /// What it gives to those who ask by the protocol of 2017, if anything.
    pub exec: Option<Exec>,
    /// How a cluster's scheduler picks its units, where it does and the kubelet does not count them.
    pub dra: Option<Dra>,
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

    /// The keys of the entry under which it says something else than another, sorted.
    #[must_use]
    pub fn differing_keys(&self, other: &Self) -> Vec<String> {
        let keys = |plugin: &Self| serde_json::from_str::<BTreeMap<String, serde_json::Value>>(&plugin.written);
        let (mine, others) = (keys(self).unwrap_or_default(), keys(other).unwrap_or_default());
        let all: BTreeSet<_> = mine.keys().chain(others.keys()).collect();
        all.into_iter().filter(|key| mine.get(*key) != others.get(*key)).cloned().collect()
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

    /// Whether who picks its units knows wholes and parts of them apart, so that it is told of both.
    #[must_use]
    pub fn counts_wholes(&self) -> bool {
        let is_alone = self.dra.as_ref().is_some_and(|dra| dra.shares == 1) && self.replicas == 1;
        is_alone && self.partitions.is_some()
    }

    /// Reads an entry; every mistake in it is reported.
    pub(crate) fn read(entry: &Item<'_>) -> Option<Self> {
        let name = PluginName::try_new(entry.key).map_err(|error| entry.error_at_key(error));
        let place = format!("plugin \"{}\"", escape(entry.key, 80));
        let fields = entry.open(&place, &key::PLUGIN)?;
        let component = fields.need("component").and_then(|item| component::read(&item, &place));
        let (component, cosign_keys) = component.unzip();
        let resources = fields.need("resources").map(|item| resources::read(&item));
        let resources = resources.unwrap_or_default();
        let dangerous = fields.words("dangerous");
        let shares_hardware = fields.flag("shares-hardware");
        let mut replicas = 1;
        fields.number("replicas", &mut replicas);
        let placement = match fields.word("placement") {
            Some("spread") => Placement::Spread,
            None if replicas > 1 => Placement::Spread,
            _ => Placement::Packed,
        };
        let prepare = match fields.word("prepare") {
            Some("start") => Prepare::Start,
            _ => Prepare::Allocate,
        };
        let partitions = fields.get("partitions");
        let hardware = fields.read("hardware", |item| read_hardware(item, &place));
        let containers = fields.read("containers", |item| Containers::read(item, &place, &resources, &dangerous));
        let dra = fields.get("dra").and_then(|item| Dra::read(&item, &place, &resources, &containers));
        let shares = dra.as_ref().map_or(1, |dra| dra.shares);
        let offers = hardware.iter().any(|selector| selector.usage == Use::Offer);
        let tells_of_nothing = containers.device_info && !offers;
        refuse_contradictions(&fields, shares_hardware, [replicas, shares], tells_of_nothing, prepare);
        Some(Self {
            origin: entry.report.origin(entry.key_at),
            hardware,
            host_nodes: fields.read("host-nodes", |item| HostNodes::read(item, &place)),
            files: fields.read("files", Files::read),
            kernel_log: fields.read("kernel-log", KernelPattern::read_list),
            control: fields.read("control", |item| Control::read_list(item, &place)),
            state: fields.flag("state"),
            wasi: fields.words("wasi"),
            exec: fields.get("exec").and_then(|item| Exec::read(&item, &place, &resources, &containers)),
            dra,
            containers,
            dangerous,
            shares_hardware,
            partitions: partitions.map(|item| Partitions::read(&item, &place)),
            replicas,
            placement,
            prepare,
            only: fields.read("only", |item| Filter::read_list(item, &place)),
            except: fields.read("except", |item| Filter::read_list(item, &place)),
            rename: fields.read("rename", |item| Rename::read_list(item, &place, &resources)),
            labels: fields.read("labels", |item| Labels::read(item, &place)),
            health: fields.read("health", |item| Health::read(item, &place)),
            limits: fields.read("limits", |item| limits::read(item, &place)),
            config: fields.read("config", read_config),
            resources,
            written: entry.node.to_json().to_string().into(),
            // Only now: what is missing must not hide what else is wrong.
            name: name.ok()?,
            component: component?,
            cosign_keys: cosign_keys.flatten(),
        })
    }
}

/// Reports what each is right by itself and not together.
fn refuse_contradictions(
    fields: &Fields<'_>,
    shares_hardware: bool,
    [replicas, shares]: [u32; 2],
    tells_of_nothing: bool,
    prepare: Prepare,
) {
    let refuse = |key: &str, problem: String| fields.get(key).into_iter().for_each(|item| item.error(&problem));
    if shares_hardware {
        let why = "must not be there with \"shares-hardware: true\", which lets units have everything in common";
        refuse("partitions", why.to_owned());
    }
    // What is written acts on all pods that have the device, and the one that is prepared or released is one of them: the others would find
    // it reset under them.
    let several = [
        (shares_hardware, "\"shares-hardware: true\""),
        (replicas > 1, "several \"replicas\""),
        (shares > 1, "several \"shares\" of dra"),
    ];
    if let Some((_, shared)) = several.iter().find(|(is_so, _)| *is_so) {
        refuse(
            "control",
            format!(
                "must not be there with {shared}: several containers have the same device, and what one of them has written acts on all"
            ),
        );
    }
    if replicas > 1 && shares > 1 {
        let why = "must not be there with several \"replicas\", each of which is a device of its own: say one of both";
        refuse("dra", why.to_owned());
    }
    if prepare == Prepare::Start {
        let why = "must not be there with \"prepare: start\": no caller says when a container starts";
        refuse("exec", why.to_owned());
        refuse("dra", why.to_owned());
    }
    // The files tell of PCI functions, which only `hardware` lets a plugin offer.
    if tells_of_nothing {
        let why = "has \"device-info\", which tells of a PCI function, and no entry of \"hardware\" has \"use: offer\"";
        refuse("containers", why.to_owned());
    }
}

fn read_config(item: &Item<'_>) -> serde_json::Value {
    let value = item.node.to_json();
    let size = value.to_string().len();
    if size > MAX_CONFIG {
        item.error(format!("has {size} bytes as JSON, more than {MAX_CONFIG}"));
    }
    value
}

fn read_hardware(item: &Item<'_>, place: &str) -> Vec<Selector> {
    let list = item.list(MAX_SELECTORS).into_iter();
    list.filter_map(|entry| Selector::read(&entry, place)).collect()
}
