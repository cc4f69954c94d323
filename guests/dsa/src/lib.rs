//! Offers work queues of Intel's Data Streaming Accelerator (DSA) and In-Memory Analytics Accelerator (IAA, in the
//! kernel IAX): those that the driver `idxd` has enabled for user space. And whole DSAs on vfio. See README.md for the
//! grants, properties and health.
#![forbid(unsafe_code)]

mod config;
mod function;
mod place;
mod queue;
mod survey;

use devgate_sdk::{Edits, Error, Plugin, Pool, Unit, Verdict, log};

struct Dsa;

impl Plugin for Dsa {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let found = survey::look(&config)?;
        for note in &found.notes {
            log::warn(note);
        }
        Ok(found.pools())
    }

    fn health(resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let of = if config.is_vfio(&resource) { devgate_vfio::health } else { queue::health };
        Ok(units.iter().map(of).collect())
    }

    /// The nodes are the units', and what a container is told of queues is a template of the policy.
    fn allocate(resource: String, units: Vec<Unit>) -> Result<Edits, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        Ok(match config.is_vfio(&resource) {
            true => devgate_vfio::numbered("VFIO_BDF", &units, config.variables),
            false => Edits::none(),
        })
    }
}

devgate_sdk::export!(Dsa);

#[cfg(test)]
mod tests;
