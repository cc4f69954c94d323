//! Makes devices of one class ready and releases them, and says so; fails where an attribute of the device says so. For tests
//! of the host; never deploy it.
#![forbid(unsafe_code)]

use devgate_sdk::{Device, Edits, Error, Lifecycle, Plugin, Pool, Unit, Verdict, hardware, log};

struct Probe;

impl Plugin for Probe {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let unit = |device: Device| Ok(Unit::of(device.name(), device.duplicate(), device.nodes()?));
        let units: Result<Vec<Unit>, Error> = hardware::devices("probe")?.into_iter().map(unit).collect();
        Ok(vec![Pool::new("example.com/probe", units?)])
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        Ok(units.iter().map(|_| Verdict::Healthy).collect())
    }

    fn allocate(_resource: String, units: Vec<Unit>) -> Result<Edits, Error> {
        act("allocate", &units).map(|()| Edits::none())
    }
}

impl Lifecycle for Probe {
    fn prepare(_resource: String, units: Vec<Unit>) -> Result<(), Error> {
        act("prepare", &units)
    }

    fn release(_resource: String, units: Vec<Unit>) -> Result<(), Error> {
        act("release", &units)
    }
}

/// Says what is done to the units; fails where the attribute of that name is `fail`.
fn act(call: &str, units: &[Unit]) -> Result<(), Error> {
    let ids: Vec<&str> = units.iter().map(|unit| unit.id.as_str()).collect();
    log::info(&format!("{call} {}", ids.join(" ")));
    for device in units.iter().flat_map(|unit| &unit.backing) {
        if device.attribute(call)?.trim_end() == "fail" {
            return Err(Error::other("probe", "the device does not answer"));
        }
    }
    Ok(())
}

devgate_sdk::export!(Probe: lifecycle);

#[cfg(test)]
mod tests;
