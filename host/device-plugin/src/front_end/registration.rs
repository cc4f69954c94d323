//! The life of one resource: serve, register, stay registered, and begin again whenever the kubelet or the socket is not
//! the same any more.

use std::sync::Arc;
use std::time::Duration;

use devgate_core::Backoff;
use devgate_types::{LogThrottle, ResourceName};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::directory::Sight;
use super::encoded_list::EncodedList;
use super::listing::CurrentOffer;
use super::lists::{MAX_STREAMS, Methods};
use super::register::{RegisterError, register};
use super::service::Service;
use super::siblings::Siblings;
use super::watched::Phase;
use super::{AGAIN, FrontEndConfig, failures, socket};
use devgate_kubelet::api::KUBELET_SOCKET;
use devgate_kubelet::file_id::FileId;
use devgate_kubelet::gauge::{Count, Gauge};
use devgate_kubelet::latest::Latest;
use devgate_kubelet::served::Served;

/// How long calls may take to finish when a resource starts anew while the host goes on: the kubelet whose calls they
/// are has most likely gone.
const DRAIN_FOR_NEXT: Duration = Duration::from_millis(500);

/// How long a kubelet that was connected may take to read its end before it hears of the new one.
const OLD_END_IS_READ: Duration = Duration::from_millis(10);

/// The delays, in milliseconds, before the first attempts at a kubelet that does not answer yet: its socket has a name a moment before
/// anybody listens on it, and a refused connection costs neither side anything.
const AT_ONCE: [u64; 5] = [5, 10, 20, 40, 80];

/// How soon after a registration the end of its stream is taken for that of an older one.
const EARLY: Duration = Duration::from_secs(5);

/// Keeps one resource registered.
pub(crate) struct Registration {
    config: Arc<FrontEndConfig>,
    resource: ResourceName,
    offer: CurrentOffer,
    list: watch::Receiver<EncodedList>,
    sight: watch::Receiver<Sight>,
    shutdown: CancellationToken,
    /// Those between attempts.
    delays: Backoff,
    failures: LogThrottle,
    registered_before: bool,
    /// Whether a stream ended early, which is answered at once the first time.
    ended_early: bool,
}

/// What the kubelet has to do with an incarnation.
#[derive(Clone)]
struct Peers {
    /// The streams that it has opened and has.
    streams: watch::Receiver<Count>,
    /// The connections to the socket, the kubelet's and others'.
    connections: watch::Receiver<Count>,
}

/// Why an incarnation ends.
enum End {
    /// The host stops, or the resource is no longer offered.
    Shutdown,
    /// There is another kubelet: begin at once.
    NewKubelet,
    /// What could be waited for was waited for: begin again.
    Again,
}

/// Why a wait was over.
enum Waited {
    Elapsed,
    StreamOpened,
    /// The kubelet hung up before it opened a stream.
    HungUp,
    Ended(End),
}

impl Registration {
    /// Nothing is served yet.
    pub(crate) fn new(
        config: Arc<FrontEndConfig>,
        resource: ResourceName,
        offer: CurrentOffer,
        list: watch::Receiver<EncodedList>,
        sight: watch::Receiver<Sight>,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            delays: delays(&config),
            config,
            resource,
            offer,
            list,
            sight,
            shutdown,
            failures: failures(),
            registered_before: false,
            ended_early: false,
        }
    }

    /// Keeps the resource registered until shutdown.
    pub(crate) async fn run(mut self) {
        while let Some(kubelet) = self.wait_for_kubelet().await {
            let Some((incarnation, peers)) = self.incarnate() else {
                // The directory may be gone, or full.
                let delay = self.delays.pause();
                tokio::select! {
                    () = self.shutdown.cancelled() => return,
                    () = tokio::time::sleep(delay) => continue,
                }
            };
            match self.live(&incarnation, kubelet, peers).await {
                End::Shutdown => {
                    incarnation.close(self.config.drain).await;
                    tracing::info!(resource = %self.resource, "resource {}: closed", self.resource);
                    return;
                }
                End::NewKubelet => self.delays = delays(&self.config),
                End::Again => {}
            }
            // Up to 1.36, the kubelet would take the end of the old stream for the end of the new one: so the old one
            // ends first, and completely.
            let heard = incarnation.connections().borrow().live > 0;
            incarnation.close(DRAIN_FOR_NEXT.min(self.config.drain)).await;
            if heard {
                // It is told of both ends on connections of their own, and reads them in the order that it likes.
                tokio::time::sleep(OLD_END_IS_READ).await;
            }
        }
    }

    /// The kubelet's socket as soon as there is one; `None` at shutdown.
    async fn wait_for_kubelet(&mut self) -> Option<FileId> {
        if self.sight.borrow_and_update().is_none() {
            let watch = &self.config.watch;
            watch.phase(&self.resource, Phase::Waiting);
            let dir = self.config.kubelet_dir.display();
            watch.presence().gone(&format!("there is no kubelet.sock in {dir}"));
        }
        tokio::select! {
            () = self.shutdown.cancelled() => None,
            sight = self.sight.wait_for(Option::is_some) => *sight.ok()?,
        }
    }

    /// Serves on a socket with a new name.
    fn incarnate(&mut self) -> Option<(Served, Peers)> {
        let path = socket::next_path(&self.config.kubelet_dir, &self.resource)?;
        let (streams, calls, stop) = (Latest::new(MAX_STREAMS), Gauge::default(), CancellationToken::new());
        let (counted, in_flight) = (streams.subscribe(), calls.subscribe());
        let service = Service {
            config: Arc::clone(&self.config),
            resource: self.resource.clone(),
            offer: self.offer.clone(),
            list: self.list.clone(),
            lists: self.config.watch.incarnation(&self.resource, streams.subscribe()),
            streams,
            calls,
            stop: stop.clone(),
        };
        let started = Served::start(path, Methods::new(service), stop, in_flight);
        let failed = |error: &std::io::Error| {
            self.config.watch.fails(&self.resource, format!("socket not made: {error}"));
            if let Some(more) = self.failures.line(&error.kind().to_string(), AGAIN, Instant::now().into()) {
                tracing::error!(resource = %self.resource, %error, more, "resource {}: socket not made: {error}", self.resource);
            }
        };
        let served = started.inspect_err(failed).ok()?;
        let peers = Peers { streams: counted, connections: served.connections() };
        Some((served, peers))
    }

    /// Registers an incarnation with one kubelet, and watches over it for as long as both are what they were.
    async fn live(&mut self, incarnation: &Served, kubelet: FileId, mut peers: Peers) -> End {
        let mut at_once = AT_ONCE.iter();
        loop {
            let error = match self.register(incarnation, kubelet).await {
                Ok(Ok(())) => break,
                Ok(Err(error)) => error,
                Err(end) => return end,
            };
            self.note(&error);
            let is_away = matches!(error, RegisterError::Away(_));
            let delay = match (&error, at_once.next()) {
                (RegisterError::Away(_), Some(delay)) => Duration::from_millis(*delay),
                (RegisterError::Permanent(_), _) => self.config.retry_refused,
                _ => self.delays.pause(),
            };
            match self.wait(None, kubelet, Some(&mut peers), delay).await {
                // A kubelet that was late may come nevertheless; then it is registered.
                Waited::StreamOpened => break,
                // It never heard of this socket, which can serve the next attempt.
                Waited::Elapsed if is_away && incarnation.is_in_place() => {}
                Waited::Elapsed | Waited::HungUp => return End::Again,
                Waited::Ended(end) => return end,
            }
        }
        self.registered();
        self.stay(incarnation, kubelet, peers).await
    }

    /// Asks the kubelet once, unless something ends the incarnation meanwhile.
    async fn register(&mut self, incarnation: &Served, kubelet: FileId) -> Result<Result<(), RegisterError>, End> {
        let (config, resource) = (Arc::clone(&self.config), self.resource.clone());
        config.watch.phase(&resource, Phase::Registering);
        let kubelet_socket = config.kubelet_dir.join(KUBELET_SOCKET);
        let options = config.options(&**self.offer.borrow());
        let (file, patience) = (incarnation.file_name(), config.register_timeout);
        let result = tokio::select! {
            result = register(&kubelet_socket, &resource, file, options, patience) => result,
            Waited::Ended(end) = self.wait(None, kubelet, None, patience) => return Err(end),
        };
        if result.is_ok() {
            self.failures.forget();
            if std::mem::replace(&mut self.registered_before, true) {
                tracing::debug!(%resource, socket = file, "resource {resource}: registered again");
            } else {
                tracing::info!(%resource, socket = file, "resource {resource}: registered with the kubelet");
            }
        }
        Ok(result)
    }

    /// Watches over a registered incarnation.
    async fn stay(&mut self, incarnation: &Served, kubelet: FileId, mut peers: Peers) -> End {
        let since = Instant::now();
        let (config, resource) = (Arc::clone(&self.config), self.resource.clone());
        let mut siblings = Siblings::new(&config.kubelet_dir, &resource, incarnation.file_name(), config.poll);
        loop {
            if peers.streams.borrow_and_update().opened == 0 {
                let waited = self.wait(Some(incarnation), kubelet, Some(&mut peers), config.stream_wait);
                match waited.await {
                    Waited::Ended(end) => return self.pace(end, kubelet, since).await,
                    // Both go on below: there is a stream, or none is left.
                    Waited::StreamOpened | Waited::HungUp => {}
                    Waited::Elapsed => {
                        tracing::warn!(%resource, "resource {resource}: registered, but the kubelet does not ask for its devices; registering again");
                        return End::Again;
                    }
                }
            }
            tokio::select! {
                () = self.shutdown.cancelled() => return End::Shutdown,
                _ = self.sight.changed() => {
                    if let Some(end) = self.look(kubelet, Some(incarnation)) {
                        return self.pace(end, kubelet, since).await;
                    }
                    if siblings.left().await {
                        tracing::info!(%resource, "resource {resource}: another devgate, which had registered it later, has left; registering again");
                        return self.pace(End::Again, kubelet, since).await;
                    }
                    continue;
                }
                () = until(&mut peers.streams, |streams| streams.live == 0) => {}
            }
            config.watch.phase(&resource, Phase::Registering);
            // Up to 1.36 the end of an older stream, noticed late, ends the stream of a new registration.
            let is_early = since.elapsed() < EARLY && !std::mem::replace(&mut self.ended_early, true);
            let delay = if is_early { Duration::ZERO } else { self.delay_since(since) };
            self.lost("the kubelet ended the stream");
            match self.wait(None, kubelet, Some(&mut peers), delay).await {
                Waited::StreamOpened => self.registered(),
                Waited::Elapsed | Waited::HungUp => return End::Again,
                Waited::Ended(end) => return end,
            }
        }
    }

    /// A program that deletes our socket again and again does not make us spin. A kubelet that restarts deletes it, too, a
    /// moment before its own is there, and is not kept waiting.
    async fn pace(&mut self, end: End, kubelet: FileId, since: Instant) -> End {
        if !matches!(end, End::Again) {
            return end;
        }
        let delay = self.delay_since(since);
        match self.wait(None, kubelet, None, delay).await {
            Waited::Ended(end) => end,
            _ => End::Again,
        }
    }

    /// Waits for `delay`, for a stream of these peers, or for what ends the incarnation: another kubelet, or, where the one that
    /// is registered is named, the loss of its socket or of the kubelet's connection. A kubelet that restarts within one tick
    /// of the file system's clock looks like the old one, but the wipe does not. And up to 1.36 the end of an older
    /// stream, noticed late, ends the connection of a new registration before its stream is opened.
    async fn wait(
        &mut self,
        registered: Option<&Served>,
        kubelet: FileId,
        peers: Option<&mut Peers>,
        delay: Duration,
    ) -> Waited {
        let elapsed = tokio::time::sleep(delay);
        let peers = async {
            let Some(Peers { streams, connections }) = peers else {
                return std::future::pending().await;
            };
            tokio::select! {
                () = until(streams, |streams| streams.live > 0) => Waited::StreamOpened,
                () = until(connections, |all| all.opened > 0 && all.live == 0), if registered.is_some() => Waited::HungUp,
            }
        };
        tokio::pin!(elapsed, peers);
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => return Waited::Ended(End::Shutdown),
                _ = self.sight.changed() => {
                    // A socket of ours that is gone, and not registered, is made anew when the wait is over.
                    if let Some(end) = self.look(kubelet, registered) {
                        return Waited::Ended(end);
                    }
                }
                waited = &mut peers => return waited,
                () = &mut elapsed => return Waited::Elapsed,
            }
        }
    }

    /// What the directory says: another kubelet, or the socket of the one that is registered gone.
    fn look(&mut self, kubelet: FileId, registered: Option<&Served>) -> Option<End> {
        if self.sight.borrow_and_update().is_some_and(|now| now != kubelet) {
            self.lost("kubelet.sock is new");
            return Some(End::NewKubelet);
        }
        if registered?.is_in_place() {
            return None;
        }
        self.lost("its socket is gone");
        Some(End::Again)
    }

    fn note(&mut self, error: &RegisterError) {
        let (watch, resource) = (&self.config.watch, &self.resource);
        watch.fails(resource, error.to_string());
        match error {
            RegisterError::Permanent(_) => watch.phase(resource, Phase::Refused),
            RegisterError::Away(_) => {
                watch.phase(resource, Phase::Waiting);
                return watch.presence().stays_away(&error.to_string(), self.config.retry_most);
            }
            RegisterError::Late(_) | RegisterError::Transient(_) => {}
        }
        if let Some(more) = self.failures.line(&error.to_string(), AGAIN, Instant::now().into()) {
            tracing::warn!(%resource, more, "resource {resource}: not registered, will try again: {error}");
        }
    }

    /// The resource is not registered any more: most often as the kubelet restarts, which all resources notice.
    fn lost(&self, why: &str) {
        let text = format!("resource {}: {why}", self.resource);
        self.config.watch.presence().gone(&text);
    }

    fn registered(&self) {
        self.config.watch.phase(&self.resource, Phase::Registered);
        self.config.watch.presence().back(&self.resource);
    }

    /// The next delay, which is the first again after a registration that stood for long.
    fn delay_since(&mut self, registered: Instant) -> Duration {
        if registered.elapsed() > self.config.retry_most {
            self.delays = delays(&self.config);
        }
        self.delays.pause()
    }
}

fn delays(config: &FrontEndConfig) -> Backoff {
    Backoff::new(config.retry, config.retry_most)
}

/// Ends when the count is as `wanted`; never, where that cannot come any more.
async fn until(count: &mut watch::Receiver<Count>, wanted: impl Fn(&Count) -> bool) {
    if count.wait_for(wanted).await.is_err() {
        std::future::pending().await
    }
}
