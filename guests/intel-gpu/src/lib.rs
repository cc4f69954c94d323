//! Offers Intel GPUs of the drivers i915 and xe, from what the kernel says of their PCI functions and in its log. See README.md for
//! grants, properties and health.
#![forbid(unsafe_code)]

mod config;
mod health;
mod models;
mod survey;

use devgate_drm::Resets;
use devgate_sdk::{Edits, Error, Plugin, Pool, Unit, Verdict, log};

/// The bus of the GPUs.
const PCI: &str = "pci";
/// The drivers whose GPUs are offered; each is a resource of its own, as programs may be made for one of them.
const DRIVERS: [&str; 2] = ["i915", "xe"];
/// What the resources' names begin with.
const DOMAIN: &str = "gpu.intel.com";
/// The resource of the one unit that has every node.
const MONITORING: &str = "monitoring";

struct IntelGpu;

impl Plugin for IntelGpu {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let mut found = survey::look(&config)?;
        for note in &found.notes {
            log::warn(note);
        }
        let mut pools = Vec::new();
        for driver in DRIVERS {
            let units = found.units.remove(driver).unwrap_or_default();
            // On the first; the host takes it for the whole plugin.
            let unread = std::mem::take(&mut found.unread);
            pools.push(Pool::new(format!("{DOMAIN}/{driver}"), units).with_unread(unread));
        }
        if let Some(unit) = found.monitoring {
            pools.push(Pool::new(format!("{DOMAIN}/{MONITORING}"), vec![unit]));
        }
        Ok(pools)
    }

    fn health(resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        if resource.ends_with(MONITORING) {
            // What fails is looked at with it; the host watches that its nodes are there.
            return Ok(units.iter().map(|_| Verdict::Healthy).collect());
        }
        let config = config::parse(&devgate_sdk::config::json())?;
        let resets = Resets::now();
        Ok(units.iter().map(|unit| health::of(unit, &config, &resets)).collect())
    }

    /// Nothing: the nodes are the units', and variables are templates of the policy, which the host fills in.
    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        Ok(Edits::none())
    }
}

devgate_sdk::export!(IntelGpu);

#[cfg(test)]
mod tests;
