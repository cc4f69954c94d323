//! A stand-in for the kubelet's device manager: the other side of the front end, for demos, simulations and tests.
//!
//! It does what Kubernetes 1.32's `pkg/kubelet/cm/devicemanager` does, errors and bugs included: the same texts, the wipe
//! of the directory at a start, the checkpoint with its cached replies, lists that replace each other, the grace period
//! after a stream's end, the rules by which replies of several resources are merged, and (switchable) the confusion of
//! two registrations of one resource. What it leaves out: NUMA alignment and all of the kubelet that is not devices.

mod admission;
mod checkpoint;
mod client;
mod config;
mod devices;
mod dial;
mod event;
mod merge;
mod pod;
mod pod_resources;
mod registry;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use config::{Answer, KubeletVersion, PodsAnswer, StandInConfig};
use devgate_kubelet::api;
use devgate_kubelet::api::KUBELET_SOCKET;
use devgate_kubelet::api::registration_server::RegistrationServer;
use devgate_kubelet::transport::{Incoming, bind};
use devices::Node;
pub use event::{Event, Moment, TimedOut};
pub use merge::RunOptions;
pub use pod::{Container, Pod, Rejection};
use registry::Registry;

/// The checkpoint's file name, in the device-plugin directory.
pub use devgate_kubelet::CHECKPOINT;

/// A kubelet that runs, or one that is stopped and can be started again. Clones are the same kubelet.
#[derive(Clone)]
pub struct StandIn {
    shared: Arc<Shared>,
}

/// What the calls of plugins and the caller share.
struct Shared {
    config: StandInConfig,
    state: Mutex<State>,
    /// Held while one pod is admitted: the kubelet admits pods one after the other.
    admitting: tokio::sync::Mutex<()>,
    /// What the pods on the node ask for, which the kubelet gets from the API server whenever it starts.
    specs: Mutex<BTreeMap<String, Pod>>,
    /// Written while `state` is locked, where it tells of a change of that: who sees the change finds the event.
    events: event::Log,
    answer: watch::Sender<Answer>,
    pods_answer: watch::Sender<PodsAnswer>,
    /// How often pods were asked for.
    pods_asked: AtomicUsize,
    pace: watch::Sender<Duration>,
}

#[derive(Default)]
struct State {
    process: Option<Process>,
    node: Node,
    started_before: bool,
}

/// What ends with the kubelet's process.
struct Process {
    registry: Registry,
    /// The server of `kubelet.sock`.
    server: Server,
    /// The server of the pod-resources socket, where there is one.
    pods: Option<Server>,
    /// Everything that runs in this process.
    alive: CancellationToken,
}

struct Server {
    stop: CancellationToken,
    cut: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    /// Ends it, with all its connections. The socket's file stays, as when a process dies.
    async fn kill(self) {
        self.stop.cancel();
        self.cut.cancel();
        let _ = self.task.await;
    }
}

impl StandIn {
    /// Starts a kubelet, as [`Self::start`] does.
    ///
    /// # Errors
    /// When the directory or the socket cannot be made, or the checkpoint cannot be read.
    pub async fn new(config: StandInConfig) -> io::Result<Self> {
        let standin = Self {
            shared: Arc::new(Shared {
                config,
                state: Mutex::default(),
                admitting: tokio::sync::Mutex::default(),
                specs: Mutex::default(),
                events: event::Log::default(),
                answer: watch::Sender::default(),
                pods_answer: watch::Sender::default(),
                pods_asked: AtomicUsize::new(0),
                pace: watch::Sender::default(),
            }),
        };
        standin.start().await?;
        Ok(standin)
    }

    /// Starts a new process, after ending the one that may run: reads the checkpoint, deletes everything in the directory
    /// but the checkpoint and directories, and listens on a new `kubelet.sock`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub async fn start(&self) -> io::Result<()> {
        self.crash().await;
        let dir = &self.shared.config.dir;
        std::fs::DirBuilder::new().recursive(true).mode(0o750).create(dir)?;
        let remembered = dir.join(CHECKPOINT).exists();
        let node = checkpoint::read(&dir.join(CHECKPOINT))?;
        wipe(dir)?;
        // Locked before anybody can connect: who registers with this process must find it.
        let mut state = self.shared.lock();
        let alive = CancellationToken::new();
        state.process = Some(Process {
            registry: Registry::restored(node.devices.keys()),
            server: self.listen(&alive)?,
            pods: self.serve_pods()?,
            alive,
        });
        // What the API server was told of capacities outlives the process, and so do running pods.
        let mut before = std::mem::take(&mut state.node);
        if !remembered {
            // Without its checkpoint, the kubelet takes the node for a new one (`manager.go`,
            // ShouldResetExtendedResourceCapacity).
            before.advertised.values_mut().for_each(|counts| *counts = (0, 0));
        }
        let again = std::mem::replace(&mut state.started_before, true);
        let active = node
            .pods
            .keys()
            .filter(|pod| !again || before.active.contains(*pod))
            .chain(&before.active)
            .cloned()
            .collect();
        state.node = Node { advertised: before.advertised, active, ..node };
        self.shared.events.push(Event::Started);
        Ok(())
    }

    /// Ends the process as SIGTERM does, and takes its socket away.
    pub async fn stop(&self) {
        self.crash().await;
        let _ = std::fs::remove_file(self.socket());
    }

    /// Ends the process without any order: streams and calls break off, the socket's file stays and refuses connections.
    pub async fn crash(&self) {
        let process = self.shared.lock().process.take();
        if let Some(process) = process {
            process.alive.cancel();
            process.server.kill().await;
            if let Some(pods) = process.pods {
                pods.kill().await;
            }
            self.shared.events.push(Event::Stopped);
        }
    }

    /// Stops and starts.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub async fn restart(&self) -> io::Result<()> {
        self.stop().await;
        self.start().await
    }

    /// Makes `kubelet.sock` anew in the same process, without the wipe and without forgetting anything, as a kubelet does
    /// that retries to serve.
    ///
    /// # Errors
    /// When the socket cannot be made, or no process runs.
    pub async fn recreate_socket(&self) -> io::Result<()> {
        let old = {
            let mut state = self.shared.lock();
            let process = state.process.as_mut();
            let process = process.ok_or_else(|| io::Error::other("stand-in does not run"))?;
            std::fs::remove_file(self.socket())?;
            let server = self.listen(&process.alive)?;
            std::mem::replace(&mut process.server, server)
        };
        old.kill().await;
        Ok(())
    }

    /// What becomes of calls of `Register` from now on, those in flight included.
    pub fn answer(&self, answer: Answer) {
        self.shared.answer.send_replace(answer);
    }

    /// How long the kubelet waits before it reads the next list of any stream. Not at all at first.
    pub fn read_slowly(&self, pace: Duration) {
        self.shared.pace.send_replace(pace);
    }

    /// The path of `kubelet.sock`.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.shared.config.dir.join(KUBELET_SOCKET)
    }

    /// Everything that happened, oldest first. Whatever else the stand-in shows is in here by then.
    #[must_use]
    pub fn events(&self) -> Vec<Moment> {
        self.shared.events.all()
    }

    /// What the node advertises as capacity of `resource`: healthy and unhealthy devices. Nothing where the resource was
    /// never known; 0 where its plugin has been away for longer than the grace period.
    #[must_use]
    pub fn capacity(&self, resource: &str) -> Option<usize> {
        self.advertised(resource).map(|(capacity, _)| capacity)
    }

    /// What the node advertises as allocatable: healthy devices.
    #[must_use]
    pub fn allocatable(&self, resource: &str) -> Option<usize> {
        self.advertised(resource).map(|(_, allocatable)| allocatable)
    }

    /// The devices of `resource` as the kubelet counts them, by id: whether they are healthy, and their NUMA nodes.
    #[must_use]
    pub fn devices(&self, resource: &str) -> BTreeMap<String, (bool, BTreeSet<i64>)> {
        self.shared.lock().node.devices.get(resource).map(devices::Devices::by_id).unwrap_or_default()
    }

    /// The ids that pods hold.
    #[must_use]
    pub fn allocated(&self, resource: &str) -> BTreeSet<String> {
        self.shared.lock().node.allocated(resource)
    }

    /// The sockets of the plugins whose stream is open, for `resource`. More than one only where two were registered.
    #[must_use]
    pub fn streams(&self, resource: &str) -> Vec<PathBuf> {
        let state = self.shared.lock();
        state.process.as_ref().map(|process| process.registry.streams(resource)).unwrap_or_default()
    }

    /// Ends all streams of `resource` from the kubelet's side, as it does when it takes one plugin for another.
    pub fn drop_streams(&self, resource: &str) {
        let state = self.shared.lock();
        if let Some(process) = state.process.as_ref() {
            process.registry.disconnect(resource);
        }
    }

    /// Waits until `predicate` holds.
    ///
    /// # Errors
    /// When it does not hold within `timeout`: the error shows what happened instead.
    pub async fn wait_for(&self, timeout: Duration, predicate: impl Fn(&Self) -> bool) -> Result<(), TimedOut> {
        let mut news = self.shared.events.news();
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            if predicate(self) {
                return Ok(());
            }
            if tokio::time::Instant::now() >= deadline {
                return Err(TimedOut::new(timeout, self.events()));
            }
            // Some of what is asked for is no event, such as the end of the grace period.
            let _ = tokio::time::timeout(Duration::from_millis(20), news.changed()).await;
        }
    }

    /// The files in the device-plugin directory, sorted.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.shared.config.dir).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn advertised(&self, resource: &str) -> Option<(usize, usize)> {
        let mut state = self.shared.lock();
        let State { process, node, .. } = &mut *state;
        if let Some(process) = process {
            let expired = process.registry.expired(self.shared.config.grace);
            for resource in &expired {
                node.forget(resource);
            }
            node.advertise();
            if !expired.is_empty() {
                self.shared.save(&state);
            }
        }
        state.node.advertised.get(resource).copied()
    }

    fn listen(&self, alive: &CancellationToken) -> io::Result<Server> {
        let (stop, cut) = (CancellationToken::new(), CancellationToken::new());
        let incoming = Incoming::new(bind(&self.socket())?, usize::MAX, cut.clone());
        let stopped = stop.clone().cancelled_owned();
        let service =
            RegistrationServer::new(client::Registration { shared: Arc::clone(&self.shared), alive: alive.clone() });
        let task = tokio::spawn(async move {
            let served = tonic::transport::Server::builder().serve_with_incoming_shutdown(service, incoming, stopped);
            if let Err(error) = served.await {
                tracing::error!(%error, "stand-in's server failed");
            }
        });
        Ok(Server { stop, cut, task })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the checkpoint, as the kubelet does after each list and each allocation.
    fn save(&self, state: &State) {
        if let Err(error) = checkpoint::write(&self.config.dir.join(CHECKPOINT), &state.node) {
            tracing::warn!(%error, "stand-in's checkpoint not written");
        }
    }
}

/// Deletes all but the checkpoint and directories (`manager.go`, `removeContents`).
fn wipe(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        // A plugin may take its socket away meanwhile.
        let gone = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        };
        if entry.file_name() != CHECKPOINT && !entry.file_type()?.is_dir() {
            std::fs::remove_file(entry.path()).or_else(gone)?;
        }
    }
    Ok(())
}

/// The RPC errors' text as Go's gRPC prints it.
fn go_text(status: &tonic::Status) -> String {
    format!("rpc error: code = {:?} desc = {}", status.code(), status.message())
}

/// The ids of a list, as `(healthy, unhealthy)`: only the exact word counts.
fn split(list: &api::ListAndWatchResponse) -> (BTreeSet<String>, BTreeSet<String>) {
    let ids = |healthy: bool| {
        let of = list.devices.iter().filter(move |d| (d.health == api::HEALTHY) == healthy);
        of.map(|d| d.id.clone()).collect()
    };
    (ids(true), ids(false))
}
