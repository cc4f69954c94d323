//! Offers Onload, user-space networking on Solarflare adapters: to many containers at once, as it is meant to be used. Its nodes
//! are the node's, its library is a mount, and its preloading is the policy's own word. See README.md for the grants and health.
#![forbid(unsafe_code)]

mod adapter;
mod config;
mod tuning;

use adapter::Adapter;
use config::Config;
use devgate_sdk::{
    Edits, Error, ErrorKind, Parameters, Plugin, Pool, Setting, Unit, Verdict, hardware, host_paths, log,
};

/// The nodes that the kernel module makes; it registers no class for them, so that they belong to no device.
const NODES: [&str; 3] = ["/dev/onload", "/dev/onload_epoll", "/dev/sfc_char"];

struct Onload;

impl Plugin for Onload {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let mut pool = Pool::new(&config.resource, Vec::new());
        let mut unread = Vec::new();
        for function in hardware::devices("pci")? {
            let name = function.name();
            match Adapter::of(&function) {
                Ok(Some(adapter)) => {
                    let unit = Unit::of(name, function, Vec::new());
                    let add = |unit: Unit, (name, value): (&'static str, String)| unit.with(name, value);
                    pool.units.push(adapter.properties().into_iter().fold(unit, add));
                }
                Ok(None) => {}
                Err(why) => {
                    log::warn(&format!("adapter {name} cannot be described now: {why}"));
                    unread.push(name);
                }
            }
        }
        for path in NODES {
            match host_paths::node_at(path) {
                Ok(node) => pool.shared_nodes.push(node),
                Err(error) if pool.units.is_empty() && error.is_absence() => {}
                Err(error) => log::warn(&missing(path, &error)),
            }
        }
        Ok(vec![pool.with_unread(&unread)])
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        // The nodes are of all adapters: without them nothing works on any.
        let problem = problem(NODES.map(|path| (path, host_paths::node_at(path).err())));
        let verdict = |unit: &Unit| match (&problem, unit.backing.first()) {
            (Some(problem), _) => problem.clone(),
            (None, Some(function)) => adapter::health(&config, function),
            (None, None) => Verdict::Unknown("nothing is known of its hardware".to_owned()),
        };
        Ok(units.iter().map(verdict).collect())
    }

    /// The library. That it is preloaded is a variable of the policy's own, which the host sets.
    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        let Config { mounts, .. } = config::parse(&devgate_sdk::config::json())?;
        let mut edits = Edits::none();
        for name in &mounts {
            edits.mounts.push(host_paths::mount(name)?);
        }
        Ok(edits)
    }
}

impl Parameters for Onload {
    /// The library, and what Onload is told by the claim and its class.
    fn allocate_with(resource: String, units: Vec<Unit>, settings: Vec<Setting>) -> Result<Edits, Error> {
        let variables = tuning::variables(&settings)?;
        let mut edits = Self::allocate(resource, units)?;
        edits.env.extend(variables);
        Ok(edits)
    }
}

/// What speaks against all adapters, from what was wrong with each node: one that is not there or not granted for sure, else one that
/// cannot be told now.
fn problem(nodes: [(&str, Option<Error>); NODES.len()]) -> Option<Verdict> {
    let mut unknown = None;
    for (path, error) in nodes {
        let Some(error) = error else { continue };
        let why = missing(path, &error);
        if error.is_absence() || error.kind == ErrorKind::Denied {
            return Some(Verdict::Unhealthy(why));
        }
        unknown.get_or_insert(Verdict::Unknown(why));
    }
    unknown
}

/// Why a node cannot be handed out, and what helps.
fn missing(path: &str, error: &Error) -> String {
    match error.kind {
        ErrorKind::Denied => format!("node {path} is not granted (host-nodes: shared)"),
        _ if error.is_absence() => format!("node {path} is not there: are the modules onload and sfc_char loaded?"),
        _ => error.message.clone(),
    }
}

devgate_sdk::export!(Onload: parameters);

#[cfg(test)]
mod tests;
