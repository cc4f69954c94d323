//! The state directory of the one host that serves from it.

use crate::cli::RunArgs;
use crate::confinement::Fence;
use crate::handover::{self, HandedOver, Standby};
use crate::monitoring::{self, Monitored};
use crate::{exit, service};
use devgate_core::status::When;
use devgate_core::{NotLocked, Recorded, StateDirLock};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// How long one that handed over leaves the state directory to the one that it made way for, at most, and how often it looks whether that
/// has it: from then on it is the next, before one of the same container that dies and is started anew.
const AFTER_YOU: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(5));

/// Has the state directory for this host alone. Waits while another one or a cleanup has it, and says so: in the log once, and to
/// probes all the while. Of two hosts, neither would know what the other hands out.
pub(super) fn lock(
    args: &RunArgs,
    fence: &Fence,
    runtime: &Runtime,
    stop: &CancellationToken,
    (standby, handed_over): (&mut Standby, &HandedOver),
) -> anyhow::Result<Option<StateDirLock>> {
    let shown = args.state_dir.display();
    let begin = |standby: &mut Standby| {
        let why = why(args, handed_over);
        if args.take_over.is_some() {
            tracing::info!("{why}");
        } else {
            tracing::warn!(family = "host", "{why}");
        }
        let telling = service::wait(why.clone());
        let (since, why, fence, is_ready) = (When::now(), why.into(), fence.clone(), standby.is_ready());
        let waiting = monitoring::wait(args.monitoring.clone(), Monitored::Waits { since, why, fence, is_ready });
        let asking = standby.asking();
        runtime.spawn(async { tokio::join!(telling, waiting, asking) })
    };
    let mut waiting = None;
    if handed_over.fence().is_some() {
        // Probes are answered meanwhile.
        waiting = Some(begin(standby));
        let until = Instant::now() + AFTER_YOU.0;
        while Instant::now() < until && !stop.is_cancelled() && !handed_over.is_taken() {
            std::thread::sleep(AFTER_YOU.1);
        }
    }
    let lock = StateDirLock::of_host(&args.state_dir, || {
        waiting.get_or_insert_with(|| begin(standby));
        standby.pause();
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
        _ if handover::answers(args) => {
            let why = format!("{error}; another devgate serves, and this one must not beside it");
            Err(exit::of_state_dir(exit::NODE, &args.state_dir, why))
        }
        // Where nothing can be kept there, nothing is given, and that is said next.
        _ => {
            tracing::warn!(family = "host", "state directory {shown}: {error}");
            Ok(None)
        }
    })
}

/// What a host without the state directory waits for.
fn why(args: &RunArgs, handed_over: &HandedOver) -> String {
    let what = if handed_over.is_so() {
        "this one handed over to another devgate, and serves again where that one ends"
    } else if args.take_over.is_some() {
        "another devgate serves; this one takes over where it does as well, or once that has ended"
    } else {
        "another devgate or `devgate cleanup` uses it; this one waits until that has ended, and serves nothing until then (a package and a \
         DaemonSet on one node?)"
    };
    format!("state directory {}: {what}", args.state_dir.display())
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
