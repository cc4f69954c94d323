//! From one host of a node to the next, with the gap of a registration and not of a pod's start.
//!
//! ```text
//!  a standby (--take-over)                               the host that serves
//!  waits for the state directory
//!  its trial: loads and asks every component
//!                               ── GET /status ────────►  what it offers
//!  offers as much
//!                               ── POST /take-over ────►  finishes calls, and begins anew in its place: stands by,
//!  has the state directory; registers                     waiting for the state directory, and ready as far as probes go
//!  serves well within 15 s, and
//!  for 8 s, or ends ────────────────────────────────────► has it again, and keeps it from that standby for 10 minutes, then twice that, …
//! ```
//!
//! Two are never registered at once: who has the lock of the state directory serves. The one that handed over is the same process of the
//! same container, begun anew by `execve`, so that no thread or file of what it was is left. It answers to probes as ready, since the
//! controller of a DaemonSet takes away a pod that is not ready beside a newer one; a ready one stays until the newer one was ready for a
//! while. After 30 s it is ready no more, so that a controller that has missed that moment looks again.

mod handed_over;
mod less;
mod standby;
mod trial;

pub(crate) use handed_over::HandedOver;
pub(crate) use standby::Standby;
pub(crate) use trial::TriedPlugins;

use crate::cli::RunArgs;
use crate::confinement::Fence;
use crate::exit;
use crate::monitoring::Monitored;
use crate::policy::Texts;
use devgate_types::PluginName;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What the host that has the state directory is asked on the socket in it, by root alone.
pub(crate) const PATH: &str = "/take-over";

/// How long a host that came back does not hand over to the same standby again the first time.
const KEEPS: Duration = Duration::from_secs(600);
/// The most doublings of that.
const MAX_DOUBLINGS: u32 = 7;
/// How long a host that took over may need until it serves well.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How long it must serve well then: less than a rollout waits until it ends the one before (`minReadySeconds: 10`).
const STAYS: Duration = Duration::from_secs(8);
/// How often it is looked whether it does.
const LOOK: Duration = Duration::from_millis(250);
/// The longest id of a standby.
const MAX_ID: usize = 64;
/// Until the answer is on its way to who asked, and the kernel has let go of what tells of the node.
const ANSWERED: Duration = Duration::from_millis(60);

/// What a host that serves hands over by.
pub(crate) struct Handover {
    stop: CancellationToken,
    in_force: watch::Receiver<Arc<Texts>>,
    fence: Fence,
    handed_over: HandedOver,
    /// From which standby it keeps what it serves, and until when.
    keeps: Option<(String, Instant)>,
    has_handed_over: AtomicBool,
    /// Cancelled shortly before `stop` is.
    begins: CancellationToken,
}

/// Why a host goes on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotHandedOver {
    #[error("it is a service of the node, which hands over to no pod: end it first")]
    Service,
    #[error("this one took over before and did not stay; it may again in {0} min, another pod at once")]
    CameBack(u64),
    #[error("a standby says which one it is, in letters, digits and dashes")]
    NoId,
    #[error("it ends already")]
    Ends,
    #[error("a read of the node for plugin {0} hangs in the kernel, and it could not end")]
    Hangs(String),
    #[error("{0}")]
    Waits(Arc<str>),
    #[error("what it would come back with cannot be kept: {0}")]
    NotKept(#[from] std::io::Error),
}

impl Handover {
    /// Of a host that has just got the state directory. One that handed over before has it back.
    pub(crate) fn new(
        handed_over: HandedOver,
        stop: CancellationToken,
        in_force: watch::Receiver<Arc<Texts>>,
        fence: Fence,
    ) -> Arc<Self> {
        let keeps = handed_over.to().map(|(id, times)| {
            let keeps = KEEPS * 2_u32.pow(times.saturating_sub(1).min(MAX_DOUBLINGS));
            tracing::warn!(
                family = "host",
                "the devgate that took over has ended; this one serves again, and does not hand over to that one for {} min",
                keeps.as_secs() / 60
            );
            (id.to_owned(), Instant::now() + keeps)
        });
        let (has_handed_over, begins) = (AtomicBool::new(false), CancellationToken::new());
        Arc::new(Self { stop, in_force, fence, handed_over, keeps, has_handed_over, begins })
    }

    /// Has this host finish what is under way and make way for the standby that has this id. Fails with why it goes on.
    pub(crate) fn hand_over(&self, id: &str) -> Result<(), NotHandedOver> {
        if !(1..=MAX_ID).contains(&id.len()) || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(NotHandedOver::NoId);
        }
        if std::env::var_os("NOTIFY_SOCKET").is_some() {
            return Err(NotHandedOver::Service);
        }
        let keeps = self.keeps.as_ref().filter(|(from, _)| from == id);
        if let Some(left) = keeps.and_then(|(_, until)| until.checked_duration_since(Instant::now())) {
            return Err(NotHandedOver::CameBack(left.as_secs().div_ceil(60)));
        }
        if self.stop.is_cancelled() || self.has_handed_over.swap(true, Ordering::SeqCst) {
            return Err(NotHandedOver::Ends);
        }
        let in_force = Arc::clone(&self.in_force.borrow());
        if let Err(error) = self.handed_over.note(id, &in_force, &self.fence) {
            self.has_handed_over.store(false, Ordering::SeqCst);
            return Err(error.into());
        }
        tracing::info!("handing over to another devgate; allocations under way are finished");
        self.begins.cancel();
        let stop = self.stop.clone();
        tokio::spawn(async move {
            tokio::time::sleep(ANSWERED).await;
            stop.cancel();
        });
        Ok(())
    }

    /// Waits until it is about to make way.
    pub(crate) async fn begins(&self) {
        self.begins.cancelled().await;
    }

    /// Whether it made way.
    pub(crate) fn has_handed_over(&self) -> bool {
        self.has_handed_over.load(Ordering::SeqCst)
    }
}

/// Waits until a host that took over is seen not to serve well. Ends never where it does in time, and for a while. Plugins that failed in
/// its trial may.
pub(crate) async fn gives_up(monitored: Monitored, may_fail: BTreeSet<PluginName>) -> anyhow::Error {
    let begun = Instant::now();
    let mut well_since = None;
    loop {
        tokio::time::sleep(LOOK).await;
        let report = monitored.report();
        let Some(why) = report.speaks_against(&may_fail) else {
            let since: Instant = *well_since.get_or_insert_with(Instant::now);
            if since.elapsed() > STAYS {
                tracing::info!("took over, and serves well since {:.1} s after", (since - begun).as_secs_f64());
                return std::future::pending().await;
            }
            continue;
        };
        well_since = None;
        if begun.elapsed() > TIMEOUT {
            let why =
                format!("does not serve well {TIMEOUT:?} after it took over, and makes way for the one before: {why}");
            return exit::with_code(exit::FAILED, why);
        }
    }
}

/// Whether the host that serves answers, so that one without the lock must not serve beside it.
pub(crate) fn answers(args: &RunArgs) -> bool {
    args.take_over.is_some()
        && std::os::unix::net::UnixStream::connect(args.state_dir.join(devgate_core::HOST_SOCKET)).is_ok()
}
