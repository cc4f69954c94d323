//! Offers devices of the kernel's class `accel`: NPUs, and accelerators for machine learning. What is special about a driver is a
//! table, `src/drivers.rs`. See README.md for grants, properties and health.
#![forbid(unsafe_code)]

mod config;
mod drivers;
mod health;
mod survey;

use devgate_sdk::{Edits, Error, Plugin, Pool, Unit, Verdict, log};

/// The class that such devices are in.
const ACCEL: &str = "accel";
/// The buses that their hardware is on.
const BUSES: [&str; 2] = ["pci", "platform"];

struct Accel;

impl Plugin for Accel {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let found = survey::look(&config)?;
        for note in &found.notes {
            log::warn(note);
        }
        let mut units = found.units;
        for resource in found.unread.keys() {
            units.entry(resource.clone()).or_default();
        }
        let pool = |(resource, units): (String, Vec<Unit>)| {
            let unread = found.unread.get(&resource).into_iter().flatten();
            Pool::new(resource, units).with_unread(unread)
        };
        Ok(units.into_iter().map(pool).collect())
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        Ok(units.iter().map(|unit| health::of(unit, &config)).collect())
    }

    /// Nothing: the nodes are the units', and variables are templates of the policy, which the host fills in.
    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        Ok(Edits::none())
    }
}

devgate_sdk::export!(Accel);

#[cfg(test)]
mod tests;
