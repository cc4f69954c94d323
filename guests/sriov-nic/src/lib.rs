//! Offers SR-IOV virtual functions of network adapters: with the kernel's network driver, with RDMA, and for programs in user
//! space through vfio. Pools are sorted by configuration, and the link of the physical function decides about health. See
//! README.md for the grants, properties and health.
#![forbid(unsafe_code)]

mod config;
mod facts;
mod health;
mod info;
mod link;
mod select;
mod survey;

use devgate_sdk::{Edits, Error, Plugin, Pool, Unit, Verdict, log};
use survey::Survey;

struct SriovNic;

impl Plugin for SriovNic {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let survey = Survey::of(&config)?;
        for note in &survey.notes {
            log::warn(note);
        }
        let mut pools = survey.pools.into_iter();
        // The host takes it for the whole plugin.
        let first = pools.next().map(|first| first.with_unread(&survey.unread));
        Ok(first.into_iter().chain(pools).collect())
    }

    fn health(resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let pool = config.pool(&resource)?;
        let mut links = link::Links::default();
        Ok(units.iter().map(|unit| health::of(pool, unit, &mut links)).collect())
    }

    /// The nodes are the units', and the addresses a template of the policy. What is left is for people who read JSON.
    fn allocate(resource: String, units: Vec<Unit>) -> Result<Edits, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let pool = config.pool(&resource)?;
        if !pool.info {
            return Ok(Edits::none());
        }
        let described: Vec<_> = units.iter().map(info::Described::of).collect();
        Ok(match info::json(pool, &described) {
            Some(json) => Edits::none().with_env(info::variable(&resource), json),
            None => {
                log::warn("the description of so many functions is too long for a variable, and is left out (info)");
                Edits::none()
            }
        })
    }
}

devgate_sdk::export!(SriovNic);

#[cfg(test)]
mod tests;
