//! What is special about each driver: what its devices are offered as, which attributes tell of them, and how they say that they are
//! not well. All attributes are those of the hardware's own device, the PCI function or platform device.

use devgate_sdk::Verdict;

/// One driver of the class `accel`.
#[derive(Debug)]
pub(crate) struct Driver {
    /// The kernel's name.
    pub(crate) name: &'static str,
    /// The PCI vendor of its devices, which tells whose one is that has no driver now.
    pub(crate) vendor: Option<&'static str>,
    /// What its devices are offered as where the configuration says nothing: the name that the vendor's own plugin uses, or one in
    /// its domain.
    pub(crate) resource: &'static str,
    /// The beginning of the name of a second device in the class for each one, with the same number.
    pub(crate) control: Option<&'static str>,
    /// Attributes that are properties, with the property's name.
    pub(crate) attributes: &'static [(&'static str, &'static str)],
    /// How it says that a device is not well, if it does.
    pub(crate) says: Option<Says>,
}

/// Where a driver says how a device is.
#[derive(Debug)]
pub(crate) enum Says {
    /// An attribute with words.
    Status(&'static str),
    /// An attribute that counts errors that are not corrected, since the driver was loaded: looked at where the configuration has a limit.
    Errors(&'static str),
}

/// Those that the kernel has, under `drivers/accel`, and which make a device of the class beneath their hardware. `rocket` does not: its one
/// device is beneath a platform device that no driver has (`rocket_drv.c`). Any other one is offered where the configuration names its
/// resource.
pub(crate) const DRIVERS: [Driver; 5] = [
    // Intel Gaudi. `sysfs-driver-habanalabs` in the kernel's documentation of its ABI; the control device is made beside the first one
    // (`cdev_sysfs_debugfs_add` in habanalabs).
    Driver {
        name: "habanalabs",
        vendor: Some("0x1da3"),
        resource: "habana.ai/gaudi",
        control: Some("accel_controlD"),
        attributes: &[("device_type", "product"), ("module_id", "module-id"), ("cpucp_ver", "firmware")],
        says: Some(Says::Status("status")),
    },
    // Intel NPUs of Core Ultra (`sysfs-driver-ivpu`).
    Driver {
        name: "intel_vpu",
        vendor: Some("0x8086"),
        resource: "npu.intel.com/accel",
        control: None,
        attributes: &[],
        says: None,
    },
    // AMD XDNA NPUs (`amdxdna_sysfs.c`).
    Driver {
        name: "amdxdna",
        vendor: Some("0x1022"),
        resource: "amd.com/npu",
        control: None,
        attributes: &[("vbnv", "product"), ("fw_version", "firmware")],
        says: None,
    },
    // Qualcomm Cloud AI 100 (`qaic_ras.c`): `ue_count` counts what stopped the device, and goes on counting when that was made good.
    Driver {
        name: "qaic",
        vendor: Some("0x17cb"),
        resource: "qualcomm.com/qaic",
        control: None,
        attributes: &[],
        says: Some(Says::Errors("ue_count")),
    },
    // Arm Ethos-U.
    Driver { name: "ethosu", vendor: None, resource: "arm.com/npu", control: None, attributes: &[], says: None },
];

/// The driver that a PCI function of a vendor had, or will have.
pub(crate) fn of_vendor(vendor: &str) -> Option<&'static Driver> {
    DRIVERS.iter().find(|driver| driver.vendor == Some(vendor))
}

/// What is known of a driver.
pub(crate) fn of(name: &str) -> Option<&'static Driver> {
    DRIVERS.iter().find(|driver| driver.name == name)
}

/// What a status means, in whatever case. habanalabs has a word for each of `hl_device_status` (`create_hdev`), where a malfunction is
/// `disabled`; the first ones wrote `Malfunction`.
pub(crate) fn status(text: &str) -> Verdict {
    let word = text.to_ascii_lowercase();
    match word.as_str() {
        "operational" => Verdict::Healthy,
        "disabled" | "malfunction" | "needs reset" => Verdict::Unhealthy(format!("its driver calls it: {word}")),
        // It is made good at this moment, or started.
        _ => Verdict::Unknown(format!("its driver calls it: {word}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_driver_is_there_once_with_a_resource_of_its_own() {
        let names: BTreeSet<&str> = DRIVERS.iter().map(|driver| driver.name).collect();
        let resources: BTreeSet<&str> = DRIVERS.iter().map(|driver| driver.resource).collect();
        assert_eq!((names.len(), resources.len()), (DRIVERS.len(), DRIVERS.len()));
        assert!(
            resources.iter().all(|resource| resource.split_once('/').is_some_and(|(domain, _)| domain.contains('.')))
        );
        assert_eq!(of("habanalabs").map(|driver| driver.resource), Some("habana.ai/gaudi"));
        assert_eq!(of_vendor("0x17cb").map(|driver| driver.name), Some("qaic"));
        assert!(of("nvidia").is_none() && of_vendor("0x10de").is_none());
    }

    #[test]
    fn a_status_is_a_verdict() {
        assert!(matches!(status("operational"), Verdict::Healthy));
        assert!(matches!(status("Operational"), Verdict::Healthy));
        for broken in ["disabled", "malfunction", "needs reset", "Malfunction"] {
            assert!(matches!(status(broken), Verdict::Unhealthy(_)), "{broken}");
        }
        for passing in ["in reset", "in device creation", "in reset after device release", "", "unheard of"] {
            assert!(matches!(status(passing), Verdict::Unknown(_)), "{passing}");
        }
    }
}
