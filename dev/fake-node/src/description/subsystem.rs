//! Which subsystems are buses: a description gives their names only.

use devgate_node::path::base;

/// The kernel's buses (`bus_register` in Linux 6.12, those that a node may have), sorted. A subsystem that is not one
/// of them is a class; a description that knows better says so with `L: subsystem=`.
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

/// Buses of whose name there is a class as well.
const ALSO_CLASSES: [&str; 4] = ["gpio", "mdio_bus", "mei", "nd"];

/// Whether a subsystem of this name is a bus.
fn is_bus(name: &str) -> bool {
    // Registered by one driver each, too many to be worth a line in the table.
    BUSES.binary_search(&name).is_ok() || ["serial-base", "slimbus", "soundwire", "wmi", "workqueue"].contains(&name)
}

/// Where the kernel keeps the subsystem of this name that a device is of, below the node's root, unless a description says
/// otherwise. What is of a class stands in a directory of the class's name: `…/3f200000.gpio/gpio/gpiochip0` is the class's,
/// and `…/3f200000.gpio/gpiochip0` the bus's.
pub(crate) fn automatic_subsystem(name: &str, device: &str) -> String {
    let above = device.rsplit_once('/').map_or("", |(above, _)| base(above));
    let is_of_class = above == name && ALSO_CLASSES.contains(&name);
    format!("sys/{}/{name}", if is_bus(name) && !is_of_class { "bus" } else { "class" })
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
    fn of_a_bus_and_a_class_of_one_name_the_place_says_which() {
        for (device, subsystem) in [
            ("sys/devices/platform/soc/3f200000.gpio/gpiochip0", "sys/bus/gpio"),
            ("sys/devices/platform/soc/3f200000.gpio/gpio/gpiochip0", "sys/class/gpio"),
            ("sys/devices/virtual/mei/mei0", "sys/class/mei"),
            ("sys/devices/platform/Fixed MDIO bus.0/mdio_bus/fixed-0", "sys/class/mdio_bus"),
            ("sys/devices/platform/Fixed MDIO bus.0/mdio_bus/fixed-0/fixed-0:00", "sys/bus/mdio_bus"),
            ("sys/devices/system/cpu/cpu0", "sys/bus/cpu"),
            ("sys/devices/virtual/misc/fuse", "sys/class/misc"),
        ] {
            let name = base(subsystem);
            assert_eq!(automatic_subsystem(name, device), subsystem, "{device}");
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
