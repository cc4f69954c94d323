//! Offers NVMe namespaces, whole drives, and drives on vfio: only those that nobody on the node uses. See README.md for the grants,
//! properties and health.
#![forbid(unsafe_code)]

mod config;
mod judge;
mod look;
mod name;
mod size;
mod units;
mod vfio;

#[cfg(test)]
mod tests;

use config::Config;
use devgate_sdk::{Edits, Error, Plugin, Pool, Unit, Verdict, log};
use judge::Standing;
use look::Look;
use units::Candidate;

struct Nvme;

impl Plugin for Nvme {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = configured()?;
        let mut look = Look::now(&config);
        let candidates = units::candidates(&config, &mut look);
        let mut pools = vec![units::pool(&config, &look, candidates, log::info)];
        if let Some(resource) = &config.vfio {
            match vfio::pool(resource, log::info) {
                Ok(pool) => pools.push(pool),
                // The disks are there all the same.
                Err(error) if pools.iter().any(|pool| !pool.units.is_empty()) => {
                    log::error(&format!("no drive on vfio is offered now: {}", error.message));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(pools)
    }

    fn health(resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        let config = configured()?;
        if config.vfio.as_ref() == Some(&resource) {
            return Ok(units.iter().map(devgate_vfio::group_health).collect());
        }
        let mut look = Look::now(&config);
        let candidates = units::candidates(&config, &mut look);
        Ok(units.iter().map(|unit| verdict(&config, &look, &candidates, unit)).collect())
    }

    /// Nothing: the nodes are the units', and environment is a template of the policy, which the host fills in.
    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        Ok(Edits::none())
    }
}

fn configured() -> Result<Config, Error> {
    config::parse(&devgate_sdk::config::json())
}

/// How a unit is that was listed, from what there is now.
fn verdict(config: &Config, look: &Look, candidates: &[Candidate], unit: &Unit) -> Verdict {
    let name = unit.property("name").unwrap_or_default();
    let Some(found) = candidates.iter().find(|candidate| candidate.name == name) else {
        return match &look.blind {
            Some((why, _)) => Verdict::Unknown(why.clone()),
            None => Verdict::Unhealthy(format!("{name} is gone")),
        };
    };
    match &found.standing {
        Standing::NotMeant(why) | Standing::NotNow(why) => Verdict::Unhealthy(why.clone()),
        Standing::Unread(why) => Verdict::Unknown(why.clone()),
        // The kernel gives a name to another drive when the first one is gone.
        Standing::Offered if found.unit.id != unit.id => Verdict::Unhealthy(format!("{name} is {} now", found.unit.id)),
        Standing::Offered if config.temperature => temperature(look, &found.controllers),
        Standing::Offered => Verdict::Healthy,
    }
}

fn temperature(look: &Look, controllers: &[String]) -> Verdict {
    let mut known = controllers.iter().filter_map(|name| look.controllers.get(name));
    match known.find(|controller| controller.is_too_hot()) {
        Some(hot) => Verdict::Unhealthy(format!("{} says that its temperature is out of its limits", hot.name)),
        None => Verdict::Healthy,
    }
}

devgate_sdk::export!(Nvme);
