//! What virtual functions there are, by what they are offered as.

use crate::model::Model;
use crate::pf::Physical;
use crate::services::{DOMAIN, GENERIC};
use devgate_sdk::{Device, Error, ErrorKind, Pool, Presence, Unit, hardware};
use std::collections::BTreeMap;

/// What a look found.
#[derive(Default)]
pub(crate) struct Found {
    /// By the name after the `/` of their resource.
    units: BTreeMap<String, Vec<Unit>>,
    /// The kernel names of functions that are there and cannot be described now.
    unread: Vec<String>,
    /// What an admin should know about.
    pub(crate) notes: Vec<String>,
    /// What is as somebody meant it, for those who look for a function.
    pub(crate) asides: Vec<String>,
}

/// A function's place.
enum Place {
    /// What it is offered as, and the unit.
    In(String, Unit),
    /// Why it is not offered, as it is bound.
    Elsewhere(String),
}

/// Looks for all virtual functions.
///
/// # Errors
/// When the PCI functions cannot be listed at all.
pub(crate) fn look() -> Result<Found, Error> {
    let (mut found, mut physical) = (Found::default(), Physical::default());
    for function in hardware::devices("pci")? {
        let name = function.name();
        let placed = match Model::of(&function) {
            Ok(None) => continue,
            Ok(Some(model)) => place(function, model, &mut physical),
            Err(error) => Err(error),
        };
        match placed {
            Ok(Place::In(service, unit)) => found.units.entry(service).or_default().push(unit),
            Ok(Place::Elsewhere(why)) => found.asides.push(format!("function {name} is not offered: {why}")),
            Err(error) if error.kind == ErrorKind::Gone => {}
            Err(error) => {
                found.notes.push(format!("function {name} cannot be described now: {}", error.message));
                found.unread.push(name);
            }
        }
    }
    Ok(found)
}

fn place(function: Device, model: Model, physical: &mut Physical) -> Result<Place, Error> {
    let driver = function.driver().ok_or_else(|| Error::busy("it has no driver, and vfio-pci should be its"))?;
    if !devgate_vfio::is_vfio(&driver) {
        return Ok(Place::Elsewhere(format!("it is bound to {driver}, not to vfio")));
    }
    let (name, nodes) = (function.name(), function.nodes()?);
    let (mut service, mut properties) = (None, vec![("pci", name.clone())]);
    // A virtual machine has the function without the physical one.
    if let Some(address) = function.link("physfn").if_present()? {
        let at = |error: &Error| Error::new(error.kind, format!("physical function {address}: {}", error.message));
        match physical.of(&function, &address) {
            Ok(pf) => {
                service = pf.services.as_ref().map_err(at)?.clone().filter(|_| model.has_services);
                properties.extend(pf.driver.clone().map(|driver| ("pf-driver", driver)));
            }
            Err(error) if error.kind == ErrorKind::Denied => {
                let why = "it is not granted (hardware: use: read), and it alone says what the function is for";
                if model.has_services {
                    return Err(at(&Error::new(ErrorKind::Denied, why)));
                }
            }
            // It is about to go, and its virtual ones with it.
            Err(error) => return Err(at(&Error::busy(error.message.clone()))),
        }
        properties.push(("pf", address));
    }
    properties.extend([("device", model.device), ("driver", driver)]);
    properties.extend(service.clone().map(|name| ("services", name)));
    properties.extend(function.numa_node().map(|numa| ("numa", numa.to_string())));
    let unit = Unit::of(name, function, nodes);
    let unit = properties.into_iter().fold(unit, |unit, (name, value)| unit.with(name, value));
    Ok(Place::In(service.unwrap_or_else(|| GENERIC.to_owned()), unit))
}

impl Found {
    /// The pools, each with what opens groups of vfio; the host takes what is unread for the whole plugin.
    ///
    /// # Errors
    /// When what opens groups cannot be told.
    pub(crate) fn pools(mut self) -> Result<Vec<Pool>, Error> {
        if self.units.is_empty() {
            self.units.entry(GENERIC.to_owned()).or_default();
        }
        let mut unread = Some(self.unread);
        let mut pools = Vec::new();
        for (service, units) in self.units {
            let mut pool = Pool::new(format!("{DOMAIN}/{service}"), units);
            if !pool.units.is_empty() {
                pool.shared_nodes = devgate_vfio::openers()?;
            }
            pools.push(pool.with_unread(unread.take().unwrap_or_default()));
        }
        Ok(pools)
    }
}
