//! Nodes that give power over the whole node, not over one device.

use devgate_model::{NodeKind, NodeNumber};

macro_rules! refused {
    ($reason:literal) => {
        Some(concat!(
            $reason,
            ", and needs a \"dangerous:\" grant, which this version does not serve yet"
        ))
    };
}

/// Why a node is refused whatever else the policy says; nothing if it is an ordinary one.
///
/// `class` and `name` are those of the kernel device that the node belongs to, where they are known. By number or class
/// and never by path: a path says what somebody called it. Numbers are those of the kernel's
/// `Documentation/admin-guide/devices.txt` and `include/linux/miscdevice.h`; where the kernel gives them out as it
/// likes, the class or the name decides.
#[must_use]
pub fn dangerous_node(class: Option<&str>, name: Option<&str>, number: NodeNumber) -> Option<&'static str> {
    by_number(number).or_else(|| by_class(class?, name.unwrap_or_default()))
}

fn by_number(number: NodeNumber) -> Option<&'static str> {
    match (number.kind, number.major, number.minor) {
        (NodeKind::Character, 1, minor) => memory(minor),
        (NodeKind::Character, 4, 0..=63) => refused!("is a console of the node"),
        (NodeKind::Character, 5, 1) => refused!("is the console of the node"),
        (NodeKind::Character, 5, 3) => refused!("writes to the kernel's log"),
        (NodeKind::Character, 7, _) => refused!("shows what is on the node's consoles"),
        (NodeKind::Character, 10, minor) => misc(minor),
        (NodeKind::Character, 21, _) => refused!("sends any SCSI command to a disk"),
        (NodeKind::Character, 89, _) => refused!("reaches every chip on an I2C bus"),
        (NodeKind::Character, 90, _) | (NodeKind::Block, 31, _) => {
            refused!("is flash memory of the node, its firmware included")
        }
        (NodeKind::Character, 162, _) => refused!("binds raw devices to disks of the node"),
        (NodeKind::Character, 202, _) => refused!("reads and writes processor registers"),
        (NodeKind::Character, 203, _) => refused!("reads every processor's identity"),
        _ => None,
    }
}

/// Minors of major 1.
fn memory(minor: u32) -> Option<&'static str> {
    match minor {
        1 => refused!("is all of the node's physical memory"),
        2 | 6 | 12 => refused!("is the kernel's memory"),
        4 => refused!("is every I/O port of the node"),
        11 => refused!("is the kernel's log"),
        _ => None,
    }
}

/// Minors of major 10.
fn misc(minor: u32) -> Option<&'static str> {
    match minor {
        130 | 212..=215 => refused!("reboots the node"),
        134 => refused!("controls the node's power"),
        135 | 136 => refused!("sets the node's clock"),
        137 => refused!("makes Bluetooth devices"),
        144 => refused!("is the node's firmware settings"),
        152 | 160 => refused!("is the node's firmware"),
        184 => refused!("changes the processors' microcode"),
        203 => refused!("makes devices that any process of the node would use"),
        220..=222 => refused!("sends any command to a disk controller"),
        223 | 239 | 240 => refused!("types and clicks for the node's users"),
        224 => refused!("is the node's trust anchor"),
        228 => refused!("is the node's timer, mapped as memory"),
        231 => refused!("suspends the node and reads all of its memory"),
        234 => refused!("manages the node's file systems"),
        235 => refused!("controls the node's automatic mounts"),
        236 => refused!("makes and removes block devices of the node"),
        237 => refused!("makes block devices from the node's files"),
        242 => refused!("switches the node's radios"),
        _ => None,
    }
}

fn by_class(class: &str, name: &str) -> Option<&'static str> {
    match class {
        "mem" => match name {
            "mem" => memory(1),
            "kmem" | "oldmem" => memory(2),
            "port" => memory(4),
            "kmsg" => memory(11),
            _ => None,
        },
        "misc" => by_misc_name(name),
        "msr" => refused!("reads and writes processor registers"),
        "cpuid" => refused!("reads every processor's identity"),
        "scsi_generic" | "bsg" => refused!("sends any SCSI command to a disk"),
        "i2c-dev" => refused!("reaches every chip on an I2C bus"),
        "mtd" => refused!("is flash memory of the node, its firmware included"),
        "tpm" | "tpmrm" => refused!("is the node's trust anchor"),
        "ipmi" => refused!("controls the node's power and its management controller"),
        "watchdog" => refused!("reboots the node"),
        "rtc" => refused!("sets the node's clock"),
        "vc" => refused!("shows what is on the node's consoles"),
        "vtconsole" | "raw" | "mei" | "usbmon" => refused!("reaches beyond one device of the node"),
        "tty" => {
            let number = name.strip_prefix("tty").filter(|rest| !rest.is_empty());
            let console = name == "console" || number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
            if console {
                refused!("is a console of the node")
            } else {
                None
            }
        }
        _ => None,
    }
}

/// Misc devices whose minor the kernel gives out as it likes, or that a tree names before their number is known.
fn by_misc_name(name: &str) -> Option<&'static str> {
    match name {
        "watchdog" => misc(130),
        "rtc" | "efirtc" => misc(135),
        "nvram" => misc(144),
        "microcode" => misc(184),
        "cuse" => misc(203),
        "mpt2ctl" | "mpt3ctl" | "mptctl" | "megaraid_sas_ioctl" | "megadev0" => misc(220),
        "uinput" | "uhid" | "userio" => misc(223),
        "tpm0" => misc(224),
        "hpet" => misc(228),
        "snapshot" => misc(231),
        "btrfs-control" => misc(234),
        "autofs" => misc(235),
        "device-mapper" | "mapper!control" => misc(236),
        "loop-control" => misc(237),
        "vhci" => misc(137),
        "rfkill" => misc(242),
        "userfaultfd" => refused!("stops threads inside the kernel, which exploits need"),
        "cpu_dma_latency" => refused!("changes how all processors of the node sleep"),
        "vga_arbiter" => refused!("decides which graphics device of the node is in use"),
        "sev" | "sgx_provision" => refused!("manages the node's confidential computing"),
        "mcelog" => refused!("takes the node's record of hardware errors"),
        "xen!privcmd" | "xen!xenbus" => refused!("controls the hypervisor"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn character(major: u32, minor: u32) -> NodeNumber {
        NodeNumber {
            kind: NodeKind::Character,
            major,
            minor,
        }
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
            assert!(
                reason.is_some_and(|reason| reason.contains("dangerous:")),
                "{major}:{minor}"
            );
            // A name does not make it harmless.
            assert!(dangerous_node(Some("misc"), Some("fuse"), character(major, minor)).is_some());
        }
        let flash = NodeNumber {
            kind: NodeKind::Block,
            major: 31,
            minor: 0,
        };
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
            ("misc", "cpu_dma_latency"),
            ("misc", "device-mapper"),
            ("misc", "loop-control"),
            ("misc", "uinput"),
        ] {
            assert!(
                dangerous_node(Some(class), Some(name), character(511, 511)).is_some(),
                "{class} {name}"
            );
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
            ("misc", "hw_random", 10, 183),
            ("tty", "ttyS0", 4, 64),
            ("tty", "ttyUSB0", 188, 0),
            ("tty", "tty", 5, 0),
            ("drm", "card0", 226, 0),
            ("infiniband_verbs", "uverbs0", 231, 192),
            ("nvidia", "nvidia0", 195, 0),
        ] {
            assert_eq!(
                dangerous_node(Some(class), Some(name), character(major, minor)),
                None,
                "{name}"
            );
            assert_eq!(dangerous_node(None, None, character(major, minor)), None, "{name}");
        }
        let disk = |major, minor| NodeNumber {
            kind: NodeKind::Block,
            major,
            minor,
        };
        for number in [disk(7, 0), disk(1, 1), disk(8, 0), disk(10, 130), disk(21, 0)] {
            assert_eq!(dangerous_node(Some("block"), Some("loop0"), number), None, "{number}");
        }
    }
}
