//! Which GPUs there are: the granted PCI functions, and what the driver says of each.

use crate::config::{Config, Ids};
use crate::information::{Information, driver_version};
use crate::line::Slot;
use crate::machine::{Function, Machine};
use crate::models;
use crate::power::Power;
use devgate_sdk::{Error, ErrorKind, Presence, Property};
use devgate_vfio::is_vfio;

/// NVIDIA's PCI vendor id.
pub(crate) const VENDOR: &str = "0x10de";
/// Where the driver says something of each GPU.
const GPUS: &str = "/proc/driver/nvidia/gpus";
/// PCI classes of GPUs: with and without a display. An NVSwitch has 0x0680, the audio function of a card 0x0403.
const CLASSES: [&str; 2] = ["0x0300", "0x0302"];
/// The nodes that whatever uses a GPU needs besides the GPU's own, and whether nothing works without.
const SHARED: [(&str, bool); 3] =
    [("/dev/nvidiactl", true), ("/dev/nvidia-uvm", true), ("/dev/nvidia-uvm-tools", false)];
/// Another one, for graphics. Only where it is asked for: the host tells the admin who asks for what is not granted.
const MODESET: (&str, bool) = ("/dev/nvidia-modeset", false);

/// The most bytes of a property's value.
const MAX_UNREAD: usize = 4_096;

/// What there is now.
pub(crate) struct Survey<M: Machine> {
    pub(crate) gpus: Vec<Gpu<M>>,
    /// The addresses of GPUs of which nothing certain can be said now: what was known of them stands.
    pub(crate) unread: Vec<String>,
    pub(crate) shared: Vec<M::Node>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
}

/// One GPU that can be offered.
pub(crate) struct Gpu<M: Machine> {
    pub(crate) id: String,
    pub(crate) function: M::Function,
    pub(crate) node: M::Node,
    pub(crate) properties: Vec<(&'static str, String)>,
}

/// Why a function is not in the list.
enum Left {
    /// It is not this component's.
    Out(String),
    /// Another part of this component has it.
    Elsewhere,
    /// It is, and cannot be described now.
    Unread(String),
}

/// The text that the driver has about the GPU at an address.
pub(crate) fn information(machine: &impl Machine, address: &str) -> Result<String, Error> {
    machine.text(&format!("{GPUS}/{address}/information"))
}

impl<M: Machine> Survey<M> {
    /// Looks for all GPUs.
    ///
    /// # Errors
    /// When the PCI functions cannot be listed at all, and when the policy does not grant what GPUs are known by.
    pub(crate) fn of(machine: &M, config: &Config) -> Result<Self, Error> {
        let mut survey = Self { gpus: Vec::new(), unread: Vec::new(), shared: Vec::new(), notes: Vec::new() };
        let version = match machine.text("/proc/driver/nvidia/version") {
            Err(error) if error.is_not_granted() => return Err(lacks(&error, "files")),
            version => version.unwrap_or_default(),
        };
        let version = driver_version(&version);
        let mut seen = Vec::new();
        for function in machine.functions()? {
            let address = function.name();
            if is_gpu(&function) {
                match look(machine, config, version, function) {
                    Ok(gpu) => survey.add(gpu),
                    Err(Left::Elsewhere) => {}
                    Err(Left::Out(why)) => survey.notes.push(format!("GPU {address} is left out: {why}")),
                    Err(Left::Unread(why)) => {
                        survey.notes.push(format!("GPU {address} cannot be described now: {why}"));
                        survey.unread.push(address.clone());
                    }
                }
                seen.push(address);
            }
        }
        // A function that answers no more is no GPU by what it says, nor by the policy's selectors. The driver still knows it.
        let known = machine.entries(GPUS).unwrap_or_default();
        survey.unread.extend(known.into_iter().filter(|name| !seen.contains(name) && Slot::parse(name).is_some()));
        let (shared, notes) = shared(machine, config, !survey.gpus.is_empty())?;
        survey.shared = shared;
        survey.notes.extend(notes);
        Ok(survey)
    }

    /// Adds a GPU unless another one has its id.
    fn add(&mut self, gpu: Gpu<M>) {
        if self.gpus.iter().any(|other| other.id == gpu.id) {
            let address = gpu.function.name();
            self.notes.push(format!("GPU {address} is left out: another one is {} as well", gpu.id));
        } else {
            self.gpus.push(gpu);
        }
    }
}

/// What is told where GPUs of NVIDIA's driver are to be offered, and the policy does not grant what that takes.
fn lacks(error: &Error, key: &str) -> Error {
    let hint = "GPUs of NVIDIA's driver are not known without; list it under";
    Error::invalid(format!("{}: {hint} `{key}:`, or set `gpus: false` in config", error.message))
}

/// The shared nodes, and what is to be said of them. One that is not there, or that the policy does not list, is left out.
///
/// # Errors
/// When the policy grants no nodes at all.
pub(crate) fn shared<M: Machine>(
    machine: &M,
    config: &Config,
    has_gpus: bool,
) -> Result<(Vec<M::Node>, Vec<String>), Error> {
    let (mut nodes, mut notes) = (Vec::new(), Vec::new());
    for (path, needed) in SHARED.into_iter().chain(config.modeset.then_some(MODESET)) {
        match machine.node_at(path) {
            Ok(node) => nodes.push(node),
            Err(error) if error.is_absence() && needed && has_gpus => {
                let hint = "without it no GPU can be used; `nvidia-modprobe -c 0 -u` makes it";
                notes.push(format!("node {path} is not there: {hint}"));
            }
            Err(error) if error.is_not_granted() => return Err(lacks(&error, "host-nodes")),
            Err(error) if error.is_absence() || error.kind == ErrorKind::Denied => {}
            Err(error) => notes.push(error.message),
        }
    }
    Ok((nodes, notes))
}

/// Tells the host which devices cannot be described now; nothing where there are none. As many as a property has room for.
pub(crate) fn unread(names: &[String]) -> Option<Property> {
    let mut text = String::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        if text.len() + name.len() < MAX_UNREAD {
            text.push_str(name);
            text.push(' ');
        }
    }
    let text = text.trim_end();
    (!text.is_empty()).then(|| Property::new("devgate.unread", text))
}

/// Whether a function is a GPU of NVIDIA's, as far as it answers.
pub(crate) fn is_gpu(function: &impl Function) -> bool {
    let class = function.attribute("class").unwrap_or_default();
    function.attribute("vendor").is_ok_and(|vendor| vendor == VENDOR) && CLASSES.iter().any(|c| class.starts_with(c))
}

fn look<M: Machine>(
    machine: &M,
    config: &Config,
    version: Option<&str>,
    function: M::Function,
) -> Result<Gpu<M>, Left> {
    let unread = |why: &str| Left::Unread(why.to_owned());
    let address = function.name();
    match function.driver().as_deref() {
        Some("nvidia") => {}
        Some(other) if config.vfio.is_some() && is_vfio(other) => return Err(Left::Elsewhere),
        Some(other) => return Err(Left::Out(format!("its driver is {other}"))),
        None => return Err(unread("it has no driver")),
    }
    if Power::of(&function) == Power::Asleep {
        return Err(unread("it sleeps and is not woken to be asked"));
    }
    let text = information(machine, &address).if_present();
    let text = text.map_err(|error| Left::Unread(error.message))?;
    let text = text.ok_or_else(|| unread("the driver does not list it"))?;
    let told = Information::parse(&text).ok_or_else(|| unread("the driver says nothing of it"))?;
    if told.is_excluded {
        return Err(Left::Out("the driver excludes it (NVreg_ExcludedGpus)".to_owned()));
    }
    let Some(uuid) = told.uuid.filter(|_| told.is_running) else {
        return Err(unread("it is not initialized (nvidia-persistenced does that), or it failed"));
    };
    let minor = told.minor.ok_or_else(|| unread("the driver tells no minor number"))?;
    let node = machine.node_at(&format!("/dev/nvidia{minor}"));
    let node = node.map_err(|error| Left::Unread(error.message))?;

    let mut properties = vec![("uuid", uuid.clone()), ("pci", address.clone()), ("minor", minor.to_string())];
    properties.extend(told.model.map(|model| ("model", model)));
    properties.extend(version.map(|version| ("driver", version.to_owned())));
    properties.extend(function.numa_node().map(|numa| ("numa", numa.to_string())));
    if let Some(model) = function.attribute("device").ok().as_deref().and_then(models::of) {
        properties.push(("architecture", model.architecture.to_owned()));
        properties.push(("compute", model.compute.to_owned()));
        properties.extend(model.memory.map(|memory| ("memory", memory.to_owned())));
    }
    Ok(Gpu {
        id: match config.ids {
            Ids::Uuid => uuid,
            Ids::Pci => address,
        },
        function,
        node,
        properties,
    })
}

#[cfg(test)]
mod tests;
