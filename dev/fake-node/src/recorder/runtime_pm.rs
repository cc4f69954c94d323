//! Devices that sleep, and what of them can be read without waking them.

use devgate_node::Node;
use devgate_node::{DevicePath, ReadError};

/// Attributes that the kernel's buses answer from memory (`drivers/pci/pci-sysfs.c`, `drivers/usb/core/sysfs.c`), sorted.
const KEPT: [&str; 50] = [
    "acpi_index",
    "bAlternateSetting",
    "bConfigurationValue",
    "bDeviceClass",
    "bDeviceProtocol",
    "bDeviceSubClass",
    "bInterfaceClass",
    "bInterfaceNumber",
    "bInterfaceProtocol",
    "bInterfaceSubClass",
    "bMaxPower",
    "bNumEndpoints",
    "bcdDevice",
    "boot_vga",
    "busnum",
    "class",
    "consistent_dma_mask_bits",
    "descriptors",
    "dev",
    "device",
    "devnum",
    "devpath",
    "dma_mask_bits",
    "driver_override",
    "hid",
    "id",
    "idProduct",
    "idVendor",
    "irq",
    "local_cpulist",
    "local_cpus",
    "manufacturer",
    "modalias",
    "numa_node",
    "path",
    "power/control",
    "power/runtime_status",
    "product",
    "removable",
    "resource",
    "revision",
    "serial",
    "speed",
    "sriov_drivers_autoprobe",
    "sriov_numvfs",
    "sriov_totalvfs",
    "subsystem_device",
    "subsystem_vendor",
    "vendor",
    "version",
];

/// Whether an attribute of a bus' device is read without asking the device.
pub(super) fn is_kept(path: &str) -> bool {
    KEPT.binary_search(&path).is_ok()
}

/// Whether a device sleeps, or one above it does.
pub(super) fn is_asleep(node: &Node, device: &DevicePath) -> bool {
    let mut at = Some(device.clone());
    while let Some(one) = at {
        let status: Result<_, ReadError> = node.attribute(&one, "power/runtime_status", 64);
        if status.is_ok_and(|status| status.starts_with(b"suspend")) {
            return true;
        }
        at = node.parent(&one);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_sorted() {
        assert!(KEPT.is_sorted());
        assert!(is_kept("vendor") && !is_kept("current_link_speed") && !is_kept("hwmon/hwmon0/temp1_input"));
    }
}
