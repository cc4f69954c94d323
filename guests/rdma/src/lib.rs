//! Offers RDMA devices, InfiniBand and RoCE alike: each to one container, or to as many as the policy's `replicas` say. Its ports
//! decide about its health, and so do links that go down again and again. See README.md for the grants, properties and health.
#![forbid(unsafe_code)]

mod clock;
mod config;
mod flaps;
mod health;
mod ports;
mod survey;

use devgate_sdk::{Edits, Error, Plugin, Pool, Unit, Verdict, log};
use survey::Survey;

struct Rdma;

impl Plugin for Rdma {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let survey = Survey::of(&config)?;
        for note in &survey.notes {
            log::warn(note);
        }
        let mut pool = Pool::new(&config.resource, survey.units).with_unread(&survey.unread);
        pool.shared_nodes = survey.shared;
        Ok(vec![pool])
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let mut watch = health::Watch::begin(&config);
        let mut look = |unit: &Unit| health::Look::at(&config, unit, &mut watch);
        let looks: Vec<_> = units.iter().map(&mut look).collect();
        let flaps_count = watch.end();
        Ok(looks.into_iter().map(|look| look.verdict(flaps_count)).collect())
    }

    /// Nothing: the nodes are the units' and the pool's.
    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        Ok(Edits::none())
    }
}

devgate_sdk::export!(Rdma);

#[cfg(test)]
mod tests;
