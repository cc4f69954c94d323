//! Offers whole NVIDIA GPUs, without NVML: from PCI functions, what the kernel driver says of them under
//! `/proc/driver/nvidia` and in the kernel's log, and the nodes that it made. See README.md for the grants, properties and health.
#![forbid(unsafe_code)]

mod config;
mod faults;
mod health;
mod information;
mod line;
mod machine;
mod models;
mod power;
mod survey;
mod xid;

use devgate_sdk::{Edits, Error, Plugin, Pool, Property, Unit, Verdict, log};
use faults::Faults;
use health::Known;
use machine::Host;
use survey::{Gpu, Survey};

/// What the GPUs are offered as; the policy's `rename` can make it another name.
const RESOURCE: &str = "nvidia.com/gpu";

struct NvidiaGpu;

impl Plugin for NvidiaGpu {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let survey = Survey::of(&Host, &config)?;
        for note in &survey.notes {
            log::warn(note);
        }
        let mut pool = Pool::new(RESOURCE, survey.gpus.into_iter().map(unit).collect());
        pool.shared_nodes = survey.shared;
        if !survey.unread.is_empty() {
            pool.properties
                .push(Property::new("devgate.unread", survey.unread.join(" ")));
        }
        Ok(vec![pool])
    }

    fn health(resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        let config = config::parse(&devgate_sdk::config::json())?;
        let faults = Faults::look(&Host, &config.xid, &resource);
        for note in &faults.notes {
            log::warn(note);
        }
        let verdict = |unit: &Unit| match unit.backing.first() {
            Some(function) => {
                let known = Known {
                    uuid: unit.property("uuid"),
                    minor: unit.property("minor"),
                };
                health::of(&Host, &config, function, known, &faults)
            }
            None => Verdict::Unknown("nothing is known of its hardware".to_owned()),
        };
        Ok(units.iter().map(verdict).collect())
    }

    /// Nothing: the nodes are the units', and environment and CDI names are templates of the policy, which the host fills in.
    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        Ok(Edits::none())
    }
}

fn unit(gpu: Gpu<Host>) -> Unit {
    let unit = Unit::of(gpu.id, gpu.function, vec![gpu.node]);
    let add = |unit: Unit, (name, value): (&'static str, String)| unit.with(name, value);
    gpu.properties.into_iter().fold(unit, add)
}

devgate_sdk::export!(NvidiaGpu);
