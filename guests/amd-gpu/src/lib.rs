//! Offers AMD GPUs, whole or in compute partitions: from the functions and partitions of the driver amdgpu, and from what
//! KFD, its part for computing, says of them. No library of AMD's, no ioctl. See README.md for grants, properties and health.
#![forbid(unsafe_code)]

mod choose;
mod config;
mod gfx;
mod health;
mod kfd;
mod links;
mod mode;
mod ras;
mod survey;

use devgate_sdk::{Condition, Conditions, Edits, Error, Plugin, Pool, Preference, Unit, Verdict, log};

use std::collections::BTreeMap;

/// The bus of the GPUs, and that of partitions other than a GPU's first.
const PCI: &str = "pci";
const PLATFORM: &str = "platform";
const DRIVER: &str = "amdgpu";

struct AmdGpu;

impl Plugin for AmdGpu {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let mut found = survey::look()?;
        for note in &found.notes {
            log::warn(note);
        }
        let pools = survey::pools(found.parts, &config)?.into_iter().map(|mut pool| {
            pool.shared_nodes = kfd::nodes()?;
            // On the first; the host takes it for the whole plugin.
            Ok(pool.with_unread(std::mem::take(&mut found.unread)))
        });
        pools.collect()
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let mut looked = health::Look::now(&config);
        Ok(units.iter().map(|unit| looked.at(unit)).collect())
    }

    /// Nothing: the nodes are the units', and variables are templates of the policy, which the host fills in.
    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        Ok(Edits::none())
    }
}

impl Preference for AmdGpu {
    fn choose(
        _resource: String,
        available: Vec<Unit>,
        must_include: Vec<String>,
        size: u32,
    ) -> Result<Vec<String>, Error> {
        let candidates: Vec<_> = available.iter().map(links::candidate).collect();
        let distances = links::distances(&candidates);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let chosen = choose::choose(&candidates, &must_include, size, &distances);
        chosen.ok_or_else(|| Error::invalid(format!("choose: no {size} of {} units can be taken", available.len())))
    }
}

impl Conditions for AmdGpu {
    fn examine(_resource: String, units: Vec<Unit>) -> Result<Vec<Vec<Condition>>, Error> {
        let mut known = BTreeMap::new();
        let of = |unit: &Unit| match unit.property("pci") {
            Some(address) => known.entry(address.to_owned()).or_insert_with(|| health::conditions(address)).clone(),
            None => Vec::new(),
        };
        Ok(units.iter().map(of).collect())
    }
}

devgate_sdk::export!(AmdGpu: preference, conditions);

#[cfg(test)]
mod tests;
