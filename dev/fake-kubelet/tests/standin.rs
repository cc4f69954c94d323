//! The stand-in with a scripted plugin, for what devgate's own front end never does.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test's own functions may fail as a test does")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use devgate_fake_kubelet::{CHECKPOINT, Event, KubeletVersion, Pod, StandIn, StandInConfig};
use devgate_kubelet::api;
use devgate_kubelet::api::device_plugin_server::{DevicePlugin, DevicePluginServer};
use devgate_kubelet::api::registration_client::RegistrationClient;
use hyper_util::rt::TokioIo;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tonic::{Request, Response, Status};

const GPU: &str = "vendor.com/gpu";
const LONG: Duration = Duration::from_secs(30);

/// Answers what it is told to, and counts.
#[derive(Default)]
struct Script {
    options: api::DevicePluginOptions,
    replies: usize,
    fail_pre_start: bool,
    calls: Mutex<Vec<String>>,
    lists: Mutex<Option<mpsc::Receiver<Result<api::ListAndWatchResponse, Status>>>>,
}

struct Plugin(Arc<Script>);

#[tonic::async_trait]
impl DevicePlugin for Plugin {
    async fn get_device_plugin_options(
        &self,
        _: Request<api::Empty>,
    ) -> Result<Response<api::DevicePluginOptions>, Status> {
        Ok(Response::new(self.0.options))
    }

    type ListAndWatchStream = ReceiverStream<Result<api::ListAndWatchResponse, Status>>;

    async fn list_and_watch(&self, _: Request<api::Empty>) -> Result<Response<Self::ListAndWatchStream>, Status> {
        let lists = self.0.lists.lock().unwrap().take();
        lists.map(|lists| Response::new(ReceiverStream::new(lists))).ok_or_else(|| Status::unavailable("once"))
    }

    async fn get_preferred_allocation(
        &self,
        request: Request<api::PreferredAllocationRequest>,
    ) -> Result<Response<api::PreferredAllocationResponse>, Status> {
        let mut ids = request.into_inner().container_requests[0].available_device_i_ds.clone();
        ids.sort();
        self.0.calls.lock().unwrap().push(format!("prefer {ids:?}"));
        // One that there is not, and one too many: both are the kubelet's to ignore.
        ids.insert(0, "never-there".to_owned());
        let container_responses = vec![api::ContainerPreferredAllocationResponse { device_i_ds: ids }];
        Ok(Response::new(api::PreferredAllocationResponse { container_responses }))
    }

    async fn allocate(
        &self,
        request: Request<api::AllocateRequest>,
    ) -> Result<Response<api::AllocateResponse>, Status> {
        let containers = request.into_inner().container_requests;
        assert_eq!(containers.len(), 1, "one container a call");
        let mut ids = containers[0].devices_ids.clone();
        ids.sort();
        self.0.calls.lock().unwrap().push(format!("allocate {ids:?}"));
        let reply =
            api::ContainerAllocateResponse { envs: [("IDS".to_owned(), ids.join(","))].into(), ..Default::default() };
        let container_responses = vec![reply; self.0.replies];
        Ok(Response::new(api::AllocateResponse { container_responses }))
    }

    async fn pre_start_container(
        &self,
        request: Request<api::PreStartContainerRequest>,
    ) -> Result<Response<api::PreStartContainerResponse>, Status> {
        let ids = request.into_inner().devices_ids;
        self.0.calls.lock().unwrap().push(format!("pre-start {ids:?}"));
        if self.0.fail_pre_start {
            return Err(Status::internal("reset failed"));
        }
        Ok(Response::new(api::PreStartContainerResponse {}))
    }
}

type Lists = mpsc::Sender<Result<api::ListAndWatchResponse, Status>>;

/// Serves `script` on `dir/name` and registers it.
async fn plugin(dir: &Path, name: &str, mut script: Script) -> (Arc<Script>, Lists) {
    let (lists, receiver) = mpsc::channel(8);
    script.lists = Mutex::new(Some(receiver));
    let script = Arc::new(script);
    let incoming = UnixListenerStream::new(UnixListener::bind(dir.join(name)).unwrap());
    let server = tonic::transport::Server::builder();
    tokio::spawn(server.serve_with_incoming(DevicePluginServer::new(Plugin(Arc::clone(&script))), incoming));
    register(dir, name).await.unwrap();
    (script, lists)
}

async fn register(dir: &Path, endpoint: &str) -> Result<(), Status> {
    let socket: PathBuf = dir.join("kubelet.sock");
    let connector = tower::service_fn(move |_: tonic::transport::Uri| {
        let socket = socket.clone();
        async move { UnixStream::connect(socket).await.map(TokioIo::new) }
    });
    let channel = tonic::transport::Endpoint::from_static("http://kubelet").connect_with_connector(connector).await;
    let request = api::RegisterRequest {
        version: api::VERSION.to_owned(),
        endpoint: endpoint.to_owned(),
        resource_name: GPU.to_owned(),
        options: None,
    };
    RegistrationClient::new(channel.unwrap()).register(request).await.map(drop)
}

fn list(devices: &[(&str, &str)]) -> Result<api::ListAndWatchResponse, Status> {
    let device =
        |&(id, health): &(&str, &str)| api::Device { id: id.to_owned(), health: health.to_owned(), topology: None };
    Ok(api::ListAndWatchResponse { devices: devices.iter().map(device).collect() })
}

async fn standin(change: impl FnOnce(&mut StandInConfig)) -> (tempfile::TempDir, StandIn) {
    let temp = tempfile::tempdir().unwrap();
    let mut config = StandInConfig::new(temp.path().to_path_buf());
    change(&mut config);
    let kubelet = StandIn::new(config).await.unwrap();
    (temp, kubelet)
}

fn one_reply() -> Script {
    Script { replies: 1, ..Script::default() }
}

#[tokio::test]
async fn an_id_with_both_healths_counts_twice() {
    let (temp, kubelet) = standin(|_| {}).await;
    let (_script, lists) = plugin(temp.path(), "a.sock", one_reply()).await;
    lists.send(list(&[("a", "Healthy"), ("a", "healthy"), ("b", "Healthy"), ("b", "Healthy")])).await.unwrap();
    let counts = |kubelet: &StandIn| (kubelet.capacity(GPU), kubelet.allocatable(GPU));
    kubelet.wait_for(LONG, |kubelet| counts(kubelet) == (Some(3), Some(2))).await.unwrap();
}

#[tokio::test]
async fn a_message_over_4_mib_ends_the_stream() {
    let (temp, kubelet) = standin(|_| {}).await;
    let (_script, lists) = plugin(temp.path(), "a.sock", one_reply()).await;
    lists.send(list(&[("a", "Healthy")])).await.unwrap();
    kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(1)).await.unwrap();
    let ids: Vec<String> = (0..70_000).map(|n| format!("{n:060}")).collect();
    let devices: Vec<_> = ids.iter().map(|id| (id.as_str(), "Healthy")).collect();
    lists.send(list(&devices)).await.unwrap();
    kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(0)).await.unwrap();
    assert_eq!(kubelet.capacity(GPU), Some(1));
    let rejection = kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap_err();
    let text = "no healthy devices present; cannot allocate unhealthy devices vendor.com/gpu";
    assert_eq!(rejection.message, format!("Pod was rejected: Allocate failed due to {text}, which is unexpected"));
}

#[tokio::test]
async fn a_plugin_that_nobody_can_dial_is_not_registered() {
    let (temp, kubelet) = standin(|config| config.dial_timeout = Duration::from_millis(100)).await;
    let status = register(temp.path(), "none.sock").await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unknown);
    assert!(status.message().starts_with("failed to dial device plugin: "), "{}", status.message());
    // Listening is not enough.
    let _deaf = UnixListener::bind(temp.path().join("deaf.sock")).unwrap();
    let status = register(temp.path(), "deaf.sock").await.unwrap_err();
    assert_eq!(status.message(), "failed to dial device plugin: context deadline exceeded");
    assert_eq!(kubelet.events().iter().filter(|m| matches!(m.event, Event::Refused { .. })).count(), 2);
}

#[tokio::test]
async fn pods_are_rejected_with_the_kubelets_words() {
    let (temp, kubelet) = standin(|_| {}).await;
    let why = async |pod: &str, count| kubelet.admit(&Pod::new(pod, &[(GPU, count)])).await.unwrap_err().message;
    assert!(why("a", 1).await.contains("cannot allocate unregistered device vendor.com/gpu,"));
    let (_script, lists) = plugin(temp.path(), "a.sock", Script::default()).await;
    lists.send(list(&[("a", "Healthy"), ("b", "Unhealthy")])).await.unwrap();
    kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(1)).await.unwrap();
    let text = "requested number of devices unavailable for vendor.com/gpu. Requested: 2, Available: 1,";
    assert!(why("b", 2).await.contains(text));
    assert!(why("c", 1).await.contains("no containers return in allocation response"));
}

#[tokio::test]
async fn preference_is_asked_only_where_there_is_a_choice_and_cut_to_what_there_is() {
    let (temp, kubelet) = standin(|_| {}).await;
    let options = api::DevicePluginOptions { get_preferred_allocation_available: true, ..Default::default() };
    let (script, lists) = plugin(temp.path(), "a.sock", Script { options, ..one_reply() }).await;
    lists.send(list(&[("a", "Healthy"), ("b", "Healthy"), ("c", "Healthy")])).await.unwrap();
    kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(3)).await.unwrap();
    kubelet.admit(&Pod::new("one", &[(GPU, 2)])).await.unwrap();
    kubelet.admit(&Pod::new("two", &[(GPU, 1)])).await.unwrap();
    let calls = script.calls.lock().unwrap().clone();
    assert_eq!(calls, [r#"prefer ["a", "b", "c"]"#, r#"allocate ["a", "b"]"#, r#"allocate ["c"]"#]);
}

#[tokio::test]
async fn pre_start_runs_at_every_start_of_a_container_and_may_fail_it() {
    let options = api::DevicePluginOptions { pre_start_required: true, ..Default::default() };
    for fail_pre_start in [false, true] {
        let (temp, kubelet) = standin(|_| {}).await;
        let script = Script { options, fail_pre_start, ..one_reply() };
        let (script, lists) = plugin(temp.path(), "a.sock", script).await;
        lists.send(list(&[("a", "Healthy")])).await.unwrap();
        kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(1)).await.unwrap();
        kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
        for _ in 0..2 {
            let started = kubelet.start_container("pod", "main").await.map(|options| options.envs["IDS"].clone());
            if fail_pre_start {
                assert_eq!(started, Err("rpc error: code = Internal desc = reset failed".to_owned()));
            } else {
                assert_eq!(started, Ok("a".to_owned()));
            }
        }
        let calls = script.calls.lock().unwrap().clone();
        assert_eq!(calls, [r#"allocate ["a"]"#, r#"pre-start ["a"]"#, r#"pre-start ["a"]"#]);
    }
}

#[tokio::test]
async fn a_restart_wipes_files_but_not_directories_and_remembers_pods() {
    let (temp, kubelet) = standin(|_| {}).await;
    let (_script, lists) = plugin(temp.path(), "a.sock", one_reply()).await;
    lists.send(list(&[("a", "Healthy")])).await.unwrap();
    kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(1)).await.unwrap();
    kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
    let before = kubelet.start_container("pod", "main").await.unwrap();
    std::fs::write(temp.path().join("lock"), "").unwrap();
    std::fs::create_dir(temp.path().join("kept")).unwrap();
    std::fs::write(temp.path().join("kept").join("file"), "").unwrap();
    kubelet.stop().await;
    // Another process, as after a crash of the first: all that it knows is in the checkpoint.
    let kubelet = StandIn::new(StandInConfig::new(temp.path().to_path_buf())).await.unwrap();
    assert_eq!(kubelet.files(), ["kept", "kubelet.sock", CHECKPOINT]);
    assert!(temp.path().join("kept").join("file").exists());
    assert_eq!(kubelet.capacity(GPU), Some(0), "known, but stopped");
    assert_eq!(kubelet.allocated(GPU), ["a".to_owned()].into());
    assert_eq!(kubelet.start_container("pod", "main").await.unwrap(), before);
}

#[tokio::test]
async fn the_end_of_an_old_stream_ends_the_new_registration_up_to_1_36() {
    for (version, survives) in [(KubeletVersion::CONFUSED, false), (KubeletVersion::NEWEST, true)] {
        let (temp, kubelet) = standin(|config| config.version = version).await;
        let (_old, old_lists) = plugin(temp.path(), "old.sock", one_reply()).await;
        old_lists.send(list(&[("a", "Healthy")])).await.unwrap();
        let allocatable = |count| move |kubelet: &StandIn| kubelet.allocatable(GPU) == Some(count);
        kubelet.wait_for(LONG, allocatable(1)).await.unwrap();
        let (_new, new_lists) = plugin(temp.path(), "new.sock", one_reply()).await;
        new_lists.send(list(&[("a", "Healthy"), ("b", "Healthy")])).await.unwrap();
        kubelet.wait_for(LONG, allocatable(2)).await.unwrap();
        // Up to 1.36 what the old one says still counts.
        old_lists.send(list(&[("a", "Healthy"), ("c", "Unhealthy")])).await.unwrap();
        let lists = |kubelet: &StandIn| {
            let lists = kubelet.events();
            lists.iter().filter(|m| matches!(m.event, Event::List { .. })).count()
        };
        kubelet.wait_for(LONG, |kubelet| lists(kubelet) == 3).await.unwrap();
        assert_eq!(kubelet.allocatable(GPU), Some(if survives { 2 } else { 1 }));
        drop(old_lists);
        let ended = |kubelet: &StandIn| kubelet.streams(GPU).len() == usize::from(survives);
        kubelet.wait_for(LONG, ended).await.unwrap();
        let admitted = kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await;
        assert_eq!(admitted.is_ok(), survives, "{version:?}: {admitted:?}");
    }
}

#[tokio::test]
async fn a_failed_second_registration_leaves_stale_devices_up_to_1_36() {
    for (version, stale) in [(KubeletVersion::CONFUSED, true), (KubeletVersion::NEWEST, false)] {
        let (temp, kubelet) = standin(|config| config.version = version).await;
        let (_script, lists) = plugin(temp.path(), "a.sock", one_reply()).await;
        lists.send(list(&[("a", "Healthy")])).await.unwrap();
        kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(1)).await.unwrap();
        register(temp.path(), "none.sock").await.unwrap_err();
        drop(lists);
        kubelet.wait_for(LONG, |kubelet| kubelet.streams(GPU).is_empty()).await.unwrap();
        assert_eq!(kubelet.allocatable(GPU), Some(usize::from(stale)), "{version:?}");
    }
}

#[tokio::test]
async fn without_its_checkpoint_the_node_is_a_new_one() {
    let (temp, kubelet) = standin(|_| {}).await;
    let (_script, lists) = plugin(temp.path(), "a.sock", one_reply()).await;
    lists.send(list(&[("a", "Healthy")])).await.unwrap();
    kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(1)).await.unwrap();
    kubelet.stop().await;
    // The kubelet does not look while it is away: the API server has what it was told last.
    assert_eq!(kubelet.capacity(GPU), Some(1));
    std::fs::remove_file(temp.path().join(CHECKPOINT)).unwrap();
    kubelet.start().await.unwrap();
    assert_eq!(kubelet.capacity(GPU), Some(0));
    let rejection = kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap_err();
    assert!(rejection.message.contains("cannot allocate unregistered device"), "{rejection}");
}
