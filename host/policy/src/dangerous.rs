//! What gives power over the whole node, not over one device, and so needs a word of its own in the policy.

mod mount;
mod node;

pub use mount::{dangerous_if_writable, dangerous_mount};
pub use node::dangerous_node;

/// Something that reaches beyond one device. It may be handed out only by a plugin whose policy has `key` in `dangerous:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Danger {
    /// The word that the policy must have.
    pub key: &'static str,
    /// What it gives away, to be said after its name: `is all of the node's physical memory`.
    pub why: &'static str,
}

/// Every word that `dangerous:` may have, in the order of the alphabet, and what it lets pass.
pub(crate) const KINDS: &[(&str, &str)] = &[
    ("autofs", "the control of automatic mounts"),
    ("bluetooth", "what makes Bluetooth devices"),
    ("bsg", "SCSI pass-through: any command to a disk"),
    ("btrfs-control", "the control of Btrfs file systems"),
    (
        "confidential",
        "the management of confidential computing (SEV, SGX provisioning)",
    ),
    ("console", "consoles of the node"),
    ("cpuid", "every processor's identity"),
    ("cuse", "what makes character devices"),
    ("hpet", "the timer, mapped as memory"),
    ("hypervisor", "Xen's control"),
    ("i2c", "I2C buses with every chip on them"),
    ("ipmi", "the management controller"),
    ("kmsg", "the kernel's log"),
    ("latency", "how all processors sleep"),
    ("loop-control", "what makes block devices from files"),
    ("management-engine", "the management engine of a processor's vendor"),
    ("mapper-control", "what makes device-mapper devices"),
    ("mcelog", "the record of hardware errors"),
    ("mem", "physical and kernel memory"),
    ("microcode", "the processors' microcode"),
    ("msr", "processor registers"),
    ("mtd", "flash memory, firmware included"),
    ("nvme-fabrics", "what connects disks of other machines"),
    ("nvram", "firmware and its settings"),
    ("port", "every I/O port"),
    ("power", "power management"),
    ("radio", "the switch of all radios"),
    ("raid-control", "disk controllers: any command"),
    ("raw", "what binds raw devices to disks"),
    ("rtc", "the hardware clock"),
    ("run", "mounts of or under `/run` and `/var/run`"),
    (
        "runtime-annotations",
        "annotations that are orders to the container runtime (`io.containerd.*`, `run.oci.*`, `org.systemd.property.*`, …)",
    ),
    ("sg", "SCSI generic devices: any command to a disk"),
    ("snapshot", "suspend to disk"),
    ("sockets", "mounts of a directory that has a socket in it"),
    (
        "system",
        "mounts of the node's own directories (`/etc`, `/proc`, `/sys`, `/dev`, `/boot`, `/var/lib/kubelet`, the container runtime's, …), of what has one beneath it (`/`, `/var`), and writable ones of its programs (`/usr`, `/opt`, …)",
    ),
    ("tpm", "the TPM"),
    ("uinput", "input injection"),
    ("uio", "devices driven without an iommu in between"),
    ("usbmon", "all that is sent over a USB bus"),
    ("userfaultfd", "what stops threads inside the kernel"),
    ("vfio-noiommu", "vfio groups that no iommu keeps to themselves"),
    ("vga-arbiter", "the choice of the graphics device in use"),
    ("vt", "what is on the consoles"),
    ("watchdog", "what reboots the node"),
];

impl Danger {
    /// A mount's source that is a directory with a socket in it, which the host finds when it looks.
    pub const SOCKETS: Self = Self {
        key: "sockets",
        why: "has a socket in it, behind which is a service of the node",
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every word lets something pass, and everything that needs a word can have it.
    #[test]
    fn the_words_are_those_that_something_needs() {
        let sources = concat!(
            include_str!("dangerous/node.rs"),
            include_str!("containers/annotations.rs")
        );
        let after = |mark: &str| -> BTreeSet<&str> {
            let found = sources.split(mark).skip(1);
            found.map(|rest| rest.split('"').nth(1).unwrap()).collect()
        };
        let mut needed = after("danger!(");
        needed.extend(after("Danger {\n        key:"));
        needed.extend(["run", "system", Danger::SOCKETS.key]);
        let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
        assert_eq!(words, needed.into_iter().collect::<Vec<_>>());
    }
}
