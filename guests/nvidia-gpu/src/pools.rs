//! From what was found to what is offered: whole GPUs, the instances that GPUs are cut into, and GPUs on vfio.

use crate::cdi::{Specification, is_uuid};
use crate::config::{Config, Ids};
use crate::machine::Host;
use crate::mig::{self, Instance};
use crate::survey::{Gpu, Survey, shared};
use crate::{RESOURCE, vfio};
use devgate_sdk::{Error, Pool, Unit, host_paths};

/// All that is offered.
pub(crate) struct Pools {
    pub(crate) pools: Vec<Pool>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
}

impl Pools {
    /// Looks for everything.
    ///
    /// # Errors
    /// Where nothing can be said at all.
    pub(crate) fn look(config: &Config) -> Result<Self, Error> {
        let mut found = Self { pools: Vec::new(), notes: Vec::new() };
        if config.gpus {
            found.gpus(config)?;
        }
        if let Some(resource) = &config.vfio {
            found.pools.push(vfio::pool(resource, &mut found.notes)?);
        }
        Ok(found)
    }

    /// The GPUs of NVIDIA's driver.
    fn gpus(&mut self, config: &Config) -> Result<(), Error> {
        let survey = Survey::of(&Host, config)?;
        let (mut whole, mut parts) = (Pool::new(RESOURCE, Vec::new()), Vec::new());
        whole.shared_nodes = survey.shared;
        let (mut notes, mut unread) = (survey.notes, survey.unread);
        let names = Names::read(config, &mut notes);
        for gpu in survey.gpus {
            let address = gpu.property("pci").to_owned();
            let Some(names) = &names else {
                // Neither whether it is whole nor what its instances are called can be told now: what was known stands.
                unread.push(address);
                continue;
            };
            let instances = config.mig.as_ref().map(|_| mig::instances(gpu.property("minor")));
            match instances.unwrap_or_else(|| Ok(Vec::new())) {
                Ok(instances) if instances.is_empty() => match names.of_gpu(&gpu) {
                    Ok(name) => whole.units.push(unit(gpu, name)),
                    Err(why) => notes.push(format!("GPU {address} is left out: {why}")),
                },
                Ok(instances) => {
                    let mut is_unread = false;
                    for instance in instances {
                        match instance.map(|instance| (instance, part(&gpu, instance, config, names))) {
                            Ok((_, Ok(unit))) => parts.push(unit),
                            Ok((instance, Err(why))) => notes.push(format!(
                                "instance {}:{} of GPU {address} is left out: {why}",
                                instance.gpu, instance.compute
                            )),
                            Err(error) => {
                                is_unread = true;
                                notes.push(format!(
                                    "an instance of GPU {address} cannot be described now: {}",
                                    error.message
                                ));
                            }
                        }
                    }
                    // What was known of those that cannot be read stands.
                    unread.extend(is_unread.then_some(address));
                }
                Err(error) => {
                    notes.push(format!("GPU {address} cannot be described now: {}", error.message));
                    unread.push(address);
                }
            }
        }
        whole.properties.extend(crate::survey::unread(&unread));
        let mut pools = vec![whole];
        match config.mig.as_deref() {
            None => {}
            Some(RESOURCE) => pools.iter_mut().for_each(|pool| pool.units.append(&mut parts)),
            Some(resource) => {
                let mut pool = Pool::new(resource, parts);
                pool.shared_nodes = shared(&Host, config, false)?.0;
                pools.push(pool);
            }
        }
        self.pools = pools;
        self.notes = notes;
        Ok(())
    }
}

/// By which names a container runtime knows GPUs and instances, where the policy lets it be read.
enum Names {
    NotAsked,
    Known(Specification),
}

impl Names {
    /// Nothing where they are asked for and cannot be read now, as while the file is written anew.
    fn read(config: &Config, notes: &mut Vec<String>) -> Option<Self> {
        match config.cdi_spec.as_deref().map(Specification::read) {
            None => Some(Self::NotAsked),
            Some(Ok(specification)) => Some(Self::Known(specification)),
            Some(Err(error)) => {
                notes.push(format!(
                    "no GPU can be described now, as what they are called by CDI is not known: {}",
                    error.message
                ));
                None
            }
        }
    }

    /// The name of a whole GPU, if there is one. A specification without it says that there is nothing whole to be had.
    fn of_gpu(&self, gpu: &Gpu<Host>) -> Result<Option<String>, &'static str> {
        match self {
            Self::NotAsked => Ok(None),
            Self::Known(specification) => match specification.name_of(&[gpu.node.path()]) {
                Some(name) => Ok(Some(name.to_owned())),
                None => Err(
                    "the CDI specification has no such GPU: it is in MIG mode and not cut yet, or the specification is old",
                ),
            },
        }
    }

    /// The name of an instance, which may be its id: without its name it is not listed.
    fn of_instance(&self, nodes: &[String]) -> Result<Option<String>, &'static str> {
        match self {
            Self::NotAsked => Ok(None),
            Self::Known(specification) => match specification.name_of(nodes) {
                Some(name) => Ok(Some(name.to_owned())),
                None => Err("the CDI specification is older than it (nvidia-ctk cdi generate)"),
            },
        }
    }
}

impl Gpu<Host> {
    fn property(&self, name: &str) -> &str {
        let found = self.properties.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }
}

/// A whole GPU.
fn unit(gpu: Gpu<Host>, name: Option<String>) -> Unit {
    let unit = Unit::of(gpu.id, gpu.function, vec![gpu.node]);
    let add = |unit: Unit, (name, value): (&'static str, String)| unit.with(name, value);
    let unit = gpu.properties.into_iter().fold(unit, add);
    name.into_iter().fold(unit, |unit, name| unit.with("cdi", name))
}

/// An instance: a part of its GPU, with the GPU's node and those of its capabilities.
fn part(gpu: &Gpu<Host>, instance: Instance, config: &Config, names: &Names) -> Result<Unit, String> {
    let path = gpu.node.path();
    let paths: Vec<String> = std::iter::once(path).chain(instance.nodes()).collect();
    let name = names.of_instance(&paths)?;
    let uuid = name.clone().filter(|name| is_uuid(name));
    let nodes: Result<Vec<_>, Error> = paths.iter().map(|path| host_paths::node_at(path)).collect();
    let nodes = nodes.map_err(|error| error.message)?;
    let id = match (config.ids, &uuid) {
        (Ids::Uuid, Some(uuid)) => uuid.clone(),
        _ => format!("{}-gi{}-ci{}", gpu.property("pci"), instance.gpu, instance.compute),
    };
    let gpu_uuid = gpu.property("uuid").to_owned();
    let unit = Unit::of(id, gpu.function.duplicate(), nodes)
        .with("mig", format!("MIG-{gpu_uuid}/{}/{}", instance.gpu, instance.compute))
        .with("gpu", gpu_uuid)
        .with("gi", instance.gpu.to_string())
        .with("ci", instance.compute.to_string());
    // All that is true of the GPU's parts as well.
    let common = ["pci", "minor", "model", "driver", "numa", "architecture", "compute"];
    let properties = gpu.properties.iter().filter(|(name, _)| common.contains(name));
    let unit = properties.fold(unit, |unit, (name, value)| unit.with(*name, value));
    let unit = uuid.into_iter().fold(unit, |unit, uuid| unit.with("uuid", uuid));
    Ok(name.into_iter().fold(unit, |unit, name| unit.with("cdi", name)))
}
