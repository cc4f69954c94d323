//! What RDMA devices there are, and which nodes are theirs.

use crate::config::{Config, Ids};
use crate::ports::{self, Port};
use devgate_sdk::{Device, Error, ErrorKind, Node, Presence, Unit, hardware, host_paths};

/// What every program that connects through addresses needs, whichever device it uses.
const RDMA_CM: &str = "/dev/infiniband/rdma_cm";

/// Interfaces of one function that are shown.
const SHOWN: usize = 8;

/// All that was found.
#[derive(Default)]
pub(crate) struct Survey {
    pub(crate) units: Vec<Unit>,
    pub(crate) shared: Vec<Node>,
    /// Functions whose RDMA device is not seen now.
    pub(crate) unread: Vec<String>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
}

impl Survey {
    /// Looks for all devices.
    ///
    /// # Errors
    /// When they cannot be listed at all.
    pub(crate) fn of(config: &Config) -> Result<Self, Error> {
        let mut survey = Self::default();
        let nodes = Nodes::all()?;
        for device in hardware::devices("infiniband")? {
            let name = device.name();
            let made_of = function_of(&device).map_or_else(|| name.clone(), |function| function.name());
            match survey.unit(config, device, &nodes) {
                Ok(Some(unit)) => survey.units.push(unit),
                Ok(None) => {}
                Err(error) => {
                    survey.notes.push(format!("{name} cannot be described now: {}", error.message));
                    survey.unread.push(made_of);
                }
            }
        }
        for function in hardware::devices("pci")? {
            let devices = function.entries("infiniband");
            let is_seen = devices.is_ok_and(|names| !names.is_empty());
            if !is_seen && function.driver().is_some() {
                survey.unread.push(function.name());
            }
        }
        if config.together {
            survey.units = together(survey.units);
        }
        match host_paths::node_at(RDMA_CM) {
            Ok(node) => survey.shared.push(node),
            Err(error) if error.is_absence() => {
                let hint = "without it programs cannot connect by address; is rdma_ucm loaded?";
                survey.notes.push(format!("node {RDMA_CM} is not there: {hint}"));
            }
            Err(error) if error.kind == ErrorKind::Denied => {}
            Err(error) => survey.notes.push(error.message),
        }
        Ok(survey)
    }

    /// The unit that a device is; nothing where it is not meant.
    fn unit(&self, config: &Config, device: Device, nodes: &Nodes) -> Result<Option<Unit>, Error> {
        let name = device.name();
        if !config.devices.is_empty() && !config.devices.contains(&name) {
            return Ok(None);
        }
        let ports = ports::of(&device)?;
        let layer = ports.iter().find_map(|port| port.link_layer.clone());
        let is_meant = |layer: &String| config.link_layers.contains(layer);
        if !config.link_layers.is_empty() && !layer.as_ref().is_some_and(is_meant) {
            return Ok(None);
        }
        // The function that it is a part of, so that nobody else gets a part of it. One that is made of software has none.
        let function = function_of(&device);
        let pci = function.as_ref().map(Device::name);
        let id = match (config.ids, &pci) {
            (Ids::Pci, Some(pci)) => pci.clone(),
            _ => name.clone(),
        };
        let netdevs = function.as_ref().map(|function| function.entries("net").unwrap_or_default());
        let mut properties = vec![("rdma", Some(name.clone())), ("pci", pci)];
        properties.extend([
            ("link-layer", layer),
            ("rate", ports.iter().find_map(|port: &Port| port.rate.clone())),
            ("node-guid", device.attribute("node_guid").ok()),
            ("firmware", device.attribute("fw_ver").ok()),
            ("board", device.attribute("board_id").ok()),
            ("model", device.attribute("hca_type").ok()),
            // A comma would make a list of it in a rule.
            (
                "netdevs",
                netdevs
                    .filter(|names| !names.is_empty())
                    .map(|names| names.into_iter().take(SHOWN).collect::<Vec<_>>().join(" ")),
            ),
            ("numa", device.numa_node().map(|node| node.to_string())),
        ]);
        let unit = Unit::of(id, function.unwrap_or(device), nodes.of(&name)?);
        let add = |unit: Unit, (name, value): (&'static str, Option<String>)| match value {
            Some(value) => unit.with(name, value),
            None => unit,
        };
        Ok(Some(properties.into_iter().fold(unit, add)))
    }
}

/// The PCI function that a device is a part of; one that is made of software is part of none.
fn function_of(device: &Device) -> Option<Device> {
    device.parent().filter(|parent| parent.subsystem() == "pci")
}

/// All devices as one unit, whose allocation hands out all of them.
fn together(units: Vec<Unit>) -> Vec<Unit> {
    let mut names: Vec<String> = Vec::new();
    let (mut backing, mut nodes) = (Vec::new(), Vec::new());
    for unit in units {
        names.extend(unit.property("rdma").map(str::to_owned));
        backing.extend(unit.backing);
        nodes.extend(unit.nodes);
    }
    if backing.is_empty() {
        return Vec::new();
    }
    let unit = Unit { id: "all".to_owned(), backing, nodes, properties: Vec::new() };
    vec![unit.with("rdma", names.join(" "))]
}

/// The devices that have a node, with the RDMA device that each says it belongs to.
struct Nodes(Vec<(String, Device)>);

impl Nodes {
    /// `uverbs0`, `umad0` and `issm0` all have an attribute `ibdev`.
    fn all() -> Result<Self, Error> {
        let mut found = Vec::new();
        for subsystem in ["infiniband_verbs", "infiniband_mad"] {
            for device in hardware::devices(subsystem)? {
                if let Ok(of) = device.attribute("ibdev") {
                    found.push((of, device));
                }
            }
        }
        Ok(Self(found))
    }

    /// Those of exactly this device: `mlx5_1` is not `mlx5_10`.
    fn of(&self, name: &str) -> Result<Vec<Node>, Error> {
        let mut nodes = Vec::new();
        for (_, device) in self.0.iter().filter(|(of, _)| of == name) {
            nodes.extend(device.nodes().if_present()?.unwrap_or_default());
        }
        Ok(nodes)
    }
}
