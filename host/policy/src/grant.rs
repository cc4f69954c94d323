//! Which of the contract's interfaces a plugin may import.

use crate::PluginPolicy;
use devgate_types::Grant;

impl PluginPolicy {
    /// Whether this plugin may import an interface of the contract, by its bare name: `hardware`, `host-paths`; or a package of
    /// WASI that the policy can grant: `wasi:clocks`, `wasi:random`.
    #[must_use]
    pub fn grants(&self, interface: &str) -> Grant {
        let when = |granted, key| {
            if granted { Grant::Granted } else { Grant::NotGranted { key } }
        };
        match interface {
            "types" | "config" | "log" | "clock" => Grant::Always,
            "hardware" | "uevents" => when(!self.hardware.is_empty(), "hardware"),
            "host-paths" => when(!self.host_nodes.is_empty() || !self.containers.mounts.is_empty(), "host-nodes"),
            "files" => when(!self.files.is_empty(), "files"),
            "kernel-log" => when(!self.kernel_log.is_empty(), "kernel-log"),
            "control" => when(!self.control.is_empty(), "control"),
            "state" => when(self.state, "state"),
            "wasi:clocks" => when(self.wasi.contains(&"clocks"), "wasi"),
            "wasi:random" => when(self.wasi.contains(&"random"), "wasi"),
            _ => Grant::Unknown,
        }
    }
}
