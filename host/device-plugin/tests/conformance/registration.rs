//! Lines 1 to 15: sockets and registration.

use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use devgate_device_plugin::FrontEndConfig;
use devgate_fake_kubelet::{Answer, CHECKPOINT, Event, Pod, StandIn, StandInConfig};
use devgate_kubelet::api;
use devgate_types::ResourceName;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnixListenerStream;

use crate::fake::Fake;
use crate::harness::{GPU, Host, LONG, Logged, NIC, Pair, count, endpoints, eventually, quick, registrations};

/// The name of a socket that no process listens on any more.
fn leave_dead_socket(dir: &std::path::Path, name: &str) {
    drop(UnixListener::bind(dir.join(name)).unwrap());
}

#[tokio::test]
async fn c01_each_incarnation_has_a_new_safe_socket_name() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    for times in 2..=4 {
        pair.kubelet.restart().await.unwrap();
        pair.until_registered(GPU, times).await;
    }
    let mut names = endpoints(&pair.kubelet, GPU);
    for name in &names {
        assert!(name.len() <= 75, "{name}");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)), "{name}");
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), registrations(&pair.kubelet, GPU));
    assert!(pair.socket(GPU).exists());
}

#[tokio::test]
async fn c02_only_its_own_stale_sockets_are_removed() {
    let temp = tempfile::tempdir().unwrap();
    let kubelet = StandIn::new(StandInConfig::new(temp.path().to_path_buf())).await.unwrap();
    for name in ["devgate-vendor.com_gpu-0123456789abcdef.sock", "acme-gpu.sock"] {
        leave_dead_socket(temp.path(), name);
    }
    let _other_instance = UnixListener::bind(temp.path().join("devgate-live-0123456789abcdef.sock")).unwrap();
    std::fs::write(temp.path().join(CHECKPOINT), "kept").unwrap();
    let host = Host::start(quick(temp.path()), &[]);
    eventually("stale socket removed", || !kubelet.files().iter().any(|name| name.contains("vendor.com_gpu"))).await;
    host.stop().await.unwrap();
    let left = ["acme-gpu.sock", "devgate-live-0123456789abcdef.sock", "kubelet.sock", CHECKPOINT];
    assert_eq!(kubelet.files(), left);
}

#[tokio::test]
async fn c03_nothing_but_its_sockets_lies_in_the_directory() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"]), &Fake::new(NIC, &["b"])]).await;
    pair.kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
    let files = pair.kubelet.files();
    let others: Vec<_> = files.iter().filter(|name| !name.starts_with("devgate-")).collect();
    assert_eq!(others, ["kubelet.sock", CHECKPOINT]);
    assert_eq!(files.len(), 4);
}

type Seen = Arc<Mutex<Vec<(api::RegisterRequest, api::DevicePluginOptions)>>>;

/// A kubelet that only writes down what it is asked, and looks at the plugin while it is asked, or does not even do that.
struct Recorder {
    dir: std::path::PathBuf,
    looks: bool,
    seen: Seen,
}

impl Recorder {
    /// Serves on a socket in `dir`.
    fn serve(dir: &std::path::Path, looks: bool, listener: tokio::net::UnixListener) -> (Seen, JoinHandle<()>) {
        let seen = Seen::default();
        let recorder = Self { dir: dir.to_path_buf(), looks, seen: Arc::clone(&seen) };
        let server = tonic::transport::Server::builder().serve_with_incoming(
            api::registration_server::RegistrationServer::new(recorder),
            UnixListenerStream::new(listener),
        );
        (seen, tokio::spawn(async move { server.await.unwrap() }))
    }
}

#[tonic::async_trait]
impl api::registration_server::Registration for Recorder {
    async fn register(
        &self,
        request: tonic::Request<api::RegisterRequest>,
    ) -> Result<tonic::Response<api::Empty>, tonic::Status> {
        let request = request.into_inner();
        let options = if self.looks {
            let mut plugin = crate::harness::client(&self.dir.join(&request.endpoint)).await;
            plugin.get_device_plugin_options(api::Empty {}).await?.into_inner()
        } else {
            api::DevicePluginOptions::default()
        };
        self.seen.lock().unwrap().push((request, options));
        Ok(tonic::Response::new(api::Empty {}))
    }
}

async fn recorded(config: impl FnOnce(&mut FrontEndConfig)) -> (api::RegisterRequest, api::DevicePluginOptions) {
    let temp = tempfile::tempdir().unwrap();
    let listener = tokio::net::UnixListener::bind(temp.path().join("kubelet.sock")).unwrap();
    let (seen, server) = Recorder::serve(temp.path(), true, listener);
    let mut front_end = quick(temp.path());
    config(&mut front_end);
    let host = Host::start(front_end, &[&Fake::new(GPU, &["a"])]);
    eventually("registered", || !seen.lock().unwrap().is_empty()).await;
    host.stop().await.unwrap();
    server.abort();
    let seen = seen.lock().unwrap().pop();
    seen.unwrap()
}

#[tokio::test]
async fn c04_the_server_answers_before_register_is_sent() {
    // The recorder asks for the options inside Register, and answers only when it has them.
    let (request, options) = recorded(|_| {}).await;
    assert_eq!(request.resource_name, GPU);
    assert_eq!(Some(options), request.options);
}

#[tokio::test]
async fn c05_options_and_lists_are_served_while_register_is_pending() {
    let fake = Fake::new(GPU, &["a", "b"]);
    let temp = tempfile::tempdir().unwrap();
    let kubelet = StandIn::new(StandInConfig::new(temp.path().to_path_buf())).await.unwrap();
    kubelet.answer(Answer::Late(LONG * 10));
    let _host = Host::start(quick(temp.path()), &[&fake]);
    kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(2)).await.unwrap();
    kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
}

#[tokio::test]
async fn c06_register_carries_version_file_name_resource_and_options() {
    for asked in [None, Some(false), Some(true)] {
        let configure = |config: &mut FrontEndConfig| {
            if let Some(preferred) = asked {
                config.preferred_allocation = preferred;
            }
        };
        let (request, options) = recorded(configure).await;
        assert_eq!(request.version, "v1beta1");
        assert_eq!(request.resource_name, GPU);
        assert!(!request.endpoint.contains('/') && request.endpoint.ends_with(".sock"), "{}", request.endpoint);
        assert_eq!(request.options, Some(options));
        assert_eq!(options.get_preferred_allocation_available, asked.unwrap_or(true));
        assert!(!options.pre_start_required);
    }
}

#[tokio::test]
async fn c07_a_kubelet_that_is_late_but_comes_is_tolerated() {
    assert!(FrontEndConfig::new("/x".into()).register_timeout >= Duration::from_secs(15));
    let temp = tempfile::tempdir().unwrap();
    let kubelet = StandIn::new(StandInConfig::new(temp.path().to_path_buf())).await.unwrap();
    kubelet.answer(Answer::Late(Duration::from_secs(3_600)));
    let logged = Logged::start();
    let config = FrontEndConfig {
        register_timeout: Duration::from_millis(300),
        // So that the stream is there before the next attempt, however slow the machine is.
        retry: LONG,
        retry_most: LONG,
        ..quick(temp.path())
    };
    let _host = Host::start(config, &[&Fake::new(GPU, &["a"])]);
    kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(1)).await.unwrap();
    eventually("the timeout is logged", || logged.has("did not answer within 300ms")).await;
    kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
    assert_eq!(count(&kubelet, |event| matches!(event, Event::Asked { .. })), 1);
}

#[tokio::test]
async fn c07_a_kubelet_that_never_answers_is_asked_again() {
    let temp = tempfile::tempdir().unwrap();
    let kubelet = StandIn::new(StandInConfig::new(temp.path().to_path_buf())).await.unwrap();
    kubelet.answer(Answer::Hang);
    let config = FrontEndConfig { register_timeout: Duration::from_millis(50), ..quick(temp.path()) };
    let _host = Host::start(config, &[&Fake::new(GPU, &["a"])]);
    let asked = |kubelet: &StandIn| count(kubelet, |event| matches!(event, Event::Asked { .. }));
    kubelet.wait_for(LONG, |kubelet| asked(kubelet) >= 3).await.unwrap();
    assert_eq!(kubelet.capacity(GPU), None);
    kubelet.answer(Answer::Real);
    kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(1)).await.unwrap();
}

#[tokio::test]
async fn c08_transient_refusals_are_retried_and_permanent_ones_hardly() {
    let temp = tempfile::tempdir().unwrap();
    let kubelet = StandIn::new(StandInConfig::new(temp.path().to_path_buf())).await.unwrap();
    let asked = |kubelet: &StandIn| count(kubelet, |event| matches!(event, Event::Asked { .. }));
    let logged = Logged::start();
    kubelet.answer(Answer::Refuse("failed to dial device plugin: context deadline exceeded".to_owned()));
    let host = Host::start(quick(temp.path()), &[&Fake::new(GPU, &["a"])]);
    kubelet.wait_for(LONG, |kubelet| asked(kubelet) >= 4).await.unwrap();
    let text = "kubelet refused: failed to dial device plugin: context deadline exceeded";
    assert_eq!(logged.lines().iter().filter(|line| line.contains(text)).count(), 1);
    kubelet.answer(Answer::Real);
    kubelet.wait_for(LONG, |kubelet| kubelet.capacity(GPU) == Some(1)).await.unwrap();
    host.stop().await.unwrap();

    kubelet.answer(Answer::Refuse(format!("the ResourceName {GPU:?} is invalid")));
    let before = asked(&kubelet);
    let _host = Host::start(quick(temp.path()), &[&Fake::new(GPU, &["a"])]);
    kubelet.wait_for(LONG, |kubelet| asked(kubelet) > before).await.unwrap();
    // Fifty times the delay after a transient refusal.
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(asked(&kubelet), before + 1);
    assert!(logged.has("kubelet refused for good: the ResourceName \"vendor.com/gpu\" is invalid"));
}

#[tokio::test]
async fn c09_illegal_names_cannot_be_offered_and_the_kubelet_agrees() {
    let pair = Pair::new(&[]).await;
    let channel = crate::harness::channel(&pair.kubelet.socket()).await;
    let mut registration = api::registration_client::RegistrationClient::new(channel);
    for name in ["gpu", "kubernetes.io/gpu", "x.kubernetes.io/gpu", "requests.x.com/gpu", "x.com/-", "X.com/gpu"] {
        assert!(ResourceName::try_new(name).is_err(), "{name}");
        let request = api::RegisterRequest {
            version: api::VERSION.to_owned(),
            endpoint: "x.sock".to_owned(),
            resource_name: name.to_owned(),
            options: None,
        };
        let status = registration.register(request).await.unwrap_err();
        assert_eq!(
            (status.code(), status.message()),
            (tonic::Code::Unknown, &*format!("the ResourceName {name:?} is invalid"))
        );
    }
    let request = api::RegisterRequest { version: "v2".to_owned(), ..Default::default() };
    let status = registration.register(request).await.unwrap_err();
    let text = "requested API version \"v2\" is not supported by kubelet. Supported version is [\"v1beta1\"]";
    assert_eq!(status.message(), text);
}

#[tokio::test]
async fn c10_a_kubelet_that_is_not_there_yet_is_waited_for() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("not").join("yet");
    let _host = Host::start(quick(&dir), &[&Fake::new(GPU, &["a"])]);
    tokio::time::sleep(Duration::from_millis(100)).await;
    std::fs::create_dir_all(&dir).unwrap();
    // A socket that refuses, as a crashed kubelet leaves it.
    leave_dead_socket(&dir, "kubelet.sock");
    tokio::time::sleep(Duration::from_millis(200)).await;
    let kubelet = StandIn::new(StandInConfig::new(dir)).await.unwrap();
    kubelet.wait_for(LONG, |kubelet| kubelet.allocatable(GPU) == Some(1)).await.unwrap();
}

/// A socket has its name a moment before anybody listens on it, and nothing tells when that is.
#[tokio::test]
async fn c10_a_kubelet_that_refuses_connections_for_a_moment_is_tried_again() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let temp = tempfile::tempdir().unwrap();
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    let address = SocketAddrUnix::new(temp.path().join("kubelet.sock")).unwrap();
    rustix::net::bind(&socket, &address).unwrap();
    let logged = Logged::start();
    let host = Host::start(quick(temp.path()), &[&Fake::new(GPU, &["a"])]);
    eventually("refused", || logged.has("kubelet does not answer: connection refused")).await;
    rustix::net::listen(&socket, 8).unwrap();
    let listener = tokio::net::UnixListener::from_std(UnixListener::from(socket)).unwrap();
    let (seen, _server) = Recorder::serve(temp.path(), true, listener);
    eventually("registered", || !seen.lock().unwrap().is_empty()).await;
    host.stop().await.unwrap();
}

/// The wipe of a kubelet's start, noticed by nothing else: its socket looks like the one before.
#[tokio::test]
async fn c54_a_socket_that_goes_before_its_stream_is_opened_is_made_again() {
    let temp = tempfile::tempdir().unwrap();
    let listener = tokio::net::UnixListener::bind(temp.path().join("kubelet.sock")).unwrap();
    let (seen, _server) = Recorder::serve(temp.path(), false, listener);
    let mut config = quick(temp.path());
    config.stream_wait = LONG * 100;
    let host = Host::start(config, &[&Fake::new(GPU, &["a"])]);
    for times in 1..=3 {
        eventually("registered", || seen.lock().unwrap().len() == times).await;
        let endpoint = seen.lock().unwrap().last().unwrap().0.endpoint.clone();
        std::fs::remove_file(temp.path().join(endpoint)).unwrap();
    }
    eventually("registered", || seen.lock().unwrap().len() == 4).await;
    host.stop().await.unwrap();
}

#[tokio::test]
async fn c11_the_old_stream_ends_before_the_next_registration() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    for times in 2..=7 {
        if times % 2 == 0 {
            std::fs::remove_file(pair.socket(GPU)).unwrap();
        } else {
            pair.kubelet.recreate_socket().await.unwrap();
        }
        pair.until_registered(GPU, times).await;
    }
    let mut open = 0;
    for moment in pair.kubelet.events() {
        match moment.event {
            Event::Asked { .. } => assert_eq!(open, 0, "asked with a stream open"),
            Event::Registered { .. } => open += 1,
            Event::StreamEnded { .. } => open -= 1,
            _ => {}
        }
    }
    assert_eq!(open, 1);
}

#[tokio::test]
async fn c12_one_resources_failure_leaves_the_other_alone() {
    let (gpu, nic) = (Fake::new(GPU, &["a"]), Fake::new(NIC, &["b"]));
    // An allocation that hangs does so for longer than the test.
    let hangs = |config: &mut FrontEndConfig| config.allocate_timeout = LONG * 10;
    let pair = Pair::with(&[&gpu, &nic], hangs, |_| {}).await;
    assert_ne!(pair.socket(GPU), pair.socket(NIC));
    gpu.close_gate();
    let kubelet = pair.kubelet.clone();
    let mut hung = pair.client(GPU).await;
    let hung = tokio::spawn(async move { hung.allocate(crate::harness::allocate_request(&[&["a"]])).await });
    eventually("allocation hangs", || gpu.inside() == 1).await;
    let pod = Pod::new("meanwhile", &[(NIC, 1)]);
    let admitted = tokio::time::timeout(LONG, kubelet.admit(&pod)).await;
    admitted.expect("held up by the other").unwrap();
    kubelet.remove("meanwhile");
    std::fs::remove_file(pair.socket(GPU)).unwrap();
    kubelet.admit(&Pod::new("pod", &[(NIC, 1)])).await.unwrap();
    pair.until_registered(GPU, 2).await;
    assert_eq!(registrations(&kubelet, NIC), 1);
    assert_eq!(kubelet.streams(NIC).len(), 1);
    hung.abort();
}

#[tokio::test]
async fn c12_a_resource_may_come_later_be_replaced_and_go() {
    let (gpu, nic) = (Fake::new(GPU, &["a"]), Fake::new(NIC, &["b"]));
    let pair = Pair::new(&[&gpu]).await;
    pair.host.offers.send_replace(crate::harness::offered(&[&gpu, &nic]));
    pair.until(|kubelet| kubelet.allocatable(NIC) == Some(1)).await;
    // A reload: another offer of the same name, without a new stream.
    let reloaded = Fake::new(GPU, &["a", "c"]);
    pair.host.offers.send_replace(crate::harness::offered(&[&reloaded, &nic]));
    pair.until(|kubelet| kubelet.allocatable(GPU) == Some(2)).await;
    pair.kubelet.admit(&Pod::new("pod", &[(GPU, 2)])).await.unwrap();
    assert_eq!((gpu.calls().len(), reloaded.calls().len()), (0, 1));
    assert_eq!(registrations(&pair.kubelet, GPU), 1);
    pair.host.offers.send_replace(crate::harness::offered(&[&nic]));
    pair.until(|kubelet| kubelet.allocatable(GPU) == Some(0) && kubelet.streams(GPU).is_empty()).await;
    eventually("socket removed", || !pair.socket(GPU).exists()).await;
    pair.host.offers.send_replace(crate::harness::offered(&[&gpu, &nic]));
    pair.until(|kubelet| kubelet.allocatable(GPU) == Some(1)).await;
    assert_eq!(registrations(&pair.kubelet, NIC), 1);
}
