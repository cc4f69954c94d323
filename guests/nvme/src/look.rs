//! What there is: controllers, disks and the ways between them, as the kernel shows them.

use crate::config::Config;
use crate::judge::{Disk, Path};
use crate::{name, size};
use devgate_sdk::{Device, Error, Node, Presence, hardware};
use std::collections::{BTreeMap, BTreeSet};

/// The most characters of an attribute that are taken. The longest one, a fabric's address, has less; garbage may have more.
const MAX_TEXT: usize = 256;

/// A controller and what the kernel says of it.
pub(crate) struct Controller {
    pub(crate) device: Device,
    pub(crate) name: String,
    pub(crate) transport: String,
    pub(crate) state: String,
    pub(crate) model: String,
    pub(crate) firmware: String,
    pub(crate) serial: String,
    /// The PCI address, or what a fabric's target is reached by.
    pub(crate) address: String,
    pub(crate) numa: Option<u32>,
}

/// A disk, and what it is made of.
pub(crate) struct Found {
    pub(crate) device: Device,
    pub(crate) name: String,
    /// Names of the controllers that lead to it.
    pub(crate) controllers: Vec<String>,
    /// Whether it lies beneath its controller, so that no other one can ever lead to it.
    pub(crate) is_of_one: bool,
    /// The hidden devices that are its paths, where it has more layers than one.
    pub(crate) paths: Vec<Device>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) wwid: String,
    pub(crate) nsid: String,
    pub(crate) rotational: String,
    pub(crate) block_size: String,
    /// What decides about it, or why that could not be read.
    pub(crate) facts: Result<Disk, String>,
}

/// All that is granted.
pub(crate) struct Look {
    /// By name.
    pub(crate) controllers: BTreeMap<String, Controller>,
    pub(crate) disks: Vec<Found>,
    /// Why disks cannot be listed at all now, and the names that controllers and subsystems have for theirs.
    pub(crate) blind: Option<(String, BTreeSet<String>)>,
    /// The controllers of each subsystem, by its name.
    subsystems: BTreeMap<String, Vec<String>>,
    /// Why something that decides about every disk cannot be listed now.
    trouble: Option<String>,
}

/// What is looked up for each disk.
struct Around {
    /// Places of all block devices, sorted.
    places: BTreeSet<String>,
    /// The paths to each disk.
    paths: BTreeMap<String, Vec<Device>>,
    /// The namespaces' character devices, by name.
    generics: BTreeMap<String, Device>,
}

impl Look {
    /// Looks at everything that the policy grants.
    pub(crate) fn now(config: &Config) -> Self {
        let mut look = Self {
            controllers: BTreeMap::new(),
            disks: Vec::new(),
            blind: None,
            subsystems: BTreeMap::new(),
            trouble: None,
        };
        for device in look.devices("nvme") {
            if let Some(controller) = controller(device) {
                look.controllers.insert(controller.name.clone(), controller);
            }
        }
        let mut named = BTreeSet::new();
        for subsystem in look.devices("nvme-subsystem") {
            let names = subsystem.entries("").unwrap_or_default();
            let (members, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name::is_controller(name));
            look.subsystems.insert(subsystem.name(), members);
            named.extend(others);
        }
        let generics = look.devices("nvme-generic").into_iter();
        let generics = generics.map(|device| (device.name(), device)).collect();
        let blocks = match hardware::devices("block") {
            Ok(blocks) => blocks,
            Err(error) => {
                let controllers = look.controllers.values();
                named.extend(controllers.flat_map(|controller| controller.device.entries("").unwrap_or_default()));
                named.retain(|name| name::is_disk(name));
                look.blind = Some((error.message, named));
                return look;
            }
        };
        let mut around =
            Around { places: blocks.iter().map(Device::location).collect(), paths: BTreeMap::new(), generics };
        for device in &blocks {
            if let Some(disk) = name::disk_of_path(&device.name()) {
                around.paths.entry(disk).or_default().push(device.duplicate());
            }
        }
        for device in blocks.into_iter().filter(|device| name::is_disk(&device.name())) {
            look.disk(config, device, &mut around);
        }
        look.find_twins();
        look
    }

    /// The devices of a subsystem. Where they cannot be listed, no disk can be judged.
    fn devices(&mut self, subsystem: &str) -> Vec<Device> {
        hardware::devices(subsystem).unwrap_or_else(|error| {
            self.trouble.get_or_insert(error.message);
            Vec::new()
        })
    }

    /// The other controllers of the subsystem that a controller belongs to.
    pub(crate) fn siblings(&self, controller: &str) -> Vec<String> {
        let mut shared = self.subsystems.values();
        let shared = shared.find(|members| members.iter().any(|name| name == controller));
        let others = shared.into_iter().flatten().filter(|name| *name != controller);
        others.cloned().collect()
    }

    fn disk(&mut self, config: &Config, device: Device, around: &mut Around) {
        let (name, place) = (device.name(), device.location());
        let paths = around.paths.remove(&name).unwrap_or_default();
        let parent = parent_of(&place).to_owned();
        let is_of_one = name::is_controller(&parent);
        let controllers = if is_of_one {
            vec![parent]
        } else if paths.is_empty() {
            self.subsystems.get(&parent).cloned().unwrap_or_default()
        } else {
            let places = paths.iter().map(Device::location);
            places.map(|place| parent_of(&place).to_owned()).collect()
        };
        let beneath = format!("{place}/");
        let partitions = around.places.range(beneath.clone()..);
        let partitions = partitions.take_while(|other| other.starts_with(&beneath)).count();
        let keys = ["wwid", "nsid", "queue/rotational", "queue/logical_block_size", "size"];
        let [wwid, nsid, rotational, block_size, sectors] = texts(&device, keys);
        let generic = name::generic(&name).and_then(|name| around.generics.get(&name));
        let (wwid, unnamed) = match wwid.if_present() {
            Ok(wwid) => (wwid.unwrap_or_default(), None),
            Err(error) => (String::new(), Some(error.message)),
        };
        let mut found = Found {
            wwid,
            nsid: nsid.unwrap_or_default(),
            rotational: rotational.unwrap_or_default(),
            block_size: block_size.unwrap_or_default(),
            nodes: Vec::new(),
            facts: Err(String::new()),
            device,
            name,
            controllers,
            is_of_one,
            paths,
        };
        // The id may be made of the worldwide name, and another id would be another disk.
        found.facts = match self.trouble.as_ref().or(unnamed.as_ref()) {
            Some(trouble) => Err(trouble.clone()),
            None => found.read(config, sectors, partitions, generic, &self.controllers).map_err(|error| error.message),
        };
        self.disks.push(found);
    }

    /// Disks with the same worldwide name, which is one namespace that the kernel shows twice where it is not allowed to see
    /// the ways to it as one disk (`nvme_core.multipath=N`).
    fn find_twins(&mut self) {
        let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for disk in self.disks.iter().filter(|disk| !disk.wwid.is_empty()) {
            named.entry(disk.wwid.clone()).or_default().push(disk.name.clone());
        }
        for disk in &mut self.disks {
            let same = named.get(&disk.wwid).into_iter().flatten();
            if let (Some(twin), Ok(facts)) = (same.into_iter().find(|name| **name != disk.name), &mut disk.facts) {
                facts.twin = Some(twin.clone());
            }
        }
    }
}

impl Found {
    /// What decides about it. Its nodes are found on the way.
    fn read(
        &mut self,
        config: &Config,
        sectors: Result<String, Error>,
        partitions: usize,
        generic: Option<&Device>,
        controllers: &BTreeMap<String, Controller>,
    ) -> Result<Disk, Error> {
        // The id is made of it.
        if self.nsid.parse::<u32>().is_err() {
            return Err(Error::invalid(format!("nsid reads {:.20}", self.nsid)));
        }
        let own = |owner: &str| owner == self.name || (config.partitioned && owner.starts_with(&self.name));
        let nodes = self.device.nodes()?.into_iter();
        let mut nodes: Vec<Node> = nodes.filter(|node| owner_of(node).is_some_and(|o| own(&o))).collect();
        // The host keeps the disk back when the node uses any part of it: its idle partitions are not given either.
        if !nodes.iter().any(|node| owner_of(node).as_ref() == Some(&self.name)) {
            nodes.clear();
        }
        // The namespace's character device takes commands to the same disk: not without the disk.
        if let (Some(generic), false) = (generic, nodes.is_empty()) {
            nodes.extend(generic.nodes()?);
        }
        let path = |name: &String| {
            let controller = controllers.get(name)?;
            let place = self.paths.iter().find(|path| parent_of(&path.location()) == name.as_str());
            Some(Path { access: place.and_then(|path| path.attribute("ana_state").ok()), ..controller.path() })
        };
        let facts = Disk {
            size: size::of_sectors(&sectors?),
            partitions,
            // A kernel without the directory has nothing stacked on it.
            holders: self.device.entries("holders").unwrap_or_default(),
            nodes: nodes.len(),
            twin: None,
            paths: self.controllers.iter().filter_map(path).collect(),
        };
        self.nodes = nodes;
        Ok(facts)
    }
}

impl Controller {
    /// The way through it.
    pub(crate) fn path(&self) -> Path {
        Path {
            controller: self.name.clone(),
            transport: self.transport.clone(),
            state: self.state.clone(),
            access: None,
        }
    }

    /// Whether the drive says that its temperature is out of its limits: bit 1 of the critical warnings in its SMART log, which
    /// `nvme_hwmon_read` in `drivers/nvme/host/hwmon.c` shows as the alarm of the first sensor. Reading it asks the drive.
    pub(crate) fn is_too_hot(&self) -> bool {
        let sensors = self.device.children("hwmon").unwrap_or_default();
        let alarm = |sensor: &Device| sensor.attribute("temp1_alarm").is_ok_and(|alarm| alarm == "1");
        sensors.iter().any(alarm)
    }
}

/// What the kernel says of a controller; nothing of one that goes at this moment.
fn controller(device: Device) -> Option<Controller> {
    let name = device.name();
    if !name::is_controller(&name) {
        return None;
    }
    let keys = ["transport", "state", "model", "firmware_rev", "serial", "address"];
    let [transport, state, model, firmware, serial, address] = texts(&device, keys);
    let state = match state {
        Ok(state) => state,
        Err(error) if error.is_absence() => return None,
        Err(error) => format!("unreadable ({})", error.message),
    };
    Some(Controller {
        numa: device.numa_node(),
        // Kernels before 4.8 have none, and PCIe alone.
        transport: transport.unwrap_or_else(|_| "pcie".to_owned()),
        state,
        model: model.unwrap_or_default(),
        firmware: firmware.unwrap_or_default(),
        serial: serial.unwrap_or_default(),
        address: address.unwrap_or_else(|_| pci_address(&device.location())),
        name,
        device,
    })
}

/// Attributes, in one call of the host; strings that the drive fills with spaces come without them.
fn texts<const N: usize>(device: &Device, keys: [&str; N]) -> [Result<String, Error>; N] {
    let mut values = device.attributes(&keys.map(str::to_owned)).into_iter();
    let missing = || Err(Error::not_found("the host answered with fewer attributes"));
    let short = |text: String| text.trim().chars().take(MAX_TEXT).collect();
    keys.map(|_| values.next().unwrap_or_else(missing).map(short))
}

/// The name of the device above, or of the directory that a class has for itself.
fn parent_of(place: &str) -> &str {
    place.rsplit('/').nth(1).unwrap_or_default()
}

/// The PCI function that a controller lies beneath: `…/0000:01:00.0/nvme/nvme0`.
fn pci_address(place: &str) -> String {
    place.rsplit('/').nth(2).unwrap_or_default().to_owned()
}

/// The kernel name of the device that a node belongs to.
fn owner_of(node: &Node) -> Option<String> {
    node.owner().map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_name_what_is_above() {
        let place = "pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme0/nvme0n1";
        assert_eq!(parent_of(place), "nvme0");
        assert_eq!(parent_of("virtual/nvme-subsystem/nvme-subsys0/nvme0n1"), "nvme-subsys0");
        assert_eq!(parent_of("x"), "");
        assert_eq!(pci_address("pci0000:00/0000:01:00.0/nvme/nvme0"), "0000:01:00.0");
    }
}
