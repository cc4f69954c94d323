//! A node: the front end, and who is around it.

use crate::devices::{DRIVER, Fake, GPU, Listed, NIC};
use crate::fake_agent::FakeAgent;
use devgate_agent_protocol::Allocated;
use devgate_cdi::{Keeper, KeeperConfig};
use devgate_core::state::Dir;
use devgate_core::{Consumer, Devices as _};
use devgate_dra::{ClaimName, DraConfig, DraError, DraWatch, DriverStatus, InUse};
use devgate_fake_node::RecordedNode;
use devgate_kubelet::api::dra;
use devgate_kubelet::api::dra::dra_plugin_client::DraPluginClient;
use devgate_kubelet::api::registration::registration_client::RegistrationClient;
use devgate_kubelet::api::registration::{InfoRequest, PluginInfo, RegistrationStatus};
use devgate_kubelet::transport;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

pub(crate) const LONG: Duration = Duration::from_secs(20);

type Running = (CancellationToken, JoinHandle<Result<(), DraError>>);

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) devices: Arc<Fake>,
    pub(crate) gpus: Arc<Listed>,
    pub(crate) agent: FakeAgent,
    pub(crate) watch: DraWatch,
    pub(crate) in_use: Arc<Mutex<Option<BTreeSet<ClaimName>>>>,
    keeping: Mutex<Option<JoinHandle<()>>>,
    running: Mutex<Option<Running>>,
}

/// Nodes of six devices.
fn recorded() -> RecordedNode {
    let names = ["gpu0", "gpu1", "gpu2", "gpu3", "nic0", "nic1"];
    let node = |(n, name): (usize, &&str)| {
        format!(
            "P: /devices/virtual/acme/{name}\nN: {name}\nE: DEVNAME=/dev/{name}\nE: SUBSYSTEM=acme\nE: MAJOR=240\nE: MINOR={n}\nA: dev=240:{n}\n\n"
        )
    };
    RecordedNode::parse("test", &names.iter().enumerate().map(node).collect::<String>()).unwrap()
}

impl World {
    /// A node whose front end runs.
    pub(crate) async fn new() -> Self {
        let world = Self::idle();
        world.agent.begin();
        world.start(|_| {});
        world.registered(DRIVER).await;
        world
    }

    /// One whose front end does not.
    pub(crate) fn idle() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["plugins_registry", "state"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let gpus = Listed::new(GPU, Some(DRIVER), &["gpu0", "gpu1", "gpu2", "gpu3"]);
        let nics = Listed::new(NIC, Some(DRIVER), &["nic0", "nic1"]);
        let devices = Fake::new(&[Arc::clone(&gpus), nics, Listed::new("vendor.com/pods", None, &["p"])]);
        let agent = FakeAgent::new(dir.path());
        Self {
            dir,
            devices,
            gpus,
            agent,
            watch: DraWatch::default(),
            in_use: Arc::default(),
            keeping: Mutex::default(),
            running: Mutex::default(),
        }
    }

    /// The host starts: it knows what it knew.
    pub(crate) fn start(&self, change: impl Fn(&mut DraConfig)) {
        let keeper = Arc::new(Keeper::new(KeeperConfig {
            devices: Arc::clone(&self.devices) as Arc<dyn devgate_core::Devices>,
            node: recorded().into(),
            dir: self.cdi(),
            state: Dir::look(&self.dir.path().join("state")).unwrap(),
            hook: None,
        }));
        *self.keeping.lock().unwrap() = Some(tokio::spawn(Arc::clone(&keeper).keep()));
        let in_use = Arc::clone(&self.in_use);
        let in_use: InUse = Arc::new(move || {
            let now = in_use.lock().unwrap().clone();
            Box::pin(async { now })
        });
        let (registry, agent) = (self.dir.path().join("plugins_registry"), self.agent.path.clone());
        // No policy names a driver: those that are offered are all.
        let named = watch::Sender::new(BTreeSet::new()).subscribe();
        let mut config = DraConfig::new(registry, agent, named, keeper, in_use);
        config.watch = self.watch.clone();
        config.look = Duration::from_millis(100);
        config.ask_timeout = Duration::from_secs(2);
        config.prepare_timeout = Duration::from_secs(4);
        change(&mut config);
        let stop = CancellationToken::new();
        let task = tokio::spawn(devgate_dra::serve(config, self.devices.offers(), stop.clone()));
        *self.running.lock().unwrap() = Some((stop, task));
    }

    /// The host ends in good order.
    pub(crate) async fn stop(&self) {
        let (stop, task) = self.running.lock().unwrap().take().unwrap();
        stop.cancel();
        tokio::time::timeout(LONG, task).await.unwrap().unwrap().unwrap();
        self.keeping.lock().unwrap().take().unwrap().abort();
    }

    /// Tells the host to end, and does not wait for it.
    pub(crate) fn begin_stop(&self) {
        self.running.lock().unwrap().as_ref().unwrap().0.cancel();
    }

    /// The host is killed: its sockets stay where they are.
    pub(crate) async fn kill(&self) {
        let kept: Vec<_> =
            [self.registration(DRIVER), self.service(DRIVER)].map(|path| (path.with_extension("kept"), path)).into();
        for (kept, path) in &kept {
            std::fs::rename(path, kept).unwrap();
        }
        let (_, task) = self.running.lock().unwrap().take().unwrap();
        task.abort();
        let _ = task.await;
        self.keeping.lock().unwrap().take().unwrap().abort();
        // What it spawned ends a moment later.
        tokio::time::sleep(Duration::from_millis(200)).await;
        for (kept, path) in &kept {
            std::fs::rename(kept, path).unwrap();
        }
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn cdi(&self) -> PathBuf {
        self.dir.path().join("cdi")
    }

    pub(crate) fn registration(&self, driver: &str) -> PathBuf {
        self.dir.path().join("plugins_registry").join(format!("{driver}@reg.sock"))
    }

    pub(crate) fn service(&self, driver: &str) -> PathBuf {
        self.dir.path().join("plugins_registry").join(format!(".{driver}.sock"))
    }

    /// Waits until something is so.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < LONG, "{what}: {:?}", self.watch.status());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) fn status(&self, driver: &str) -> Option<DriverStatus> {
        self.watch.status()?.drivers.into_iter().find(|status| status.driver == driver)
    }

    /// As the kubelet does it: who is there, and welcome.
    pub(crate) async fn registered(&self, driver: &str) -> PluginInfo {
        let socket = self.registration(driver);
        self.until("the registration socket", || socket.exists()).await;
        let mut client = RegistrationClient::new(transport::connect(socket, LONG).await.unwrap());
        let info = client.get_info(InfoRequest {}).await.unwrap().into_inner();
        let status = RegistrationStatus { plugin_registered: true, error: String::new() };
        client.notify_registration_status(status).await.unwrap();
        info
    }

    pub(crate) async fn client(&self) -> DraPluginClient<Channel> {
        DraPluginClient::new(transport::connect(self.service(DRIVER), LONG).await.unwrap())
    }

    /// Has claims prepared; each one's devices or error.
    pub(crate) async fn prepare(&self, uids: &[&str]) -> BTreeMap<String, Result<Vec<dra::Device>, String>> {
        prepare(self.client().await, uids).await
    }

    /// The same of one.
    pub(crate) async fn prepare_one(&self, uid: &str) -> Result<Vec<dra::Device>, String> {
        let mut all = self.prepare(&[uid]).await;
        assert_eq!(all.len(), 1);
        all.remove(uid).unwrap()
    }

    /// Has claims unprepared; each one's error.
    pub(crate) async fn unprepare(&self, uids: &[&str]) -> BTreeMap<String, String> {
        let claims = uids.iter().map(|uid| claim(uid)).collect();
        let request = dra::NodeUnprepareResourcesRequest { claims };
        let answer = self.client().await.node_unprepare_resources(request).await.unwrap().into_inner();
        answer.claims.into_iter().map(|(uid, answer)| (uid, answer.error)).collect()
    }

    /// The agent knows a claim with these devices.
    pub(crate) fn allocate(&self, uid: &str, devices: &[Allocated]) {
        self.agent.claim(uid, crate::fake_agent::allocated(devices));
    }

    /// The texts of all CDI files.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.cdi()).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
    }
}

pub(crate) async fn prepare(
    mut client: DraPluginClient<Channel>,
    uids: &[&str],
) -> BTreeMap<String, Result<Vec<dra::Device>, String>> {
    let claims = uids.iter().map(|uid| claim(uid)).collect();
    let answer = client.node_prepare_resources(dra::NodePrepareResourcesRequest { claims }).await.unwrap().into_inner();
    let result = |answer: dra::NodePrepareResourceResponse| match answer.error.is_empty() {
        true => Ok(answer.devices),
        false => {
            assert_eq!(answer.devices, []);
            Err(answer.error)
        }
    };
    answer.claims.into_iter().map(|(uid, answer)| (uid, result(answer))).collect()
}

pub(crate) fn claim(uid: &str) -> dra::Claim {
    dra::Claim { namespace: "team".into(), name: format!("claim-{uid}"), uid: uid.into() }
}

pub(crate) fn consumer(uid: &str) -> Consumer {
    Consumer::Claim { driver: DRIVER.into(), uid: uid.into() }
}

/// What the kubelet is told of a device.
pub(crate) fn device(uid: &str, request: &str, name: &str) -> dra::Device {
    dra::Device {
        request_names: vec![request.into()],
        pool_name: "node-1".into(),
        device_name: name.into(),
        cdi_device_ids: vec![format!("devgate.{DRIVER}/claim={uid}_{request}_{name}")],
        share_id: None,
    }
}
