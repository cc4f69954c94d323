//! A front end and a stand-in in a directory of their own, and a client for what the stand-in would not ask.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use devgate_core::offer::Offer;
use devgate_device_plugin::{FrontEndConfig, FrontEndError, serve};
use devgate_fake_kubelet::{Event, StandIn, StandInConfig};
use devgate_kubelet::api;
use devgate_kubelet::api::device_plugin_client::DevicePluginClient;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};

use crate::fake::Fake;

/// Longer than anything takes on a busy machine: what does not come within it does not come.
pub(crate) const LONG: Duration = Duration::from_secs(30);
pub(crate) const GPU: &str = "vendor.com/gpu";
pub(crate) const NIC: &str = "vendor.com/nic";

/// A running front end.
pub(crate) struct Host {
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), FrontEndError>>,
    pub(crate) offers: watch::Sender<Arc<[Arc<dyn Offer>]>>,
}

impl Host {
    pub(crate) fn start(config: FrontEndConfig, fakes: &[&Arc<Fake>]) -> Self {
        let (offers, receiver) = watch::channel(offered(fakes));
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(serve(config, receiver, shutdown.clone()));
        Self { shutdown, task, offers }
    }

    /// As SIGTERM.
    pub(crate) fn terminate(&self) {
        self.shutdown.cancel();
    }

    pub(crate) async fn stop(self) -> Result<(), FrontEndError> {
        self.terminate();
        tokio::time::timeout(LONG, self.task).await.unwrap().unwrap()
    }
}

pub(crate) fn offered(fakes: &[&Arc<Fake>]) -> Arc<[Arc<dyn Offer>]> {
    fakes.iter().map(|&fake| Arc::clone(fake) as Arc<dyn Offer>).collect()
}

/// A directory, with a front end and a stand-in.
pub(crate) struct Pair {
    pub(crate) temp: tempfile::TempDir,
    pub(crate) kubelet: StandIn,
    pub(crate) host: Host,
    pub(crate) dir: PathBuf,
}

impl Pair {
    /// Both, with every resource registered and listed.
    pub(crate) async fn new(fakes: &[&Arc<Fake>]) -> Self {
        Self::with(fakes, |_| {}, |_| {}).await
    }

    pub(crate) async fn with(
        fakes: &[&Arc<Fake>],
        front_end: impl FnOnce(&mut FrontEndConfig),
        standin: impl FnOnce(&mut StandInConfig),
    ) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("device-plugins");
        let mut config = StandInConfig::new(dir.clone());
        standin(&mut config);
        let kubelet = StandIn::new(config).await.unwrap();
        let mut config = quick(&dir);
        front_end(&mut config);
        let host = Host::start(config, fakes);
        let pair = Self { temp, kubelet, host, dir };
        for fake in fakes {
            let name = fake.resource().to_string();
            pair.until(|kubelet| kubelet.capacity(&name).is_some()).await;
        }
        pair
    }

    /// Waits for a condition of the stand-in.
    pub(crate) async fn until(&self, predicate: impl Fn(&StandIn) -> bool) {
        if let Err(error) = self.kubelet.wait_for(LONG, predicate).await {
            panic!("{error}");
        }
    }

    pub(crate) async fn until_registered(&self, resource: &str, times: usize) {
        self.until(|kubelet| registrations(kubelet, resource) >= times && kubelet.streams(resource).len() == 1).await;
    }

    pub(crate) async fn until_registered_at_least(&self, resource: &str, times: usize) {
        self.until(|kubelet| registrations(kubelet, resource) >= times).await;
    }

    /// A client of the only socket of `resource`.
    pub(crate) async fn client(&self, resource: &str) -> DevicePluginClient<Channel> {
        client(&self.socket(resource)).await
    }

    /// The socket under which `resource` was registered last.
    pub(crate) fn socket(&self, resource: &str) -> PathBuf {
        self.dir.join(endpoints(&self.kubelet, resource).pop().unwrap())
    }
}

/// The defaults, with short waits.
pub(crate) fn quick(dir: &Path) -> FrontEndConfig {
    FrontEndConfig {
        poll: Duration::from_millis(50),
        coalesce: Duration::from_millis(20),
        retry: Duration::from_millis(5),
        retry_most: Duration::from_millis(100),
        ..FrontEndConfig::new(dir.to_path_buf())
    }
}

pub(crate) async fn client(socket: &Path) -> DevicePluginClient<Channel> {
    DevicePluginClient::new(channel(socket).await)
}

pub(crate) async fn channel(socket: &Path) -> Channel {
    let socket = socket.to_path_buf();
    let connector = tower::service_fn(move |_: tonic::transport::Uri| {
        let socket = socket.clone();
        async move { UnixStream::connect(socket).await.map(TokioIo::new) }
    });
    Endpoint::from_static("http://localhost").connect_with_connector(connector).await.unwrap()
}

/// A list from a stream, which must come.
pub(crate) async fn next(stream: &mut tonic::Streaming<api::ListAndWatchResponse>) -> Vec<api::Device> {
    let message = tokio::time::timeout(LONG, stream.message()).await;
    message.expect("no list came").unwrap().expect("stream ended").devices
}

pub(crate) fn ids(devices: &[api::Device]) -> Vec<&str> {
    devices.iter().map(|device| device.id.as_str()).collect()
}

pub(crate) fn allocate_request(containers: &[&[&str]]) -> api::AllocateRequest {
    let container =
        |ids: &&[&str]| api::ContainerAllocateRequest { devices_ids: ids.iter().map(|id| (*id).to_owned()).collect() };
    api::AllocateRequest { container_requests: containers.iter().map(container).collect() }
}

/// The sockets under which a resource was registered, in order.
pub(crate) fn endpoints(kubelet: &StandIn, resource: &str) -> Vec<String> {
    let registered = kubelet.events().into_iter().filter_map(|moment| match moment.event {
        Event::Registered { resource, endpoint } => Some((resource, endpoint)),
        _ => None,
    });
    registered.filter(|(name, _)| name == resource).map(|(_, endpoint)| endpoint).collect()
}

pub(crate) fn registrations(kubelet: &StandIn, resource: &str) -> usize {
    endpoints(kubelet, resource).len()
}

pub(crate) fn count(kubelet: &StandIn, which: impl Fn(&Event) -> bool) -> usize {
    kubelet.events().iter().filter(|moment| which(&moment.event)).count()
}

/// Waits for a condition of something else than the stand-in.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + LONG;
    while !condition() {
        assert!(tokio::time::Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A subscriber for the threads that have none.
static OTHERS: Once = Once::new();

/// What this thread logs while the guard lives. The tests' runtimes have one thread.
pub(crate) struct Logged {
    text: Arc<Mutex<Vec<u8>>>,
    _guard: tracing::subscriber::DefaultGuard,
}

impl Logged {
    pub(crate) fn start() -> Self {
        // As long as there is only one subscriber, a thread that has none switches off, for all, what it is the first to
        // log (tracing-core, `Dispatchers::has_just_one`).
        OTHERS.call_once(|| drop(tracing::subscriber::set_global_default(tracing_subscriber::registry())));
        let text = Arc::new(Mutex::new(Vec::new()));
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::INFO)
            .with_ansi(false)
            .with_writer(Writer(Arc::clone(&text)))
            .finish();
        Self { text, _guard: tracing::subscriber::set_default(subscriber) }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.text.lock().unwrap()).lines().map(str::to_owned).collect()
    }

    pub(crate) fn has(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }
}

#[derive(Clone)]
struct Writer(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Writer {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Writer {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
