//! What virtual functions there are, sorted into the pools of the configuration.

use crate::config::{self, Config};
use crate::facts::{Facts, Pf};
use crate::select::{Place, place};
use devgate_sdk::{Device, Error, ErrorKind, Node, Pool, Presence, Unit, hardware, host_paths};
use devgate_vfio::is_vfio;
use std::collections::HashMap;

/// What opens groups of vfio.
const VFIO: &str = "/dev/vfio/vfio";
/// What functions are attached to that are opened by nodes of their own, and the subsystem of these (`vfio-dev`, Linux 6.6).
const IOMMU: &str = "/dev/iommu";
const VFIO_OWN: &str = "vfio-dev";
/// What programs connect with by address, whichever RDMA device they use.
const RDMA_CM: &str = "/dev/infiniband/rdma_cm";
/// What virtual machines make interfaces with.
const VHOST: [&str; 2] = ["/dev/vhost-net", "/dev/net/tun"];

/// All that was found.
pub(crate) struct Survey {
    /// One for each of the configuration, in its order.
    pub(crate) pools: Vec<Pool>,
    /// The addresses of functions that cannot be described now.
    pub(crate) unread: Vec<String>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
}

impl Survey {
    /// Looks for all virtual functions.
    ///
    /// # Errors
    /// When the PCI functions cannot be listed at all.
    pub(crate) fn of(config: &Config) -> Result<Self, Error> {
        let mut survey = Self {
            pools: config.pools.iter().map(|pool| Pool::new(&pool.resource, Vec::new())).collect(),
            unread: Vec::new(),
            notes: Vec::new(),
        };
        let mut physical: HashMap<String, Pf> = HashMap::new();
        for function in hardware::devices("pci")? {
            let address = match function.link("physfn").if_present() {
                Ok(Some(address)) => address,
                // What has no physical function is one, or has nothing to do with SR-IOV.
                Ok(None) => continue,
                Err(error) => {
                    survey.open(&function.name(), &error.message);
                    continue;
                }
            };
            let pf = physical.entry(address.clone()).or_insert_with(|| Pf::of(physical_function(&function).as_ref()));
            let facts = Facts::of(&function, address, pf);
            survey.add(config, function, facts);
        }
        let unseen = physical.iter().filter(|(_, pf)| !pf.is_granted);
        for (address, _) in unseen {
            survey.notes.push(format!(
                "physical function {address} is not granted: nothing is known of its link (hardware: use: read)"
            ));
        }
        survey.notes.sort();
        for (pool, wanted) in survey.pools.iter_mut().zip(&config.pools) {
            share(pool, wanted, &mut survey.notes);
        }
        Ok(survey)
    }

    /// Leaves a function as it was.
    fn open(&mut self, name: &str, why: &str) {
        self.notes.push(format!("function {name} cannot be described now: {why}"));
        self.unread.push(name.to_owned());
    }

    fn add(&mut self, config: &Config, function: Device, facts: Result<Facts, Error>) {
        let name = function.name();
        let facts = match facts {
            Ok(facts) => facts,
            Err(error) if error.is_absence() => return,
            Err(error) => return self.open(&name, &error.message),
        };
        let wanted = match place(config, &facts) {
            Place::In(pool) => pool,
            Place::Nowhere => return,
            Place::Open(pool) => {
                let why =
                    "its interface is in a network namespace of its own, and without it cannot be told whether it is";
                return self.open(&name, &format!("{why} {}", pool.resource));
            }
        };
        match in_use(&function) {
            Ok(None) => {}
            Ok(Some(how)) => {
                self.notes.push(format!("function {name} is not offered: the node uses {how}"));
                return;
            }
            Err(error) => return self.open(&name, &error.message),
        }
        let nodes = match function.nodes().if_present() {
            Ok(nodes) => nodes.unwrap_or_default(),
            Err(error) => return self.open(&name, &error.message),
        };
        let nodes = nodes.into_iter().filter(|node| wanted.rdma || !is_rdma(node)).collect();
        let unit = Unit::of(name, function, nodes);
        let add = |unit: Unit, (name, value): (&'static str, String)| unit.with(name, value);
        let unit = facts.properties().into_iter().fold(unit, add);
        if let Some(pool) = self.pools.iter_mut().find(|pool| pool.resource == wanted.resource) {
            pool.units.push(unit);
        }
    }
}

/// Whether an interface of a function is a part of another one of the node, a bond, bridge or VLAN, and says of which: who takes it
/// cuts the node off. The kernel links such an interface to those above it (`netdev_adjacent_sysfs_add` in `net/core/dev.c`).
fn in_use(function: &Device) -> Result<Option<String>, Error> {
    for interface in function.entries("net").if_present()?.unwrap_or_default() {
        let entries = function.entries(&format!("net/{interface}")).if_present()?;
        let above = entries.unwrap_or_default().into_iter().find_map(|entry| {
            let upper = entry.strip_prefix("upper_").map(str::to_owned);
            upper.or_else(|| (entry == "master").then(|| "another interface".to_owned()))
        });
        if let Some(above) = above {
            return Ok(Some(format!("its interface {interface} in {above}")));
        }
    }
    Ok(None)
}

/// The physical function, if the policy grants it.
fn physical_function(function: &Device) -> Option<Device> {
    function.related("physfn").ok()
}

fn is_rdma(node: &Node) -> bool {
    node.owner().is_some_and(|(_, subsystem)| subsystem.starts_with("infiniband"))
}

/// Adds the nodes that all units of a pool share. One that is not there, or that the policy does not list, is left out and said.
fn share(pool: &mut Pool, wanted: &config::Pool, notes: &mut Vec<String>) {
    let has = |subsystem: &str| {
        let mut nodes = pool.units.iter().flat_map(|unit| &unit.nodes);
        nodes.any(|node| node.owner().is_some_and(|(_, of)| of == subsystem))
    };
    let on_vfio = pool.units.iter().any(|unit| unit.property("driver").is_some_and(is_vfio));
    let groups = has("vfio") || (on_vfio && !has(VFIO_OWN));
    let mut paths: Vec<&str> = Vec::new();
    paths.extend(groups.then_some(VFIO));
    paths.extend(has(VFIO_OWN).then_some(IOMMU));
    if !pool.units.is_empty() {
        paths.extend(wanted.rdma.then_some(RDMA_CM));
        paths.extend(wanted.vhost_net.then_some(VHOST).into_iter().flatten());
    }
    for path in paths {
        let why = match host_paths::node_at(path) {
            Ok(node) => {
                pool.shared_nodes.push(node);
                continue;
            }
            Err(error) if error.is_absence() => format!("{path} is not there"),
            Err(error) if error.kind == ErrorKind::Denied => format!("{path} is not granted (host-nodes: shared)"),
            Err(error) => error.message,
        };
        notes.push(format!("resource {}: {why}: containers will miss it", pool.resource));
    }
}
