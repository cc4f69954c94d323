//! A physical function, as far as its virtual ones depend on it: asked once in a call, whatever their number.

use crate::services;
use devgate_sdk::{Device, Error, ErrorKind, Presence};
use std::collections::HashMap;

/// What is known of one.
pub(crate) struct Pf {
    pub(crate) driver: Option<String>,
    /// The name of what it is set up for; nothing where it does not say. An error while it is down.
    pub(crate) services: Result<Option<String>, Error>,
    /// Fatal errors since its driver started it; nothing where that does not count them.
    pub(crate) fatal_errors: Result<Option<u64>, Error>,
}

/// Those that were asked, by their addresses.
#[derive(Default)]
pub(crate) struct Physical(HashMap<String, Result<Pf, Error>>);

impl Physical {
    /// That of a virtual function, whose address is `address`.
    ///
    /// # Errors
    /// As the host says where it is not granted, or gone.
    pub(crate) fn of(&mut self, function: &Device, address: &str) -> &Result<Pf, Error> {
        let ask = || function.related("physfn").map(|device| Pf::read(&device));
        self.0.entry(address.to_owned()).or_insert_with(ask)
    }
}

impl Pf {
    fn read(device: &Device) -> Self {
        Self { driver: device.driver(), services: services(device), fatal_errors: fatal_errors(device) }
    }
}

/// Before Linux 6.0, and with drivers of older devices, neither file is there.
fn services(device: &Device) -> Result<Option<String>, Error> {
    match device.attribute("qat/state").if_present()? {
        None => return Ok(None),
        Some(state) if state == "up" => {}
        Some(state) => return Err(Error::busy(format!("it is {state} (qat/state)"))),
    }
    let Some(text) = device.attribute("qat/cfg_services").if_present()? else {
        return Ok(None);
    };
    match services::name(&text) {
        Some(name) => Ok(Some(name)),
        None => Err(Error::new(ErrorKind::Unsupported, format!("qat/cfg_services reads {text}"))),
    }
}

/// The driver counts from 0 each time that it starts the device (`adf_sysfs_start_ras`), so what is counted was not
/// made good.
fn fatal_errors(device: &Device) -> Result<Option<u64>, Error> {
    let path = "qat_ras/errors_fatal";
    let Some(text) = device.attribute(path).if_present()? else {
        return Ok(None);
    };
    let count = text.parse().map_err(|_| Error::new(ErrorKind::Unsupported, format!("{path} reads {text}")))?;
    Ok(Some(count))
}
