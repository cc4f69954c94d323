//! Offers FPGAs as `vendor.com/fpga`, each as long as its `status` reads `ok`.
#![forbid(unsafe_code)]

use devgate_sdk::{Edits, Error, Plugin, Pool, Unit, Verdict, hardware};

struct Fpga;

impl Plugin for Fpga {
    fn enumerate() -> Result<Vec<Pool>, Error> {
        let (mut units, mut unread) = (Vec::new(), Vec::new());
        for device in hardware::devices("fpga_region")? {
            match device.nodes() {
                Ok(nodes) => units.push(Unit::of(device.name(), device, nodes)),
                // One that cannot be described now costs itself alone.
                Err(_) => unread.push(device.name()),
            }
        }
        Ok(vec![Pool::new("vendor.com/fpga", units).with_unread(unread)])
    }

    fn health(_resource: String, units: Vec<Unit>) -> Result<Vec<Verdict>, Error> {
        let verdict = |unit: &Unit| match unit.backing.first().map(|device| device.attribute("status")) {
            Some(Ok(status)) if status == "ok" => Verdict::Healthy,
            Some(Ok(status)) => Verdict::Unhealthy(format!("status reads {status}")),
            Some(Err(error)) => Verdict::Unknown(error.message),
            None => Verdict::Unhealthy("the device is gone".to_owned()),
        };
        Ok(units.iter().map(verdict).collect())
    }

    fn allocate(_resource: String, _units: Vec<Unit>) -> Result<Edits, Error> {
        Ok(Edits::none())
    }
}

devgate_sdk::export!(Fpga);
