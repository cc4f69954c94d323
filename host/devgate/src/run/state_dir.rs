//! The state directory of the one host that serves from it.

use crate::cli::RunArgs;
use crate::confinement::Fence;
use crate::monitoring::{self, Monitored};
use crate::{exit, service};
use devgate_core::status::When;
use devgate_core::{NotLocked, Recorded, StateDirLock};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Has the state directory for this host alone. Waits while another one or a cleanup has it, and says so: in the log once, and to
/// probes all the while. Of two hosts, neither would know what the other hands out.
pub(super) fn lock(
    args: &RunArgs,
    fence: &Fence,
    runtime: &Runtime,
    stop: &CancellationToken,
) -> anyhow::Result<Option<StateDirLock>> {
    let shown = args.state_dir.display();
    let mut waiting = None;
    let lock = StateDirLock::of_host(&args.state_dir, || {
        waiting.get_or_insert_with(|| {
            let why = format!(
                "state directory {shown}: another devgate or `devgate cleanup` uses it; this one waits until that has ended, and serves \
                 nothing until then (a package and a DaemonSet on one node?)"
            );
            tracing::warn!(family = "host", "{why}");
            let telling = service::wait(why.clone());
            let since = When::now();
            let why = why.into();
            let fence = fence.clone();
            let waiting = monitoring::wait(args.monitoring.clone(), Monitored::Waits { since, why, fence });
            runtime.spawn(async { tokio::join!(telling, waiting) })
        });
        !stop.is_cancelled()
    });
    if let Some(waiting) = waiting {
        waiting.abort();
        // Its port is free once it has ended.
        let _ = runtime.block_on(waiting);
        if matches!(lock, Ok(Some(_))) {
            tracing::info!("state directory {shown}: is free; taking over");
        }
    }
    lock.or_else(|error| match error {
        NotLocked::NoFile(_) => {
            let why = format!("{error}; remove that");
            Err(exit::of_state_dir(exit::NODE, &args.state_dir, why))
        }
        // Where nothing can be kept there, nothing is given, and that is said next.
        _ => {
            tracing::warn!(family = "host", "state directory {shown}: {error}");
            Ok(None)
        }
    })
}

/// Whether nothing was ever handed out here: no kubelet will say so. What looks as if something was, such as a directory that was lost,
/// is for an admin to decide (`devgate state accept`).
pub(super) fn is_new_machine(args: &RunArgs) -> bool {
    let is_absent = || Recorded::read(&args.state_dir).is_ok_and(|recorded| recorded.is_absent);
    let has_leases = || left_behind_by_any(&args.cdi_dir);
    args.no_kubelet
        && is_absent()
        && !args.kubelet.kubelet_dir.join(devgate_device_plugin::CHECKPOINT).exists()
        && !has_leases()
}

/// Whether a directory has a file of some devgate's.
fn left_behind_by_any(dir: &std::path::Path) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(devgate_cdi::PREFIX))
}

/// Whether a directory is, or would be made, in the same file system as the root.
pub(super) fn is_unmounted(dir: &std::path::Path, root: &str) -> bool {
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
