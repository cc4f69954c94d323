//! Asks for more than any policy of the demo grants, and is refused when it is loaded: it reads the kernel's log and
//! writes to hardware. For demonstrations and tests; never deploy it.
#![forbid(unsafe_code)]

use devgate_sdk::{Edits, Error, Lifecycle, Plugin, Pool, Unit, Verdict, control, hardware, kernel_log};

struct Overreach;

impl Plugin for Overreach {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let lines = kernel_log::since("", 100)?.events.len();
        let unit = |device: devgate_sdk::Device| {
            Ok(Unit::of(device.name(), device.duplicate(), device.nodes()?).with("lines", lines.to_string()))
        };
        let units: Result<Vec<Unit>, Error> = hardware::devices("pci")?.into_iter().map(unit).collect();
        Ok(vec![Pool::new("example.com/everything", units?)])
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        Ok(units.iter().map(|_| Verdict::Healthy).collect())
    }

    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        Ok(Edits::none())
    }
}

impl Lifecycle for Overreach {
    fn prepare(_resource: String, units: Vec<Unit>) -> Result<(), Error> {
        units.iter().flat_map(|unit| &unit.backing).try_for_each(|device| control::write(device, "reset", "1"))
    }

    fn release(resource: String, units: Vec<Unit>) -> Result<(), Error> {
        Self::prepare(resource, units)
    }
}

devgate_sdk::export!(Overreach: lifecycle);
