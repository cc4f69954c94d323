//! The kubelet's front end: every offered resource is a device plugin of its own, with its own socket, server and
//! registration, and fails on its own.
//!
//! ```text
//!  Offers ─┬─ resource ─┬─ listing ───────► ListAndWatch      one message per change, newest only
//!          │            └─ registration ──► incarnation 1, 2, … (socket, server, Register)
//!          ├─ resource …
//!          └─ directory (inotify, poll) ──► "kubelet.sock is new", "your socket is gone"
//! ```

mod answer;
mod directory;
pub(crate) mod encoded_list;
#[doc(hidden)]
pub mod fuzz;
mod listing;
mod lists;
mod presence;
mod register;
mod registration;
mod service;
mod siblings;
mod socket;
mod watched;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use devgate_core::offer::{Offer, Offers};
use devgate_types::{Again, Bucket, LogThrottle, ResourceName};
use tokio::sync::watch;
use tokio::task::{self, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::allocating::Allocating;
use devgate_kubelet::api;
use directory::Sight;
use listing::Listing;
pub(crate) use register::cause;
use registration::Registration;
pub use socket::left_behind;
pub use watched::{FrontEndWatch, Hidden, Phase, RegistrationStatus};

/// When a failure that lasts is logged again.
pub(crate) const AGAIN: Again = Again::Growing(Duration::from_secs(60), Duration::from_secs(3_600));

/// For the failures of one thing, of which the last is remembered.
pub(crate) fn failures() -> LogThrottle {
    LogThrottle::new(1, Bucket::new(64, Duration::from_secs(1)))
}

/// Where the kubelet is and how patient to be with it. The defaults are for production; tests shorten the times.
#[derive(Debug, Clone)]
pub struct FrontEndConfig {
    /// The directory of `kubelet.sock`. At most 77 bytes, because a unix socket's path has at most 107.
    pub kubelet_dir: PathBuf,
    /// How often to look at the directory although inotify says nothing. 1 s.
    pub poll: Duration,
    /// Whether to use inotify at all, beside the poll.
    pub inotify: bool,
    /// The least time between two lists of one resource; the first change after a pause goes out at once. 500 ms.
    pub coalesce: Duration,
    /// How long the kubelet may take to answer `Register`, in which it dials us and asks for options. 20 s, at least the
    /// 15 s that its own dial and a little more need.
    pub register_timeout: Duration,
    /// How long after a registration the kubelet may take to open its stream, which it does at once. 3 s: a registration
    /// that was lost with a kubelet that restarted at that moment is made again within the 5 s of conformance line 49.
    pub stream_wait: Duration,
    /// The first delay before another attempt to register; doubles, with jitter. 200 ms.
    pub retry: Duration,
    /// The longest such delay, and how long a registration must stand for the next delay to be the first again. 30 s.
    pub retry_most: Duration,
    /// The delay after a refusal that will not change by itself, such as an unsupported version. 5 min.
    pub retry_refused: Duration,
    /// The longest that `Allocate` may take, behind the plugin's own deadline. The kubelet has no deadline and admits no
    /// other pod meanwhile. 10 s.
    pub allocate_timeout: Duration,
    /// The longest that `PreStartContainer` may take. 25 s: the kubelet gives up after 30.
    pub start_timeout: Duration,
    /// The longest that `GetPreferredAllocation` may take before it answers with no opinion. 1 s.
    pub choose_timeout: Duration,
    /// How long calls in flight may take to finish at shutdown. 5 s.
    pub drain: Duration,
    /// Whether the kubelet is told to ask `GetPreferredAllocation`. Answered in any case. On.
    pub preferred_allocation: bool,
    /// Where to note what becomes of every resource.
    pub watch: FrontEndWatch,
    /// Where calls of `Allocate` are counted.
    pub allocating: Allocating,
}

impl FrontEndConfig {
    /// The defaults, for a kubelet whose device-plugin directory is `kubelet_dir` (usually
    /// `/var/lib/kubelet/device-plugins`).
    #[must_use]
    pub fn new(kubelet_dir: PathBuf) -> Self {
        Self {
            kubelet_dir,
            poll: Duration::from_secs(1),
            inotify: true,
            coalesce: Duration::from_millis(500),
            register_timeout: Duration::from_secs(20),
            stream_wait: Duration::from_secs(3),
            retry: Duration::from_millis(200),
            retry_most: Duration::from_secs(30),
            retry_refused: Duration::from_secs(300),
            allocate_timeout: Duration::from_secs(10),
            start_timeout: Duration::from_secs(25),
            choose_timeout: Duration::from_secs(1),
            drain: Duration::from_secs(5),
            preferred_allocation: true,
            watch: FrontEndWatch::default(),
            allocating: Allocating::default(),
        }
    }

    fn options(&self, offer: &dyn Offer) -> api::DevicePluginOptions {
        api::DevicePluginOptions {
            pre_start_required: offer.starts(),
            get_preferred_allocation_available: self.preferred_allocation,
        }
    }
}

/// Why the front end ended, or never began.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontEndError {
    /// The sockets would have no room.
    #[error(
        "kubelet directory {} has too long a path: a unix socket in it would exceed 107 bytes; mount it at a path of \
         at most {} bytes",
        .0.display(),
        socket::LONGEST_DIR
    )]
    PathTooLong(PathBuf),
    /// The directory was deleted while it was mounted here; the kubelet's new one is out of sight.
    #[error("kubelet directory {} was deleted under its mount; restart, so that the new one is mounted", .0.display())]
    DirectoryDeleted(PathBuf),
    /// A bug of the host ended what serves a resource; the kubelet would not be answered for it any more.
    #[error("host fault: resource {resource}: its task ended: {why}; ending, so that a restart serves it again")]
    TaskEnded {
        /// The resource.
        resource: ResourceName,
        /// How it ended.
        why: String,
    },
}

/// Serves and registers every resource in `offers`, now and later, until `shutdown`; then closes all of them, with their
/// calls in flight finished and their sockets removed.
///
/// The kubelet may come, go and be replaced at any time. Dropping the future closes everything at once. Fails when the directory's path is
/// too long for sockets, when it was deleted under its mount, or when the task of a resource ended (all resources are closed then, too).
pub async fn serve(
    config: FrontEndConfig,
    mut offers: Offers,
    shutdown: CancellationToken,
) -> Result<(), FrontEndError> {
    if socket::room(&config.kubelet_dir).is_none() {
        return Err(FrontEndError::PathTooLong(config.kubelet_dir));
    }
    socket::sweep(&config.kubelet_dir).await;
    let (out, sight) = watch::channel(directory::look(&config.kubelet_dir));
    let mut looked = sight.clone();
    let directory = directory::watch(config.kubelet_dir.clone(), config.poll, config.inotify, out);
    let mut directory = Box::pin(directory);
    let mut resources = Resources {
        config: Arc::new(config),
        sight,
        live: BTreeMap::new(),
        tasks: JoinSet::new(),
        owners: HashMap::new(),
    };
    let mut more_offers = true;
    let result = loop {
        if more_offers {
            let now = Arc::clone(&offers.borrow_and_update());
            resources.follow(&now);
        }
        tokio::select! {
            () = shutdown.cancelled() => break Ok(()),
            // Each look, whatever was seen.
            Ok(()) = looked.changed() => resources.config.watch.comes_by(resources.config.poll),
            changed = offers.changed(), if more_offers => more_offers = changed.is_ok(),
            error = resources.ended() => {
                tracing::error!("{error}");
                break Err(error);
            }
            directory::Deleted = &mut directory => {
                let error = FrontEndError::DirectoryDeleted(resources.config.kubelet_dir.clone());
                tracing::error!("{error}");
                break Err(error);
            }
        }
    };
    // The kernel takes a while to let go of a watch; until then nothing else ends.
    drop(directory);
    resources.close().await;
    result
}

/// The resources that are served, each by a task of its own.
struct Resources {
    config: Arc<FrontEndConfig>,
    sight: watch::Receiver<Sight>,
    live: BTreeMap<ResourceName, Served>,
    tasks: JoinSet<()>,
    /// Whose the tasks are, those that are closing among them; each token is cancelled when its task has ended.
    owners: HashMap<task::Id, (ResourceName, CancellationToken)>,
}

struct Served {
    offer: watch::Sender<Arc<dyn Offer>>,
    shutdown: CancellationToken,
    task: task::Id,
}

impl Resources {
    /// Serves what is new, replaces what was reloaded under the same name, closes what is gone.
    fn follow(&mut self, offers: &[Arc<dyn Offer>]) {
        // What a driver gives by claims is not the kubelet's to count.
        let counted = || offers.iter().filter(|offer| offer.driver().is_none());
        self.live.retain(|name, served| {
            let is_offered = counted().any(|offer| offer.resource() == name);
            if !is_offered {
                tracing::info!(resource = %name, "resource {name}: no longer offered");
                served.shutdown.cancel();
                self.config.watch.ends(name);
            }
            is_offered
        });
        for offer in counted() {
            match self.live.get(offer.resource()) {
                Some(served) => drop(served.offer.send_if_modified(|old| {
                    let new = !Arc::ptr_eq(old, offer);
                    if new {
                        *old = Arc::clone(offer);
                    }
                    new
                })),
                None => self.begin(offer),
            }
        }
    }

    fn begin(&mut self, offer: &Arc<dyn Offer>) {
        let resource = offer.resource().clone();
        let (shutdown, ended) = (CancellationToken::new(), CancellationToken::new());
        let (sender, current) = watch::channel(Arc::clone(offer));
        let listing = Listing::new(resource.clone(), current.clone(), self.config.coalesce, self.config.watch.clone());
        let registration = Registration::new(
            Arc::clone(&self.config),
            resource.clone(),
            current,
            listing.subscribe(),
            self.sight.clone(),
            shutdown.clone(),
        );
        let closing = self.owners.values().filter(|(name, _)| *name == resource);
        let closing: Vec<_> = closing.map(|(_, ended)| ended.clone()).collect();
        let guard = ended.clone().drop_guard();
        let task = self.tasks.spawn(async move {
            let _guard = guard;
            // Offered again while its last stream is still closing: never two at once.
            for previous in closing {
                previous.cancelled().await;
            }
            let listing = async {
                listing.run().await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = registration.run() => {}
                () = listing => {}
            }
        });
        self.owners.insert(task.id(), (resource.clone(), ended));
        let served = Served { offer: sender, shutdown, task: task.id() };
        self.live.insert(resource, served);
    }

    /// Waits until the task of a resource ends that is offered, which only a bug makes happen, or until one that is no longer
    /// offered fails while it closes.
    async fn ended(&mut self) -> FrontEndError {
        while let Some(end) = self.tasks.join_next_with_id().await {
            let (task, failed) = match end {
                Ok((task, ())) => (task, None),
                Err(error) => (error.id(), Some(error.to_string())),
            };
            let Some((resource, _)) = self.owners.remove(&task) else {
                continue;
            };
            let is_live = self.live.get(&resource).is_some_and(|served| served.task == task);
            if let Some(why) = failed.or_else(|| is_live.then(|| "without a reason".to_owned())) {
                return FrontEndError::TaskEnded { resource, why };
            }
        }
        std::future::pending().await
    }

    async fn close(mut self) {
        for served in self.live.values() {
            served.shutdown.cancel();
        }
        while self.tasks.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_core::offer::{AllocateError, BoxFuture, DeviceList, Reply};
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    #[tokio::test]
    async fn a_directory_without_room_for_sockets_is_refused_with_what_to_do() {
        let dir = PathBuf::from(format!("/{}", "d".repeat(socket::LONGEST_DIR)));
        let (_sender, offers) = watch::channel(Arc::from(Vec::new()));
        let error = serve(FrontEndConfig::new(dir), offers, CancellationToken::new()).await.unwrap_err();
        assert!(error.to_string().ends_with("mount it at a path of at most 77 bytes"), "{error}");
    }

    /// A resource whose task panics: it shows its devices once.
    struct Broken(ResourceName, AtomicBool);

    impl Offer for Broken {
        fn resource(&self) -> &ResourceName {
            &self.0
        }

        fn devices(&self) -> watch::Receiver<Arc<DeviceList>> {
            assert!(!self.1.swap(true, SeqCst), "asked twice");
            watch::Sender::new(Arc::default()).subscribe()
        }

        fn allocate<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, Result<Arc<Reply>, AllocateError>> {
            Box::pin(async { Ok(Arc::default()) })
        }

        fn choose<'a>(&'a self, _: &'a [String], _: &'a [String], _: usize) -> BoxFuture<'a, Vec<String>> {
            Box::pin(async { Vec::new() })
        }
    }

    #[tokio::test]
    async fn a_resource_whose_task_panics_ends_the_front_end() {
        let dir = tempfile::tempdir().unwrap();
        let name = ResourceName::try_new("vendor.com/gpu").unwrap();
        let broken: Arc<dyn Offer> = Arc::new(Broken(name, AtomicBool::new(false)));
        let (_sender, offers) = watch::channel(Arc::from([broken]));
        let config = FrontEndConfig::new(dir.path().to_owned());
        let served = serve(config, offers, CancellationToken::new());
        let ended = tokio::time::timeout(Duration::from_secs(30), served).await.unwrap();
        let text = ended.unwrap_err().to_string();
        assert!(
            text.starts_with("host fault: resource vendor.com/gpu: its task ended: ") && text.contains("asked twice"),
            "{text}"
        );
    }
}
