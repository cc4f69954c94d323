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
mod incarnation;
mod listing;
mod lists;
mod presence;
mod register;
mod registration;
mod repeats;
mod service;
mod siblings;
mod socket;
mod watched;

use std::collections::BTreeMap;
use std::future::{Future as _, poll_fn};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use devgate_core::offer::{Offer, Offers};
use devgate_types::ResourceName;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use devgate_kubelet::api;
pub(crate) use directory::FileId;
use directory::Sight;
use listing::Listing;
pub(crate) use register::cause;
use registration::Registration;
pub(crate) use repeats::Repeats;
pub use socket::{LeftBehind, left_behind};
pub use watched::{FrontEndWatch, Hidden, Phase, RegistrationStatus};

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
    /// A bug of the host ended what serves a resource; nobody would answer the kubelet for it any more.
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
/// The kubelet may come, go and be replaced at any time. Dropping the future closes everything at once.
///
/// # Errors
/// When the directory's path is too long for sockets, when it was deleted under its mount, or when the task of a resource
/// ended (all resources are closed then, too).
pub async fn serve(
    config: FrontEndConfig,
    mut offers: Offers,
    shutdown: CancellationToken,
) -> Result<(), FrontEndError> {
    if socket::room(&config.kubelet_dir).is_none() {
        return Err(FrontEndError::PathTooLong(config.kubelet_dir));
    }
    socket::sweep(&config.kubelet_dir).await;
    let (out, sight) = watch::channel(Sight::of(&config.kubelet_dir));
    let mut looked = sight.clone();
    let directory = directory::watch(config.kubelet_dir.clone(), config.poll, config.inotify, out);
    tokio::pin!(directory);
    let mut resources = Resources {
        config: Arc::new(config),
        sight,
        live: BTreeMap::new(),
        closing: BTreeMap::new(),
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
    resources.close().await;
    result
}

/// The resources that are served, each by a task of its own.
struct Resources {
    config: Arc<FrontEndConfig>,
    sight: watch::Receiver<Sight>,
    live: BTreeMap<ResourceName, Served>,
    closing: BTreeMap<ResourceName, Task>,
}

struct Served {
    offer: watch::Sender<Arc<dyn Offer>>,
    shutdown: CancellationToken,
    task: Task,
}

/// A task that ends when nobody holds it any more. Nothing, once its end has been seen.
struct Task(Option<JoinHandle<()>>);

impl Task {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), JoinError>> {
        let Some(handle) = self.0.as_mut() else {
            return Poll::Pending;
        };
        let end = Pin::new(handle).poll(cx);
        if end.is_ready() {
            self.0 = None;
        }
        end
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.abort();
        }
    }
}

fn task_ended(resource: &ResourceName, end: Result<(), JoinError>) -> FrontEndError {
    let why = match end {
        Ok(()) => "without a reason".to_owned(),
        Err(error) => error.to_string(),
    };
    FrontEndError::TaskEnded {
        resource: resource.clone(),
        why,
    }
}

impl Resources {
    /// Serves what is new, replaces what was reloaded under the same name, closes what is gone.
    fn follow(&mut self, offers: &[Arc<dyn Offer>]) {
        let gone: Vec<ResourceName> = self
            .live
            .keys()
            .filter(|name| !offers.iter().any(|offer| offer.resource() == *name))
            .cloned()
            .collect();
        for name in gone {
            if let Some(served) = self.live.remove(&name) {
                tracing::info!(resource = %name, "resource {name}: no longer offered");
                served.shutdown.cancel();
                self.config.watch.ends(&name);
                self.closing.insert(name, served.task);
            }
        }
        for offer in offers {
            match self.live.get(offer.resource()) {
                Some(served) => {
                    served.offer.send_if_modified(|old| {
                        let new = !Arc::ptr_eq(old, offer);
                        if new {
                            *old = Arc::clone(offer);
                        }
                        new
                    });
                }
                None => self.begin(offer),
            }
        }
    }

    fn begin(&mut self, offer: &Arc<dyn Offer>) {
        let resource = offer.resource().clone();
        let shutdown = CancellationToken::new();
        let (sender, current) = watch::channel(Arc::clone(offer));
        let listing = Listing::new(
            resource.clone(),
            current.clone(),
            self.config.coalesce,
            self.config.watch.clone(),
        );
        let registration = Registration {
            config: Arc::clone(&self.config),
            resource: resource.clone(),
            offer: current,
            list: listing.subscribe(),
            sight: self.sight.clone(),
            shutdown: shutdown.clone(),
        };
        let mut previous = self.closing.remove(&resource);
        let task = tokio::spawn(async move {
            // Offered again while its last stream is still closing: never two at once.
            if let Some(previous) = previous.as_mut().and_then(|task| task.0.as_mut()) {
                let _ = previous.await;
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
        self.live.insert(
            resource,
            Served {
                offer: sender,
                shutdown,
                task: Task(Some(task)),
            },
        );
    }

    /// Waits until the task of a resource ends that is offered, which only a bug makes happen, or until one that is no longer
    /// offered fails while it closes.
    async fn ended(&mut self) -> FrontEndError {
        poll_fn(|cx| {
            let live = self.live.iter_mut().map(|(name, served)| (name, &mut served.task));
            for (name, task) in live {
                if let Poll::Ready(end) = task.poll(cx) {
                    return Poll::Ready(task_ended(name, end));
                }
            }
            let mut failed = None;
            self.closing.retain(|name, task| match task.poll(cx) {
                Poll::Pending => true,
                Poll::Ready(Ok(())) => false,
                Poll::Ready(end) => {
                    failed.get_or_insert_with(|| task_ended(name, end));
                    false
                }
            });
            failed.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    async fn close(self) {
        for served in self.live.values() {
            served.shutdown.cancel();
        }
        let live = self.live.into_values().map(|served| served.task);
        for mut task in live.chain(self.closing.into_values()) {
            // One that has ended already, and whose end was seen, is not asked again.
            if let Some(handle) = task.0.as_mut() {
                let _ = handle.await;
            }
        }
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
        let error = serve(FrontEndConfig::new(dir), offers, CancellationToken::new())
            .await
            .unwrap_err();
        assert!(
            error.to_string().ends_with("mount it at a path of at most 77 bytes"),
            "{error}"
        );
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
