//! Which subsystems are buses: a description gives their names only.

/// The kernel's buses (`bus_register` in Linux 6.12, those that a node may have), sorted. A subsystem that is not one
/// of them is a class; a description that knows better says so with `L: subsystem=`. Names that are both a bus and a
/// class (`mdio_bus`, `mei`, `nd`) are taken for the bus, where the devices with attributes are.
const BUSES: [&str; 70] = [
    "ac97",
    "acpi",
    "amba",
    "ap",
    "auxiliary",
    "bcma",
    "ccw",
    "ccwgroup",
    "cdx",
    "clockevents",
    "clocksource",
    "container",
    "coreboot",
    "coresight",
    "cpu",
    "css",
    "cxl",
    "dax",
    "dfl",
    "dsa",
    "edac",
    "eisa",
    "event_source",
    "faux",
    "fsl-mc",
    "gpio",
    "hdaudio",
    "hid",
    "host1x",
    "i2c",
    "i3c",
    "iio",
    "intel_th",
    "ishtp",
    "iucv",
    "mcb",
    "mdev",
    "mdio_bus",
    "media",
    "mei",
    "memory",
    "memory_tiering",
    "mhi",
    "mipi-dsi",
    "mmc",
    "nd",
    "node",
    "ntb",
    "nvmem",
    "parport",
    "pci",
    "pci-epf",
    "pci_express",
    "platform",
    "pnp",
    "rapidio",
    "rpmsg",
    "scsi",
    "sdio",
    "serial",
    "serio",
    "soc",
    "spi",
    "thunderbolt",
    "usb",
    "usb-serial",
    "vdpa",
    "virtio",
    "vmbus",
    "xen",
];

/// Whether a subsystem of this name is a bus.
fn is_bus(name: &str) -> bool {
    // Registered by one driver each, too many to be worth a line in the table.
    BUSES.binary_search(&name).is_ok() || ["serial-base", "slimbus", "soundwire", "wmi", "workqueue"].contains(&name)
}

/// Where the kernel keeps a subsystem of this name, below the node's root, unless a description says otherwise.
pub(crate) fn automatic_subsystem(name: &str) -> String {
    format!("sys/{}/{name}", if is_bus(name) { "bus" } else { "class" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_knows_the_common_ones() {
        assert!(BUSES.is_sorted());
        for bus in ["pci", "usb", "virtio", "hid", "auxiliary", "cxl", "dfl", "cpu", "node", "wmi"] {
            assert!(is_bus(bus), "{bus}");
        }
        for class in ["drm", "net", "misc", "block", "tty", "vfio", "infiniband", "nvme", "usbmisc", ""] {
            assert!(!is_bus(class), "{class}");
        }
    }

    #[test]
    fn no_bus_of_this_machine_is_taken_for_a_class() {
        let (Ok(buses), class) = (std::fs::read_dir("/sys/bus"), std::path::Path::new("/sys/class")) else {
            eprintln!("skipped: no /sys/bus here");
            return;
        };
        for bus in buses.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
            // A name that is a class as well, or a bus without devices, cannot mislead.
            let empty = std::fs::read_dir(format!("/sys/bus/{bus}/devices")).is_ok_and(|mut all| all.next().is_none());
            assert!(is_bus(&bus) || class.join(&bus).exists() || empty, "{bus} is missing in the table of buses");
        }
    }
}
