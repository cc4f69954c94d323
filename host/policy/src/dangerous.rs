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

/// Every word that `dangerous:` may have, in the order of the alphabet; the page for people says what each lets pass.
const WORDS: &str = "autofs bluetooth bsg btrfs-control confidential console cpuid cuse hpet hypervisor i2c ipmi kmsg latency \
    loop-control management-engine mapper-control mcelog mem microcode msr mtd nvme-fabrics nvram port power \
    radio raid-control raw rtc run runtime-annotations sg snapshot sockets system tpm uinput uio usbmon \
    userfaultfd vfio-noiommu vga-arbiter vt watchdog";

/// Every word that `dangerous:` may have.
pub(crate) fn words() -> Vec<&'static str> {
    WORDS.split(' ').collect()
}

impl Danger {
    /// A mount's source that is a directory with a socket in it, which the host finds when it looks.
    pub const SOCKETS: Self = Self { key: "sockets", why: "has a socket in it, behind which is a service of the node" };

    /// Why it is not handed out, and what to do, where the policy does not have its word among those of `dangerous`.
    pub(crate) fn refused(self, dangerous: &[&str]) -> Option<String> {
        let Self { key, why } = self;
        (!dangerous.contains(&key)).then(|| format!("{why}; add \"dangerous: [{key}]\" if that is meant"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every word lets something pass, and everything that needs a word can have it.
    #[test]
    fn the_words_are_those_that_something_needs() {
        let sources = concat!(include_str!("dangerous/node.rs"), include_str!("containers/annotations.rs"));
        let after = |mark: &str| -> BTreeSet<&str> {
            let found = sources.split(mark).skip(1);
            found.map(|rest| rest.split('"').nth(1).unwrap()).collect()
        };
        let mut needed = after("danger!(");
        needed.extend(after("Danger { key:"));
        needed.extend(["run", "system", Danger::SOCKETS.key]);
        assert_eq!(words(), needed.into_iter().collect::<Vec<_>>());
    }
}
