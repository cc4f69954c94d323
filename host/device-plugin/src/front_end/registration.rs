//! The life of one resource: serve, register, stay registered, and begin again whenever the kubelet or the socket is not
//! the same any more.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use devgate_types::ResourceName;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::directory::{FileId, Sight};
use super::encoded_list::EncodedList;
use super::incarnation::{Incarnation, Peers};
use super::listing::CurrentOffer;
use super::lists::MOST_STREAMS;
use super::register::{RegisterError, register};
use super::repeats::Repeats;
use super::service::Service;
use super::siblings::Siblings;
use super::watched::Phase;
use super::{FrontEndConfig, socket};
use devgate_kubelet::api::KUBELET_SOCKET;
use devgate_kubelet::gauge::{Count, Gauge};
use devgate_kubelet::latest::Latest;

/// How long calls may take to finish when a resource starts anew while the host goes on: the kubelet whose calls they
/// are has most likely gone.
const DRAIN_FOR_NEXT: Duration = Duration::from_millis(500);

/// How long a kubelet that was connected may take to read its end before it hears of the new one.
const OLD_END_IS_READ: Duration = Duration::from_millis(10);

/// The delays before the first attempts at a kubelet that does not answer yet: its socket has a name a moment before
/// anybody listens on it, and a refused connection costs neither side anything.
const AT_ONCE: [Duration; 5] = [
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(80),
];

/// Everything that one resource's registration needs.
pub(crate) struct Registration {
    pub(crate) config: Arc<FrontEndConfig>,
    pub(crate) resource: ResourceName,
    pub(crate) offer: CurrentOffer,
    pub(crate) list: watch::Receiver<EncodedList>,
    pub(crate) sight: watch::Receiver<Sight>,
    pub(crate) shutdown: CancellationToken,
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

/// Delays between attempts, and what was already said about them.
struct Attempts {
    delays: ExponentialBackoff,
    repeats: Repeats,
    registered_before: bool,
}

impl Registration {
    /// Keeps the resource registered until shutdown.
    pub(crate) async fn run(mut self) {
        let mut attempts = Attempts {
            delays: self.delays(),
            repeats: Repeats::default(),
            registered_before: false,
        };
        loop {
            let Some(kubelet) = self.wait_for_kubelet().await else {
                return;
            };
            let Some(incarnation) = self.incarnate(&mut attempts) else {
                // The directory may be gone, or full.
                let delay = self.next_delay(&mut attempts);
                tokio::select! {
                    () = self.shutdown.cancelled() => return,
                    () = tokio::time::sleep(delay) => continue,
                }
            };
            let end = self.live(&incarnation, kubelet, &mut attempts).await;
            match end {
                End::Shutdown => {
                    incarnation.close(self.config.drain).await;
                    tracing::info!(resource = %self.resource, "resource {}: closed", self.resource);
                    return;
                }
                End::NewKubelet => attempts.delays = self.delays(),
                End::Again => {}
            }
            // Up to 1.36, the kubelet would take the end of the old stream for the end of the new one: so the old one
            // ends first, and completely.
            let heard = incarnation.peers().connections.borrow().live > 0;
            incarnation.close(DRAIN_FOR_NEXT.min(self.config.drain)).await;
            if heard {
                // It is told of both ends on connections of their own, and reads them in the order that it likes.
                tokio::time::sleep(OLD_END_IS_READ).await;
            }
        }
    }

    /// The kubelet's socket as soon as there is one, or nothing at shutdown.
    async fn wait_for_kubelet(&mut self) -> Option<FileId> {
        if self.sight.borrow_and_update().kubelet.is_none() {
            self.config.watch.phase(&self.resource, Phase::Waiting);
            let dir = self.config.kubelet_dir.display();
            self.config
                .watch
                .presence()
                .gone(&format!("there is no kubelet.sock in {dir}"));
        }
        tokio::select! {
            () = self.shutdown.cancelled() => None,
            sight = self.sight.wait_for(|sight| sight.kubelet.is_some()) => sight.ok()?.kubelet,
        }
    }

    fn note(&self, error: &RegisterError) {
        self.config.watch.fails(&self.resource, error.to_string());
        match error {
            RegisterError::Permanent(_) => self.config.watch.phase(&self.resource, Phase::Refused),
            RegisterError::Away(_) => self.config.watch.phase(&self.resource, Phase::Waiting),
            RegisterError::Late(_) | RegisterError::Transient(_) => {}
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

    fn incarnate(&self, attempts: &mut Attempts) -> Option<Incarnation> {
        let path: PathBuf = socket::next_path(&self.config.kubelet_dir, &self.resource)?;
        let streams = Gauge::default();
        let service = Service {
            config: Arc::clone(&self.config),
            resource: self.resource.clone(),
            offer: self.offer.clone(),
            list: self.list.clone(),
            lists: self.config.watch.incarnation(&self.resource, streams.subscribe()),
            streams,
            latest: Latest::new(MOST_STREAMS),
            calls: Gauge::default(),
            stop: CancellationToken::new(),
        };
        Incarnation::start(path, service)
            .inspect_err(|error| {
                self.config.watch.fails(&self.resource, format!("socket not made: {error}"));
                if let Some(more) = attempts.repeats.say(&error.kind().to_string()) {
                    tracing::error!(resource = %self.resource, %error, more, "resource {}: socket not made: {error}", self.resource);
                }
            })
            .ok()
    }

    /// Registers an incarnation with one kubelet, and watches over it for as long as both are what they were.
    async fn live(&mut self, incarnation: &Incarnation, kubelet: FileId, attempts: &mut Attempts) -> End {
        let mut peers = incarnation.peers();
        let mut at_once = AT_ONCE.iter();
        loop {
            self.config.watch.phase(&self.resource, Phase::Registering);
            let kubelet_socket = self.config.kubelet_dir.join(KUBELET_SOCKET);
            let offer = std::sync::Arc::clone(&self.offer.borrow());
            let call = register(
                &kubelet_socket,
                &self.resource,
                incarnation.file_name(),
                self.config.options(&*offer),
                self.config.register_timeout,
            );
            let (shutdown, sight) = (self.shutdown.clone(), self.sight.clone());
            let result = tokio::select! {
                result = call => result,
                () = shutdown.cancelled() => return End::Shutdown,
                () = another_kubelet(sight, kubelet) => return End::NewKubelet,
            };
            let delay = match result {
                Ok(()) => {
                    attempts.repeats.forget();
                    if std::mem::replace(&mut attempts.registered_before, true) {
                        tracing::debug!(resource = %self.resource, socket = incarnation.file_name(), "resource {}: registered again", self.resource);
                    } else {
                        tracing::info!(resource = %self.resource, socket = incarnation.file_name(), "resource {}: registered with the kubelet", self.resource);
                    }
                    self.registered();
                    return self.stay(incarnation, kubelet, peers, attempts).await;
                }
                Err(error) => {
                    self.note(&error);
                    if let RegisterError::Away(_) = error {
                        let restart = self.config.retry_most;
                        self.config.watch.presence().stays_away(&error.to_string(), restart);
                    } else if let Some(more) = attempts.repeats.say(&error.to_string()) {
                        tracing::warn!(resource = %self.resource, more, "resource {}: not registered, will try again: {error}", self.resource);
                    }
                    let delay = match (&error, at_once.next()) {
                        (RegisterError::Away(_), Some(delay)) => *delay,
                        (RegisterError::Permanent(_), _) => self.config.retry_refused,
                        _ => self.next_delay(attempts),
                    };
                    if let RegisterError::Away(_) = error {
                        // It never heard of this socket, which can serve the next attempt.
                        match self.wait(None, kubelet, &mut peers, delay).await {
                            Waited::Elapsed if incarnation.is_in_place() => continue,
                            Waited::Elapsed | Waited::HungUp => return End::Again,
                            Waited::Ended(end) => return end,
                            Waited::StreamOpened => {}
                        }
                        self.registered();
                        return self.stay(incarnation, kubelet, peers, attempts).await;
                    }
                    delay
                }
            };
            // A kubelet that was late may come nevertheless; then it is registered.
            return match self.wait(None, kubelet, &mut peers, delay).await {
                Waited::StreamOpened => {
                    self.registered();
                    self.stay(incarnation, kubelet, peers, attempts).await
                }
                Waited::Elapsed | Waited::HungUp => End::Again,
                Waited::Ended(end) => end,
            };
        }
    }

    /// Watches over a registered incarnation.
    async fn stay(
        &mut self,
        incarnation: &Incarnation,
        kubelet: FileId,
        mut peers: Peers,
        attempts: &mut Attempts,
    ) -> End {
        let since = Instant::now();
        let config = Arc::clone(&self.config);
        let resource = self.resource.clone();
        let mut siblings = Siblings::new(&config.kubelet_dir, &resource, incarnation.file_name(), config.poll);
        loop {
            if peers.streams.borrow_and_update().opened == 0 {
                let wait = self.config.stream_wait;
                match self.wait(Some(incarnation), kubelet, &mut peers, wait).await {
                    Waited::Ended(end) => return self.pace(end, kubelet, since, attempts).await,
                    // Both go on below: there is a stream, or none is left.
                    Waited::StreamOpened | Waited::HungUp => {}
                    Waited::Elapsed => {
                        tracing::warn!(resource = %self.resource, "resource {}: registered, but the kubelet does not ask for its devices; registering again", self.resource);
                        return End::Again;
                    }
                }
            }
            tokio::select! {
                () = self.shutdown.cancelled() => return End::Shutdown,
                _ = self.sight.changed() => {
                    if let Some(end) = self.look(incarnation, kubelet) {
                        return self.pace(end, kubelet, since, attempts).await;
                    }
                    if siblings.left().await {
                        tracing::info!(resource = %self.resource, "resource {}: another devgate, which had registered it later, has left; registering again", self.resource);
                        return self.pace(End::Again, kubelet, since, attempts).await;
                    }
                    continue;
                }
                () = until(&mut peers.streams, |streams| streams.live == 0) => {}
            }
            if since.elapsed() > self.config.retry_most {
                attempts.delays = self.delays();
            }
            self.config.watch.phase(&self.resource, Phase::Registering);
            let delay = self.next_delay(attempts);
            self.lost("the kubelet ended the stream");
            match self.wait(None, kubelet, &mut peers, delay).await {
                Waited::StreamOpened => self.registered(),
                Waited::Elapsed | Waited::HungUp => return End::Again,
                Waited::Ended(end) => return end,
            }
        }
    }

    /// Somebody who deletes our socket again and again does not make us spin. A kubelet that restarts deletes it, too, a
    /// moment before its own is there, and is not kept waiting.
    async fn pace(&mut self, end: End, kubelet: FileId, since: Instant, attempts: &mut Attempts) -> End {
        if !matches!(end, End::Again) {
            return end;
        }
        if since.elapsed() > self.config.retry_most {
            attempts.delays = self.delays();
        }
        let elapsed = tokio::time::sleep(self.next_delay(attempts));
        tokio::pin!(elapsed);
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => return End::Shutdown,
                _ = self.sight.changed() => {
                    if self.sees_another(kubelet) {
                        return End::NewKubelet;
                    }
                }
                () = &mut elapsed => return End::Again,
            }
        }
    }

    /// Waits for `delay`, for a stream, or for what ends the incarnation: another kubelet, or, where the one that is
    /// registered is named, the loss of its socket or of the kubelet's connection. A kubelet that restarts within one tick
    /// of the file system's clock looks like the old one, but the wipe does not. And up to 1.36 the end of an older
    /// stream, noticed late, ends the connection of a new registration before its stream is opened.
    async fn wait(
        &mut self,
        registered: Option<&Incarnation>,
        kubelet: FileId,
        peers: &mut Peers,
        delay: Duration,
    ) -> Waited {
        let elapsed = tokio::time::sleep(delay);
        tokio::pin!(elapsed);
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => return Waited::Ended(End::Shutdown),
                _ = self.sight.changed() => {
                    if self.sees_another(kubelet) {
                        return Waited::Ended(End::NewKubelet);
                    }
                    // Otherwise a socket of ours that is gone is made anew when the wait is over.
                    if registered.is_some_and(|incarnation| !incarnation.is_in_place()) {
                        return Waited::Ended(End::Again);
                    }
                }
                () = until(&mut peers.streams, |streams| streams.live > 0) => return Waited::StreamOpened,
                () = until(&mut peers.connections, |all| all.opened > 0 && all.live == 0), if registered.is_some() => {
                    return Waited::HungUp;
                }
                () = &mut elapsed => return Waited::Elapsed,
            }
        }
    }

    /// What the directory says: another kubelet, or our socket gone.
    fn look(&mut self, incarnation: &Incarnation, kubelet: FileId) -> Option<End> {
        if self.sees_another(kubelet) {
            return Some(End::NewKubelet);
        }
        if !incarnation.is_in_place() {
            self.lost("its socket is gone");
            return Some(End::Again);
        }
        None
    }

    fn sees_another(&mut self, kubelet: FileId) -> bool {
        let another = self.sight.borrow_and_update().kubelet.is_some_and(|now| now != kubelet);
        if another {
            self.lost("kubelet.sock is new");
        }
        another
    }

    fn delays(&self) -> ExponentialBackoff {
        ExponentialBuilder::new()
            .with_min_delay(self.config.retry)
            .with_max_delay(self.config.retry_most)
            .with_jitter()
            .without_max_times()
            .build()
    }

    fn next_delay(&self, attempts: &mut Attempts) -> Duration {
        attempts.delays.next().unwrap_or(self.config.retry_most)
    }
}

/// Ends when the count is as `wanted`; never, where that cannot come any more.
async fn until(count: &mut watch::Receiver<Count>, wanted: impl Fn(&Count) -> bool) {
    if count.wait_for(wanted).await.is_err() {
        std::future::pending().await
    }
}

/// Ends when the kubelet's socket is another one.
async fn another_kubelet(mut sight: watch::Receiver<Sight>, kubelet: FileId) {
    if sight
        .wait_for(|sight| sight.kubelet.is_some_and(|now| now != kubelet))
        .await
        .is_err()
    {
        std::future::pending().await
    }
}
