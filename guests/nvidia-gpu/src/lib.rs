//! Offers NVIDIA GPUs, whole, cut into MIG instances or bound to vfio, without NVML: from PCI functions, what the kernel driver says of them under
//! `/proc/driver/nvidia` and in the kernel's log, and the nodes that it made. See README.md for the grants, properties and health.
#![forbid(unsafe_code)]

mod cdi;
mod conditions;
mod config;
mod faults;
mod health;
mod information;
mod line;
mod machine;
mod mig;
mod models;
mod parts;
mod pools;
mod power;
mod survey;
mod vfio;
mod xid;

use config::Config;
use devgate_sdk::{Condition, Conditions, Edits, Error, Parameters, Plugin, Pool, Setting, Unit, Verdict, log};
use faults::Faults;
use health::Known;
use machine::Host;
use pools::Pools;

/// What the GPUs are offered as; the policy's `rename` can make it another name.
const RESOURCE: &str = "nvidia.com/gpu";

struct NvidiaGpu;

impl Plugin for NvidiaGpu {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let found = Pools::look(&config)?;
        for note in &found.notes {
            log::warn(note);
        }
        Ok(found.pools)
    }

    fn health(resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        // Whoever drives a GPU on vfio, the kernel's log says nothing of it.
        if units.iter().all(vfio::is_unit) {
            return Ok(units.iter().map(devgate_vfio::group_health).collect());
        }
        let faults = Faults::look(&Host, &config.xid, &resource);
        for note in &faults.notes {
            log::warn(note);
        }
        Ok(units.iter().map(|unit| verdict(unit, &config, &faults)).collect())
    }

    /// Nothing: the nodes are the units', and environment and CDI names are templates of the policy, which the host fills in.
    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        Ok(Edits::none())
    }
}

impl Parameters for NvidiaGpu {
    fn allocate_with(_resource: String, _units: Vec<Unit>, settings: Vec<Setting>) -> Result<Edits, Error> {
        parts::edits(&settings)
    }
}

impl Conditions for NvidiaGpu {
    fn examine(_resource: String, units: Vec<Unit>) -> Result<Vec<Vec<Condition>>, Error> {
        let known = conditions::Known::of(&Host)?;
        let of = |unit: &Unit| match unit.backing.first() {
            Some(function) if !vfio::is_unit(unit) => known.about(function),
            _ => Vec::new(),
        };
        Ok(units.iter().map(of).collect())
    }
}

/// How a GPU is, or the instance and the GPU that it is a part of.
fn verdict(unit: &Unit, config: &Config, faults: &Faults) -> Verdict {
    if vfio::is_unit(unit) {
        return devgate_vfio::group_health(unit);
    }
    let Some(function) = unit.backing.first() else {
        return Verdict::Unknown("nothing is known of its hardware".to_owned());
    };
    let instance = unit.property("mig").is_some();
    let known = Known { uuid: unit.property(if instance { "gpu" } else { "uuid" }), minor: unit.property("minor") };
    match health::of(&Host, config, function, known, faults) {
        Verdict::Healthy if instance => mig::is_there(unit).err().unwrap_or(Verdict::Healthy),
        verdict => verdict,
    }
}

devgate_sdk::export!(NvidiaGpu: parameters, conditions);

#[cfg(test)]
mod tests;
