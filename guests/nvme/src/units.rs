//! Units made of what there is.

use crate::config::{Config, Ids, Kind, Ports};
use crate::judge::{self, Standing};
use crate::look::{Controller, Found, Look};
use crate::name;
use devgate_sdk::{Node, Pool, Property, Unit};

/// A unit, or what would be one.
pub(crate) struct Candidate {
    pub(crate) unit: Unit,
    /// The kernel's name of the disk or the controller that it is.
    pub(crate) name: String,
    pub(crate) standing: Standing,
    /// Names of the controllers that lead to it.
    pub(crate) controllers: Vec<String>,
}

/// Everything that the configuration is about, offered or not.
pub(crate) fn candidates(config: &Config, look: &mut Look) -> Vec<Candidate> {
    match config.unit {
        Kind::Namespace => {
            let disks = std::mem::take(&mut look.disks);
            disks.into_iter().map(|disk| namespace(config, look, disk)).collect()
        }
        Kind::Controller => {
            let controllers: Vec<String> = look.controllers.keys().cloned().collect();
            controllers.iter().filter_map(|name| drive(config, look, name)).collect()
        }
    }
}

/// The pool of those that are offered; what else there is, is told to the host and to people.
pub(crate) fn pool(config: &Config, look: &Look, candidates: Vec<Candidate>, note: impl Fn(&str)) -> Pool {
    let mut pool = Pool::new(config.resource.clone(), Vec::new());
    let mut unread = Vec::new();
    for candidate in candidates {
        let Candidate { name, unit, .. } = candidate;
        match candidate.standing {
            Standing::Offered => pool.units.push(unit),
            Standing::NotMeant(why) => note(&format!("{name} is not offered: {why}")),
            Standing::NotNow(why) | Standing::Unread(why) => {
                note(&format!("{name} is not offered now: {why}"));
                unread.push(name);
            }
        }
    }
    if let Some((why, names)) = &look.blind {
        note(&format!("disks cannot be listed now: {why}"));
        unread.extend(names.iter().cloned());
    }
    pool.with_unread(unread)
}

fn namespace(config: &Config, look: &Look, disk: Found) -> Candidate {
    let standing = match &disk.facts {
        Ok(facts) => facts.standing(config),
        Err(error) => Standing::Unread(error.clone()),
    };
    let size = disk.facts.as_ref().ok().and_then(|facts| facts.size);
    let above: Vec<&Controller> = disk.controllers.iter().filter_map(|name| look.controllers.get(name)).collect();
    let address = match above.as_slice() {
        [only] if only.transport == "pcie" => Some(only.address.clone()),
        _ => None,
    };
    let id = match (config.ids, &address) {
        (Ids::Name, _) => disk.name.clone(),
        (Ids::Address, Some(address)) if disk.is_of_one || config.ports == Ports::One => {
            name::id(&format!("{address}-n{}", disk.nsid))
        }
        // What several controllers may lead to has no address of its own, even while one does: a pod's disk must not become another
        // one when a port goes or comes.
        _ if !disk.wwid.is_empty() => name::id(&disk.wwid),
        _ => disk.name.clone(),
    };
    let mut backing = vec![disk.device];
    // The only way to it tells where it is. Where there may be several it is none of its own: one may go and another one come.
    if let ([_], [_], true) = (disk.paths.as_slice(), above.as_slice(), config.ports == Ports::One) {
        backing.extend(disk.paths);
    }
    let node = disk.nodes.first().map(Node::path);
    let mut properties = vec![("name", disk.name.clone())];
    properties.extend(node.map(|node| ("node", node)));
    properties.push(("size", size.unwrap_or(0).to_string()));
    properties.push(("rotational", disk.rotational));
    properties.push(("block-size", disk.block_size));
    properties.push(("nsid", disk.nsid));
    properties.extend(address.map(|address| ("pci", address)));
    properties.extend(described(config, &above));
    if config.serial {
        properties.push(("wwid", disk.wwid));
    }
    Candidate {
        unit: unit(id, backing, disk.nodes, properties),
        name: disk.name,
        standing,
        controllers: disk.controllers,
    }
}

fn drive(config: &Config, look: &mut Look, name: &str) -> Option<Candidate> {
    let others = look.siblings(name);
    let is_of = |disk: &Found| disk.controllers.iter().any(|controller| controller == name);
    let disks: Vec<Found> = look.disks.extract_if(.., |disk| is_of(disk)).collect();
    let controller = look.controllers.get(name)?;
    let facts: Vec<_> =
        disks.iter().map(|disk| (disk.name.as_str(), disk.facts.as_ref().map_err(String::as_str))).collect();
    let standing = match &look.blind {
        Some((why, _)) => Standing::Unread(why.clone()),
        None => judge::drive(config, &controller.path(), &others, &facts),
    };
    let size: u64 = facts.iter().filter_map(|(_, facts)| facts.ok()?.size).sum();
    let id = match config.ids {
        Ids::Name => name.to_owned(),
        _ => name::id(&controller.address),
    };
    let mut properties = vec![("name", name.to_owned()), ("size", size.to_string())];
    properties.push(("namespaces", disks.len().to_string()));
    let nodes: Vec<String> = disks.iter().filter_map(|disk| disk.nodes.first().map(Node::path)).collect();
    properties.push(("node", nodes.join(" ")));
    if controller.transport == "pcie" {
        properties.push(("pci", controller.address.clone()));
    }
    properties.extend(described(config, &[controller]));
    // The controller's own node takes any command; the policy says whether it is given.
    let own = controller.device.nodes().unwrap_or_default().into_iter();
    let mut nodes: Vec<Node> = own.filter(|node| node.owner().is_some_and(|(owner, _)| owner == name)).collect();
    let mut backing = vec![controller.device.duplicate()];
    for disk in disks {
        backing.push(disk.device);
        backing.extend(disk.paths);
        nodes.extend(disk.nodes);
    }
    Some(Candidate {
        unit: unit(id, backing, nodes, properties),
        name: name.to_owned(),
        standing,
        controllers: vec![name.to_owned()],
    })
}

/// What a drive says of itself, from the first controller that leads to it: they are all of one drive or target.
fn described(config: &Config, controllers: &[&Controller]) -> Vec<(&'static str, String)> {
    let names: Vec<&str> = controllers.iter().map(|controller| controller.name.as_str()).collect();
    let mut properties = vec![("controller", names.join(" "))];
    let Some(first) = controllers.first() else {
        return properties;
    };
    properties.push(("model", first.model.clone()));
    properties.push(("firmware", first.firmware.clone()));
    properties.push(("transport", first.transport.clone()));
    if let ([only], Some(numa)) = (controllers, first.numa) {
        properties.extend((only.transport == "pcie").then(|| ("numa", numa.to_string())));
    }
    if config.serial {
        properties.push(("serial", first.serial.clone()));
    }
    properties
}

fn unit(id: String, backing: Vec<devgate_sdk::Device>, nodes: Vec<Node>, properties: Vec<(&str, String)>) -> Unit {
    let known = properties.into_iter().filter(|(_, value)| !value.is_empty());
    Unit { id, backing, nodes, properties: known.map(|(name, value)| Property::new(name, value)).collect() }
}
