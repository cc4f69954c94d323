//! Which PCI functions are virtual ones of QAT.

use devgate_sdk::{Device, Error, Presence};

/// Intel.
const VENDOR: &str = "0x8086";
/// Virtual functions of devices whose services are chosen: 4xxx, 401xx, 402xx, 420xx and 6xxx. As Intel's plugin knows
/// them (`cmd/qat_plugin/dpdkdrv`), and the kernel (`PCI_DEVICE_ID_INTEL_QAT_…` in
/// `drivers/crypto/intel/qat/qat_common`).
const CHOSEN: [&str; 5] = ["0x4941", "0x4943", "0x4945", "0x4947", "0x4949"];
/// Those of older devices, which do all: DH895xCC, C4xxx, C3xxx, C62x and D15xx.
const ALL: [&str; 6] = ["0x0442", "0x0443", "0x18a1", "0x19e3", "0x37c9", "0x6f55"];

/// What is known of a virtual function by its model.
#[derive(Debug, PartialEq)]
pub(crate) struct Model {
    /// `4941`.
    pub(crate) device: String,
    /// Whether the physical function says what it is set up for.
    pub(crate) has_services: bool,
}

impl Model {
    /// That of a function; nothing where it is something else.
    ///
    /// # Errors
    /// Why that cannot be told now.
    pub(crate) fn of(function: &Device) -> Result<Option<Self>, Error> {
        let read = |attribute: &str| function.attribute(attribute).if_present();
        let (Some(vendor), Some(device)) = (read("vendor")?, read("device")?) else {
            return Ok(None);
        };
        let has_services = CHOSEN.contains(&device.as_str());
        let is_one = vendor == VENDOR && (has_services || ALL.contains(&device.as_str()));
        Ok(is_one.then(|| Self { device: device.trim_start_matches("0x").to_owned(), has_services }))
    }
}
