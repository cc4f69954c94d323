//! Nodes that give power over the whole node.

use super::Danger;
use devgate_types::{NodeKind, NodeNumber};

macro_rules! danger {
    ($key:literal, $why:literal) => {
        Some(Danger { key: $key, why: $why })
    };
}

/// What a node gives away beyond one device; nothing if it is an ordinary one.
///
/// `class` and `name` are those of the kernel device that the node belongs to, where they are known. By number or class
/// and never by path: a path says what it was called. Numbers are those of the kernel's
/// `Documentation/admin-guide/devices.txt` and `include/linux/miscdevice.h`; where the kernel gives them out as it
/// likes, the class or the name decides.
#[must_use]
pub fn dangerous_node(class: Option<&str>, name: Option<&str>, number: NodeNumber) -> Option<Danger> {
    by_number(number).or_else(|| by_class(class?, name.unwrap_or_default()))
}

fn by_number(number: NodeNumber) -> Option<Danger> {
    match (number.kind, number.major, number.minor) {
        (NodeKind::Character, 1, minor) => memory(minor),
        (NodeKind::Character, 4, 0..=63) => danger!("console", "is a console of the node"),
        (NodeKind::Character, 5, 1) => danger!("console", "is the console of the node"),
        (NodeKind::Character, 5, 3) => danger!("kmsg", "writes to the kernel's log"),
        (NodeKind::Character, 7, _) => danger!("vt", "shows what is on the node's consoles"),
        (NodeKind::Character, 10, minor) => misc(minor),
        (NodeKind::Character, 21, _) => danger!("sg", "sends any SCSI command to a disk"),
        (NodeKind::Character, 89, _) => danger!("i2c", "reaches every chip on an I2C bus"),
        (NodeKind::Character, 90, _) | (NodeKind::Block, 31, _) => {
            danger!("mtd", "is flash memory of the node, its firmware included")
        }
        (NodeKind::Character, 162, _) => danger!("raw", "binds raw devices to disks of the node"),
        (NodeKind::Character, 202, _) => danger!("msr", "reads and writes processor registers"),
        (NodeKind::Character, 203, _) => danger!("cpuid", "reads every processor's identity"),
        _ => None,
    }
}

/// Minors of major 1.
fn memory(minor: u32) -> Option<Danger> {
    match minor {
        1 => danger!("mem", "is all of the node's physical memory"),
        2 | 6 | 12 => danger!("mem", "is the kernel's memory"),
        4 => danger!("port", "is every I/O port of the node"),
        11 => danger!("kmsg", "is the kernel's log"),
        _ => None,
    }
}

/// Minors of major 10.
fn misc(minor: u32) -> Option<Danger> {
    match minor {
        130 | 212..=215 => danger!("watchdog", "reboots the node"),
        134 => danger!("power", "controls the node's power"),
        135 | 136 => danger!("rtc", "sets the node's clock"),
        137 => danger!("bluetooth", "makes Bluetooth devices"),
        144 => danger!("nvram", "is the node's firmware settings"),
        152 | 160 => danger!("nvram", "is the node's firmware"),
        184 => danger!("microcode", "changes the processors' microcode"),
        203 => danger!("cuse", "makes devices that any process of the node would use"),
        220..=222 => danger!("raid-control", "sends any command to a disk controller"),
        223 | 239 | 240 => danger!("uinput", "types and clicks for the node's users"),
        224 => danger!("tpm", "is the node's trust anchor"),
        228 => danger!("hpet", "is the node's timer, mapped as memory"),
        231 => danger!("snapshot", "suspends the node and reads all of its memory"),
        234 => danger!("btrfs-control", "manages the node's file systems"),
        235 => danger!("autofs", "controls the node's automatic mounts"),
        236 => danger!("mapper-control", "makes and removes block devices of the node"),
        237 => danger!("loop-control", "makes block devices from the node's files"),
        242 => danger!("radio", "switches the node's radios"),
        _ => None,
    }
}

/// Devices whose number the kernel gives out as it likes, or that a tree names before their number is known.
fn by_class(class: &str, name: &str) -> Option<Danger> {
    let character = |major, minor| {
        let kind = NodeKind::Character;
        by_number(NodeNumber { kind, major, minor })
    };
    match (class, name) {
        // Of the Raspberry Pi's kernel: memory without a bound.
        ("mem", "mem") | ("vc-mem", _) => memory(1),
        ("mem", "kmem" | "oldmem") => memory(2),
        ("mem", "port") => memory(4),
        ("mem", "kmsg") => memory(11),
        ("msr", _) => character(202, 0),
        ("cpuid", _) => character(203, 0),
        ("scsi_generic", _) => character(21, 0),
        ("i2c-dev", _) => character(89, 0),
        ("mtd", _) => character(90, 0),
        ("raw", _) => character(162, 0),
        ("vc", _) => character(7, 0),
        ("tty", _) if is_console(name) => character(4, 0),
        ("tpm" | "tpmrm", _) | ("misc", "tpm0") => misc(224),
        ("watchdog", _) | ("misc", "watchdog") => misc(130),
        ("rtc", _) | ("misc", "rtc" | "efirtc") => misc(135),
        ("misc", "vhci") => misc(137),
        // What Dell's firmware is asked and told, its settings among it.
        ("misc", "nvram" | "wmi!dell-smbios") => misc(144),
        ("misc", "microcode") => misc(184),
        ("misc", "cuse") => misc(203),
        ("misc", "mpt2ctl" | "mpt3ctl" | "mptctl" | "megaraid_sas_ioctl" | "megadev0") => misc(220),
        ("misc", "uinput" | "uhid" | "userio") => misc(223),
        ("misc", "hpet") => misc(228),
        ("misc", "snapshot") => misc(231),
        ("misc", "btrfs-control") => misc(234),
        ("misc", "autofs") => misc(235),
        ("misc", "device-mapper" | "mapper!control") => misc(236),
        ("misc", "loop-control") => misc(237),
        ("misc", "rfkill") => misc(242),
        ("misc", "userfaultfd") => danger!("userfaultfd", "stops threads inside the kernel, which exploits need"),
        ("misc", "cpu_dma_latency" | "cpu_wakeup_latency") => {
            danger!("latency", "changes how all processors of the node sleep")
        }
        ("misc", "vga_arbiter") => danger!("vga-arbiter", "decides which graphics device of the node is in use"),
        ("misc", "sev" | "sgx_provision") => danger!("confidential", "manages the node's confidential computing"),
        ("misc", "mcelog") => danger!("mcelog", "takes the node's record of hardware errors"),
        ("misc", "xen!privcmd" | "xen!xenbus") => danger!("hypervisor", "controls the hypervisor"),
        // The parts in the kernel of VirtualBox and VMware, which run what they are given there.
        ("misc", "vboxdrv" | "vmmon") => danger!("hypervisor", "runs code in the node's kernel"),
        ("tee", _) if name.starts_with("teepriv") => danger!("confidential", "is the node's part of its secure world"),
        ("bsg", _) => danger!("bsg", "sends any SCSI command to a disk"),
        ("ipmi", _) => danger!("ipmi", "controls the node's power and its management controller"),
        ("vfio", _) if name.starts_with("noiommu-") => {
            danger!("vfio-noiommu", "drives hardware that reaches all of the node's memory")
        }
        ("nvme-fabrics", _) => danger!("nvme-fabrics", "connects disks of other machines to the node"),
        ("uio", _) => danger!("uio", "drives hardware that can reach all of the node's memory"),
        ("vtconsole", _) => danger!("vt", "decides what is on the node's consoles"),
        ("mei", _) => danger!("management-engine", "commands the node's management engine"),
        ("bcm2708_vcio", _) => danger!("management-engine", "commands the processor that started the node"),
        ("usbmon", _) => danger!("usbmon", "shows all that is sent over a USB bus"),
        _ => None,
    }
}

fn is_console(name: &str) -> bool {
    let number = name.strip_prefix("tty").filter(|rest| !rest.is_empty());
    name == "console" || number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn character(major: u32, minor: u32) -> NodeNumber {
        NodeNumber { kind: NodeKind::Character, major, minor }
    }

    #[test]
    fn nodes_with_power_over_the_node_are_refused_by_number_alone() {
        for (major, minor) in [
            (1, 1),
            (1, 2),
            (1, 4),
            (1, 11),
            (4, 0),
            (4, 63),
            (5, 1),
            (7, 0),
            (10, 130),
            (10, 144),
            (10, 223),
            (10, 224),
            (10, 228),
            (10, 231),
            (10, 234),
            (10, 235),
            (10, 236),
            (10, 237),
            (10, 239),
            (21, 3),
            (89, 1),
            (90, 0),
            (202, 0),
            (203, 0),
        ] {
            let reason = dangerous_node(None, None, character(major, minor));
            assert!(reason.is_some(), "{major}:{minor}");
            // A name does not make it harmless.
            assert!(dangerous_node(Some("misc"), Some("fuse"), character(major, minor)).is_some());
        }
        let flash = NodeNumber { kind: NodeKind::Block, major: 31, minor: 0 };
        assert!(dangerous_node(None, None, flash).is_some());
    }

    #[test]
    fn nodes_with_power_over_the_node_are_refused_by_class_and_name() {
        for (class, name) in [
            ("mem", "mem"),
            ("mem", "kmsg"),
            ("msr", "msr0"),
            ("scsi_generic", "sg0"),
            ("bsg", "0:0:0:0"),
            ("i2c-dev", "i2c-1"),
            ("mtd", "mtd0"),
            ("tpm", "tpm0"),
            ("tpmrm", "tpmrm0"),
            ("ipmi", "ipmi0"),
            ("watchdog", "watchdog1"),
            ("rtc", "rtc0"),
            ("vc", "vcs1"),
            ("tty", "console"),
            ("tty", "tty0"),
            ("tty", "tty63"),
            ("misc", "userfaultfd"),
            ("vfio", "noiommu-42"),
            ("misc", "cpu_dma_latency"),
            ("misc", "cpu_wakeup_latency"),
            ("misc", "wmi!dell-smbios"),
            ("misc", "vboxdrv"),
            ("misc", "vmmon"),
            ("tee", "teepriv0"),
            ("vc-mem", "vc-mem"),
            ("bcm2708_vcio", "vcio"),
            ("misc", "device-mapper"),
            ("misc", "loop-control"),
            ("nvme-fabrics", "ctl"),
            ("uio", "uio0"),
            ("misc", "uinput"),
        ] {
            assert!(dangerous_node(Some(class), Some(name), character(511, 511)).is_some(), "{class} {name}");
        }
    }

    #[test]
    fn ordinary_nodes_are_not() {
        for (class, name, major, minor) in [
            ("mem", "null", 1, 3),
            ("mem", "zero", 1, 5),
            ("mem", "full", 1, 7),
            ("mem", "random", 1, 8),
            ("mem", "urandom", 1, 9),
            ("misc", "fuse", 10, 229),
            ("misc", "kvm", 10, 232),
            ("misc", "tun", 10, 200),
            ("misc", "vhost-net", 10, 238),
            ("misc", "vhost-vsock", 10, 241),
            ("misc", "vfio", 10, 196),
            ("vfio", "42", 511, 42),
            ("misc", "hw_random", 10, 183),
            ("tty", "ttyS0", 4, 64),
            ("tty", "ttyUSB0", 188, 0),
            ("tty", "tty", 5, 0),
            ("drm", "card0", 226, 0),
            ("misc", "vboxdrvu", 10, 56),
            ("tee", "tee0", 509, 0),
            ("bcm2835-gpiomem", "gpiomem", 239, 0),
            ("infiniband_verbs", "uverbs0", 231, 192),
            ("acme", "acme0", 195, 0),
        ] {
            assert_eq!(dangerous_node(Some(class), Some(name), character(major, minor)), None, "{name}");
            assert_eq!(dangerous_node(None, None, character(major, minor)), None, "{name}");
        }
        let disk = |major, minor| NodeNumber { kind: NodeKind::Block, major, minor };
        for number in [disk(7, 0), disk(1, 1), disk(8, 0), disk(10, 130), disk(21, 0)] {
            assert_eq!(dangerous_node(Some("block"), Some("loop0"), number), None, "{number}");
        }
    }
}
