//! Which GPUs and partitions there are.
//!
//! A GPU is a PCI function with the driver `amdgpu`. Divided, its first partition keeps the function's DRM devices; each of the others is
//! a platform device `amdgpu_xcp_<n>` with DRM devices of its own (`amdgpu_xcp_drv.c`; `amdgpu_xcp.<n>` before Linux 6.11). The driver makes
//! as many of those as any mode needs; the ones in use are those whose render node KFD lists, and KFD says which GPU each is of.

use crate::config::{Config, Naming};
use crate::kfd::{self, Gpu, Topology};
use crate::mode::Mode;
use crate::{DRIVER, PCI, PLATFORM, gfx};
use devgate_sdk::{Context, Device, Error, Pool, Presence, Unit, files, hardware};
use std::collections::{BTreeMap, BTreeSet};

/// AMD's own name of the resource where naming does not go by mode, and its domain.
const GPU: &str = "amd.com/gpu";
const DOMAIN: &str = "amd.com";
/// Where a driver that was not built with the kernel tells its version.
const VERSION: &str = "/sys/module/amdgpu/version";

/// A GPU, or one of its partitions.
pub(crate) struct Part {
    unit: Unit,
    mode: Option<Mode>,
}

/// What a look found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) parts: Vec<Part>,
    /// The names of devices that are there and cannot be described now.
    pub(crate) unread: Vec<String>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
}

/// What all parts of one GPU have in common.
struct Card {
    function: Device,
    mode: Option<Mode>,
    properties: Vec<(&'static str, String)>,
}

/// Looks for all parts.
///
/// # Errors
/// When the GPUs cannot be listed at all, or KFD's topology cannot be read.
pub(crate) fn look() -> Result<Found, Error> {
    let mut found = Found::default();
    let mut topology = kfd::topology().context(|| "KFD's topology".to_owned())?;
    kfd::measure(&mut topology)?;
    let version = files::text(VERSION).ok();
    let mut cards = BTreeMap::new();
    for function in hardware::devices(PCI)? {
        let address = function.name();
        match card(function, version.as_deref()) {
            Ok(Some(card)) => {
                cards.insert(address, card);
            }
            Ok(None) => {}
            Err(error) => found.cannot(&address, &error),
        }
    }
    for (address, card) in &cards {
        let said = render(&card.function).map(|minor| minor.and_then(|minor| topology.with_render(minor)));
        match said.and_then(|said| part(&card.function, card, said)) {
            Ok(part) => found.parts.push(part),
            Err(error) => found.cannot(address, &error),
        }
    }
    for device in hardware::devices(PLATFORM)? {
        let name = device.name();
        match partition(device, &cards, &topology) {
            Ok(part) => found.parts.extend(part),
            Err(error) => found.cannot(&name, &error),
        }
    }
    let is_divided = |card: &Card| card.mode.as_ref().is_some_and(|mode| mode.compute != "SPX");
    if topology.is_partial && cards.values().any(is_divided) {
        let hint = "it has to run where the device cgroup lets it have /dev/dri";
        found
            .notes
            .push(format!("KFD tells this process nothing of some GPUs, so that partitions are missing: {hint}"));
    }
    Ok(found)
}

impl Found {
    fn cannot(&mut self, name: &str, error: &Error) {
        self.notes.push(format!("{name} cannot be described now: {}", error.message));
        self.unread.push(name.to_owned());
    }
}

/// What a function says of its GPU; nothing where it is none of the driver's.
fn card(function: Device, version: Option<&str>) -> Result<Option<Card>, Error> {
    match function.driver().as_deref() {
        Some(DRIVER) => {}
        Some(_) => return Ok(None),
        None => return Err(Error::not_found("it has no driver")),
    }
    if !devgate_drm::is_made(&function)? {
        return Err(Error::not_found("its driver has made no DRM device for it"));
    }
    let mode = mode(&function)?;
    let mut properties = vec![("pci", function.name())];
    if let Some(mode) = &mode {
        properties.push(("compute-partition", mode.compute.clone()));
        properties.push(("memory-partition", mode.memory.clone()));
    }
    let device = function.attribute("device").unwrap_or_default();
    let name = function.attribute("product_name").ok().filter(|name| !name.is_empty());
    properties.extend(name.or_else(|| gfx::product(&device).map(str::to_owned)).map(|name| ("product", name)));
    properties.push(("device", device));
    properties.extend(version.map(|version| ("driver", version.to_owned())));
    properties.extend(function.numa_node().map(|numa| ("numa", numa.to_string())));
    Ok(Some(Card { function, mode, properties }))
}

/// How a GPU is divided now.
pub(crate) fn mode(function: &Device) -> Result<Option<Mode>, Error> {
    let read = |name: &str| function.attribute(name).if_present();
    Mode::of(read("current_compute_partition")?, read("current_memory_partition")?)
}

/// The minor number of the render node beneath a device, if it has one: the kernel puts its DRM devices in one directory.
fn render(device: &Device) -> Result<Option<u64>, Error> {
    let names = device.entries("drm").if_present()?.unwrap_or_default();
    Ok(names.iter().find_map(|name| name.strip_prefix("renderD")?.parse().ok()))
}

/// One of the partitions that are platform devices; nothing for a device that is none or is not in use.
fn partition(device: Device, cards: &BTreeMap<String, Card>, topology: &Topology) -> Result<Option<Part>, Error> {
    if !device.name().starts_with("amdgpu_xcp") {
        return Ok(None);
    }
    let Some(said) = render(&device)?.and_then(|minor| topology.with_render(minor)) else {
        return Ok(None);
    };
    match cards.get(&said.address) {
        Some(card) => part(&device, card, Some(said)).map(Some),
        // It may be in reset. Where the policy does not grant it, its partitions were never listed.
        None => Err(Error::busy(format!("its GPU {} cannot be described now", said.address))),
    }
}

/// One part: `device` is the function, or a partition's own device.
fn part(device: &Device, card: &Card, said: Option<&Gpu>) -> Result<Part, Error> {
    let mut unit = Unit::of(device.name(), device.duplicate(), device.nodes()?);
    if device.location() != card.function.location() {
        // Where the kernel says its NUMA node, and what takes it away with it.
        unit.backing.push(card.function.duplicate());
    }
    let mut add = |name: &str, value: String| unit.properties.push(devgate_sdk::Property::new(name, value));
    for (name, value) in &card.properties {
        add(name, value.clone());
    }
    if let Some(said) = said {
        if card.mode.is_some() {
            add("partition", said.partition.to_string());
        }
        add("render", said.render.to_string());
        if let Some(name) = gfx::name(said.gfx) {
            add("gfx", name);
        }
        if let Some(family) = gfx::family(said.gfx) {
            add("family", family.to_owned());
        }
        if said.compute_units > 0 {
            add("compute-units", said.compute_units.to_string());
        }
        if said.unique > 0 {
            add("unique-id", format!("{:016x}", said.unique));
        }
        if said.hive > 0 {
            add("hive", format!("{:016x}", said.hive));
        }
    }
    // Of a whole GPU the function tells it too, whatever KFD lets this process see.
    let memory = said.map(|said| said.memory).filter(|bytes| *bytes > 0);
    let total = || card.function.attribute("mem_info_vram_total").ok().filter(|_| card.mode.is_none());
    if let Some(memory) = memory.map(|bytes| bytes.to_string()).or_else(total) {
        add("memory", memory);
    }
    Ok(Part { unit, mode: card.mode.clone() })
}

/// The parts by resource.
///
/// # Errors
/// Where all would be one resource and are not alike: a pod that asks for one would get a whole GPU or an eighth, as it happens.
pub(crate) fn pools(parts: Vec<Part>, config: &Config) -> Result<Vec<Pool>, Error> {
    let modes: BTreeSet<&Mode> = parts.iter().filter_map(|part| part.mode.as_ref()).collect();
    if config.naming == Naming::Single && modes.len() > 1 {
        let words: Vec<String> = modes.iter().map(|mode| mode.words()).collect();
        return Err(Error::other(
            "amd.heterogeneous",
            format!(
                "GPUs are divided differently ({}), so that {GPU} would be now this, now that: divide all alike, or offer each by its \
                 own name (config: naming: mixed)",
                words.join(", ")
            ),
        ));
    }
    let mut pools: BTreeMap<String, Vec<Unit>> = BTreeMap::new();
    for part in parts {
        let resource = match (config.naming, &part.mode) {
            (Naming::Mixed, Some(mode)) => format!("{DOMAIN}/{}", mode.resource()),
            _ => GPU.to_owned(),
        };
        pools.entry(resource).or_default().push(part.unit);
    }
    if pools.is_empty() {
        pools.insert(GPU.to_owned(), Vec::new());
    }
    Ok(pools.into_iter().map(|(resource, units)| Pool::new(resource, units)).collect())
}
