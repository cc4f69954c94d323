//! Offers kernel devices as resources by configuration alone: serial adapters, cameras, sound cards, FUSE, and groups
//! of several devices as one unit. What it may offer is the policy's grant; the configuration only sorts that into
//! resources. See README.md for both.
#![forbid(unsafe_code)]

mod choices;
mod conditions;
mod config;
mod env;
mod glob;
mod health;
mod id;
mod machine;
mod matching;
mod survey;

use config::Config;
use devgate_sdk::{Condition, Conditions, Edits, Error, Parameters, Plugin, Pool, Setting, Unit, Verdict, log};
use machine::Host;
use survey::{Candidate, Survey};

struct Generic;

impl Plugin for Generic {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = configured()?;
        let mut pools = Vec::new();
        for resource in config.resources() {
            let survey = Survey::of(&Host, &config, resource)?;
            for note in &survey.notes {
                log::warn(note);
            }
            let complete = survey.candidates.into_iter().filter(Candidate::is_offered);
            pools.push(Pool::new(resource, complete.map(unit).collect()));
        }
        Ok(pools)
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        Ok(units.iter().map(|unit| health::of(unit.nodes.len())).collect())
    }

    fn allocate(resource: String, units: Vec<Unit>) -> Result<Edits, Error> {
        let ids: Vec<&str> = units.iter().map(|unit| unit.id.as_str()).collect();
        let config = configured()?;
        let env = config.env(&resource).into_iter();
        let set = |edits: Edits, (name, rule): (&str, &str)| edits.with_env(name, env::fill(rule, &ids));
        Ok(env.fold(Edits::none(), set))
    }
}

impl Parameters for Generic {
    fn allocate_with(resource: String, units: Vec<Unit>, settings: Vec<Setting>) -> Result<Edits, Error> {
        let chosen = choices::chosen(&configured()?, &resource, &settings)?;
        let mut edits = Self::allocate(resource, units)?;
        // What is chosen counts before what the configuration says by itself.
        edits.env.retain(|known| !chosen.iter().any(|(name, _)| *name == known.name));
        Ok(chosen.into_iter().fold(edits, |edits, (name, value)| edits.with_env(name, value)))
    }
}

impl Conditions for Generic {
    fn examine(resource: String, units: Vec<Unit>) -> Result<Vec<Vec<Condition>>, Error> {
        let config = configured()?;
        let rules = config.conditions(&resource);
        Ok(units.iter().map(|unit| conditions::of(&rules, &unit.backing)).collect())
    }
}

fn configured() -> Result<Config, Error> {
    config::parse(&devgate_sdk::config::json())
}

fn unit(candidate: Candidate<Host>) -> Unit {
    let properties = candidate.properties();
    let unit = Unit { id: candidate.id, backing: candidate.devices, nodes: candidate.nodes, properties: Vec::new() };
    properties.into_iter().fold(unit, |unit, (name, value)| unit.with(name, value))
}

devgate_sdk::export!(Generic: parameters, conditions);
