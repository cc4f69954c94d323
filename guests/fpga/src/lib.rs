//! Offers FPGAs: those of the kernel's DFL drivers by what is programmed into them or may be, and those of XRT by their shell. Never
//! the nodes that manage a card. See README.md for the grants, properties and health.
#![forbid(unsafe_code)]

mod config;
mod dfl;
mod listed;
mod uuid;
mod xrt;

#[cfg(test)]
mod tests;

use config::Config;
use devgate_sdk::{Edits, Error, Plugin, Pool, Unit, Verdict, log};
use listed::Listed;

struct Fpga;

impl Plugin for Fpga {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = configured()?;
        let mut listed = Listed::default();
        dfl::list(&config, &mut listed)?;
        xrt::list(&config, &mut listed)?;
        for note in &listed.notes {
            log::warn(note);
        }
        Ok(listed.pools())
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        if units.iter().all(|unit| unit.property("kind") == Some("xrt")) {
            return Ok(xrt::health(&units));
        }
        Ok(dfl::health(&units))
    }

    /// Nothing: the nodes are the units', and environment is a template of the policy, which the host fills in.
    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        Ok(Edits::none())
    }
}

fn configured() -> Result<Config, Error> {
    config::parse(&devgate_sdk::config::json())
}

devgate_sdk::export!(Fpga);
