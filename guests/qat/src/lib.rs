//! Offers virtual functions of Intel's QuickAssist Technology (QAT) that are bound to vfio, as what their physical
//! functions are set up for: `qat.intel.com/cy`, `qat.intel.com/dc` and so on. See README.md for the grants, properties
//! and health.
#![forbid(unsafe_code)]

mod config;
mod health;
mod model;
mod pf;
mod services;
mod survey;

use devgate_sdk::{Edits, Error, Plugin, Pool, Unit, Verdict, log};

struct Qat;

impl Plugin for Qat {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let found = survey::look()?;
        for note in &found.notes {
            log::warn(note);
        }
        for note in &found.asides {
            log::info(note);
        }
        found.pools()
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let mut physical = pf::Physical::default();
        Ok(units.iter().map(|unit| health::of(&config, unit, &mut physical)).collect())
    }

    /// The nodes are the units', and the addresses a template of the policy, or Intel's variables. A device that was
    /// set up for something else since the last look would fail the program that asked for what it was: it is not
    /// given.
    fn allocate(_resource: String, units: Vec<Unit>) -> Result<Edits, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let mut physical = pf::Physical::default();
        units.iter().try_for_each(|unit| health::check(&config, unit, &mut physical))?;
        Ok(devgate_vfio::numbered("QAT", &units, config.variables))
    }
}

devgate_sdk::export!(Qat);

#[cfg(test)]
mod tests;
