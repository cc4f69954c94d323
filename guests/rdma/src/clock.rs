//! A moment: the host's clock, and which boot it is of.

use devgate_sdk::{clock, files};

/// A moment of one boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Empty where the policy does not grant it.
    pub(crate) boot: String,
    /// Seconds since boot.
    pub(crate) second: u64,
}

/// Now.
pub(crate) fn now() -> Moment {
    let boot = files::text("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Moment { boot, second: clock::now() / 1_000 }
}
