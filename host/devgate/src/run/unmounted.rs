//! Directories that other programs of the node read, and that are none of the node's.

use crate::cli::{Edits, RunArgs};
use devgate_policy::{PluginPolicy, Policy};

/// Says which of those that the policy or an option has written are in the root file system.
pub(super) fn say(args: &RunArgs, policy: &Policy) {
    let tells_multus = |plugin: &PluginPolicy| plugin.containers.device_info;
    let labels = |plugin: &PluginPolicy| !plugin.labels.is_empty();
    for (key, is_used, dir, option) in [
        ("device-info", policy.plugins.values().any(tells_multus), &args.device_info_dir, "device-info-dir"),
        ("labels", policy.plugins.values().any(labels), &args.nfd_dir, "nfd-dir"),
        ("CDI", args.no_kubelet || args.edits == Edits::Cdi, &args.cdi_dir, "cdi-dir"),
    ] {
        if is_used && is_unmounted(dir, "/") {
            tracing::warn!(
                "{key}: {} is in the root file system: where the host runs in a container, mount the node's directory there, or no other program \
                 reads what is written (--{option})",
                dir.display()
            );
        }
    }
}

/// Whether a directory is, or would be made, in the same file system as the root.
fn is_unmounted(dir: &std::path::Path, root: &str) -> bool {
    use std::os::unix::fs::MetadataExt;
    let of = |path: &std::path::Path| std::fs::metadata(path).ok().map(|look| look.dev());
    dir.ancestors().find_map(of) == of(root.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_the_root_file_system_is_told_from_a_mounted_one() {
        assert!(is_unmounted("/not-there/at/all".as_ref(), "/"));
        assert!(!is_unmounted("/proc/not-there".as_ref(), "/"));
        assert!(is_unmounted("/proc/not-there".as_ref(), "/proc"));
    }
}
