//! What gives power over the whole node, not over one device, and so needs a word of its own in the policy.

mod mount;
mod node;

pub(crate) use mount::dangerous_if_writable;
pub use mount::dangerous_mount;
pub use node::dangerous_node;

/// Something that reaches beyond one device. It may be handed out only by a plugin whose policy has `key` in `dangerous:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Danger {
    /// The word that the policy must have.
    pub key: &'static str,
    /// What it gives away, to be said after its name: `is all of the node's physical memory`.
    pub why: &'static str,
}

/// Every word that `dangerous:` may have.
pub(crate) const KEYS: &[&str] = &[
    "autofs",
    "bluetooth",
    "bsg",
    "btrfs-control",
    "confidential",
    "console",
    "cpuid",
    "cuse",
    "hpet",
    "hypervisor",
    "i2c",
    "ipmi",
    "kmsg",
    "latency",
    "loop-control",
    "management-engine",
    "mapper-control",
    "mcelog",
    "mem",
    "microcode",
    "msr",
    "mtd",
    "nvram",
    "port",
    "power",
    "radio",
    "raid-control",
    "raw",
    "rtc",
    "run",
    "runtime-annotations",
    "sg",
    "snapshot",
    "sockets",
    "system",
    "tpm",
    "uinput",
    "usbmon",
    "userfaultfd",
    "vga-arbiter",
    "vt",
    "watchdog",
];

impl Danger {
    /// A mount's source that is a directory with a socket in it, which the host finds when it looks.
    pub const SOCKETS: Self = Self {
        key: "sockets",
        why: "has a socket in it, behind which is a service of the node",
    };
}
