//! Who has which device, asked of the kubelet (line 61).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use devgate_core::{Holders, HoldersFeed, holders};
use devgate_device_plugin::pod_resources::follow;
use devgate_device_plugin::{Allocating, FrontEndConfig, PodResourcesConfig};
use devgate_fake_kubelet::{Container, KubeletVersion, Pod, PodsAnswer, StandInConfig};
use devgate_kubelet::api::pods::pod_resources_lister_server::{PodResourcesLister, PodResourcesListerServer};
use devgate_kubelet::api::pods::{
    ContainerDevices, ContainerResources, ListPodResourcesRequest, ListPodResourcesResponse, PodResources, SOCKET,
};
use tokio::task::JoinHandle;
use tonic::{Request, Response, Status};

use crate::fake::{Fake, on_nodes};
use crate::harness::{GPU, LONG, NIC, Pair, eventually};

/// What is seen of the kubelet's pods; the kubelet is not asked any more when this is dropped.
struct Watch {
    feed: HoldersFeed,
    task: JoinHandle<()>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The defaults, with short waits.
fn quick(dir: &Path) -> PodResourcesConfig {
    PodResourcesConfig {
        every: Duration::from_millis(50),
        pause: Duration::from_millis(5),
        patience: Duration::from_millis(500),
        longest: Duration::from_millis(200),
        ..PodResourcesConfig::new(dir.join("pod-resources"), dir.join("device-plugins"))
    }
}

impl Watch {
    fn new(config: PodResourcesConfig) -> Self {
        let (source, feed) = holders();
        let task = tokio::spawn(follow(config, source));
        Self { feed, task }
    }

    async fn until(&self, what: impl Fn(&Holders) -> bool) -> Arc<Holders> {
        let mut newest = self.feed.subscribe();
        let seen = newest.wait_for(|holders| holders.as_ref().is_some_and(|holders| what(holders)));
        let seen = tokio::time::timeout(LONG, seen).await.expect("seen in time").unwrap();
        seen.clone().unwrap()
    }
}

/// `resource id: namespace/pod/container …`, one line each.
fn show(holders: &Holders) -> String {
    let line = |((resource, id), holders): (&devgate_core::Offered, &Vec<devgate_core::Holder>)| {
        let who: Vec<_> = holders.iter().map(|h| format!("{}/{}/{}", h.namespace, h.pod, h.container)).collect();
        format!("{resource} {id}: {}", who.join(" "))
    };
    holders.seen.iter().map(line).collect::<Vec<_>>().join("\n")
}

async fn pair(fakes: &[&Arc<Fake>], minor: u32) -> Pair {
    Pair::with(fakes, |_| {}, with_pods(minor)).await
}

/// A kubelet that tells of its pods.
fn with_pods(minor: u32) -> impl FnOnce(&mut StandInConfig) {
    move |config| {
        config.version = KubeletVersion::minor(minor);
        config.pod_resources_dir = config.dir.parent().map(|dir| dir.join("pod-resources"));
    }
}

fn recorded(holders: &Holders) -> BTreeSet<&str> {
    let ids = holders.recorded.as_ref().unwrap();
    ids.iter().map(|(_, id)| id.as_str()).collect()
}

#[tokio::test]
async fn c61_who_has_a_device_is_seen_once_for_each_id_and_across_restarts() {
    let (gpu, nic) = (Fake::new(GPU, &[]), Fake::new(NIC, &["nic-0"]));
    gpu.set(vec![on_nodes("gpu-0", &[0, 1])]);
    let pair = pair(&[&gpu, &nic], 33).await;
    let watch = Watch::new(quick(pair.temp.path()));
    assert_eq!(show(&*watch.until(|_| true).await), "");
    pair.kubelet.admit(&Pod::new("train", &[(GPU, 1), (NIC, 1)])).await.unwrap();
    let seen = watch.until(|holders| holders.seen.len() == 2).await;
    insta::assert_snapshot!(show(&seen), @r"
    vendor.com/gpu gpu-0: default/train/main
    vendor.com/nic nic-0: default/train/main
    ");
    // Another socket is another process: it is connected to again, as the directory and not the socket is known.
    pair.kubelet.restart().await.unwrap();
    let again = watch.until(|holders| holders.process > seen.process).await;
    assert_eq!(show(&again), show(&seen));
    // A pod that has ended is listed up to 1.33, and one that is gone is not; neither has anything.
    pair.kubelet.end("train");
    watch.until(|holders| holders.seen.is_empty()).await;
    pair.kubelet.remove("train");
    watch.until(|holders| holders.poll > again.poll + 3 && holders.seen.is_empty()).await;
    pair.host.stop().await.unwrap();
}

/// Ordinary init containers are not listed, and a kubelet that has just started lists no pod. Its own record has both.
#[tokio::test]
async fn c61_what_the_list_leaves_out_is_in_the_kubelets_own_record() {
    let gpu = Fake::new(GPU, &["gpu-0", "gpu-1"]);
    let pair = pair(&[&gpu], 34).await;
    let watch = Watch::new(quick(pair.temp.path()));
    let pod = Pod {
        name: "convert".to_owned(),
        containers: vec![Container::init("fetch", &[(GPU, 2)]), Container::new("main", &[(GPU, 1)])],
    };
    pair.kubelet.admit(&pod).await.unwrap();
    let seen = watch.until(|holders| holders.seen.len() == 1 && recorded(holders).len() == 2).await;
    assert!(show(&seen).ends_with(": default/convert/main"), "{}", show(&seen));
    pair.kubelet.answer_pods(PodsAnswer::Unsynced);
    let unsynced = watch.until(|holders| holders.seen.is_empty()).await;
    assert_eq!(recorded(&unsynced).len(), 2);
    pair.host.stop().await.unwrap();
}

#[tokio::test]
async fn c61_a_kubelet_in_trouble_is_asked_less_and_tells_nothing_new() {
    let gpu = Fake::new(GPU, &["gpu-0"]);
    let pair = pair(&[&gpu], 36).await;
    pair.kubelet.admit(&Pod::new("train", &[(GPU, 1)])).await.unwrap();
    let watch = Watch::new(quick(pair.temp.path()));
    let seen = watch.until(|holders| holders.seen.len() == 1).await;
    for answer in [PodsAnswer::TooMany, PodsAnswer::Hang] {
        pair.kubelet.answer_pods(answer);
        // A caller now waits in vain, and what was seen stands. It is asked each 45 ms at most.
        let (asked, begun) = (pair.kubelet.pods_asked(), std::time::Instant::now());
        assert_eq!(watch.feed.look(Duration::from_millis(1_000)).await, None);
        pair.until(|kubelet| kubelet.pods_asked() > asked).await;
        let questions = pair.kubelet.pods_asked() - asked;
        let most = 2 + begun.elapsed().as_millis() / 45;
        assert!(questions as u128 <= most, "{questions} in {:?}", begun.elapsed());
        assert_eq!(watch.feed.newest().unwrap().seen, seen.seen);
        pair.kubelet.answer_pods(PodsAnswer::Real);
        let now = watch.feed.newest().unwrap().poll;
        watch.until(|holders| holders.poll > now).await;
    }
    // Everybody who asks at the same time is answered by few looks.
    let asked = pair.kubelet.pods_asked();
    let questions = (0..1_000).map(|_| {
        let feed = watch.feed.clone();
        tokio::spawn(async move { feed.look(LONG).await })
    });
    for question in questions.collect::<Vec<_>>() {
        assert!(question.await.unwrap().is_some());
    }
    assert!(pair.kubelet.pods_asked() - asked < 100);
    pair.kubelet.stop().await;
    assert_eq!(watch.feed.look(Duration::from_millis(300)).await, None);
    assert_eq!(watch.feed.newest().unwrap().seen, seen.seen, "a kubelet that is away frees nothing");
    pair.kubelet.start().await.unwrap();
    watch.until(|holders| holders.process > seen.process && holders.seen.len() == 1).await;
    pair.host.stop().await.unwrap();
}

/// The kubelet answers everybody together a hundred times a second, and does not say to whom it does not.
#[tokio::test]
async fn c61_who_asks_again_and_again_is_answered_at_the_hosts_pace() {
    let pair = pair(&[&Fake::new(GPU, &["gpu-0"])], 36).await;
    let pause = Duration::from_millis(50);
    let watch = Watch::new(PodResourcesConfig {
        // What is asked unasked must not come in between.
        every: LONG,
        pause,
        ..quick(pair.temp.path())
    });
    let begun = std::time::Instant::now();
    for _ in 0..11 {
        assert!(watch.feed.look(LONG).await.is_some());
    }
    assert!(begun.elapsed() >= pause * 10, "{:?}", begun.elapsed());
    pair.host.stop().await.unwrap();
}

/// The kubelet forgets what an allocation that is under way is about when it is asked (kubernetes#137534), and gives it twice.
#[tokio::test]
async fn c61_the_kubelet_is_not_asked_while_it_has_something_allocated() {
    let gpu = Fake::new(GPU, &["gpu-0"]);
    let allocating = Allocating::default();
    let host = |config: &mut FrontEndConfig| {
        config.allocating = allocating.clone();
        config.allocate_timeout = LONG * 10;
    };
    let pair = Pair::with(&[&gpu], host, with_pods(36)).await;
    let watch = Watch::new(PodResourcesConfig {
        patience: LONG * 10,
        allocating: allocating.clone(),
        ..quick(pair.temp.path())
    });
    watch.until(|holders| holders.poll > 3).await;
    gpu.close_gate();
    let admitted = tokio::spawn({
        let kubelet = pair.kubelet.clone();
        async move { kubelet.admit(&Pod::new("train", &[(GPU, 1)])).await }
    });
    eventually("the allocation to begin", || gpu.inside() == 1).await;
    // A question that was under way by then may still be answered.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let asked = pair.kubelet.pods_asked();
    assert_eq!(watch.feed.look(Duration::from_millis(500)).await, None);
    assert_eq!(pair.kubelet.pods_asked(), asked);
    gpu.open_gate();
    admitted.await.unwrap().unwrap();
    let seen = watch.until(|holders| !holders.seen.is_empty()).await;
    assert_eq!(show(&seen), "vendor.com/gpu gpu-0: default/train/main");
    pair.host.stop().await.unwrap();
}

/// Serves one answer for ever, and no other call, as a kubelet without `Get` does.
struct Large(ListPodResourcesResponse);

#[tonic::async_trait]
impl PodResourcesLister for Large {
    async fn list(&self, _: Request<ListPodResourcesRequest>) -> Result<Response<ListPodResourcesResponse>, Status> {
        Ok(Response::new(self.0.clone()))
    }
}

fn serve_large(socket: PathBuf, devices: usize) {
    let id = |n: usize| format!("{n:063}");
    let entry = |resource: &str| ContainerDevices {
        resource_name: resource.to_owned(),
        device_ids: (0..devices).map(id).collect(),
        topology: None,
    };
    let container = ContainerResources {
        name: "main".to_owned(),
        devices: vec![entry(GPU), entry(GPU), entry("no resource"), entry("other.com/x")],
        cpu_ids: vec![1],
        ..ContainerResources::default()
    };
    let answer = ListPodResourcesResponse {
        pod_resources: vec![PodResources {
            name: "large".to_owned(),
            namespace: "default".to_owned(),
            containers: vec![container, ContainerResources::default()],
        }],
    };
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let incoming = tokio_stream::wrappers::UnixListenerStream::new(listener);
    let service = PodResourcesListerServer::new(Large(answer)).max_encoding_message_size(usize::MAX);
    tokio::spawn(tonic::transport::Server::builder().add_service(service).serve_with_incoming(incoming));
}

#[tokio::test]
async fn c61_an_answer_of_many_mebibytes_is_read_and_each_id_is_in_it_once() {
    let dir = tempfile::tempdir().unwrap();
    let config = PodResourcesConfig { patience: LONG, ..quick(dir.path()) };
    // 4 entries of 50,000 ids of 65 bytes: 13 MB.
    serve_large(dir.path().join("pod-resources").join(SOCKET), 50_000);
    let watch = Watch::new(config);
    let seen = watch.until(|_| true).await;
    assert_eq!(seen.seen.len(), 100_000, "of two resources");
    assert!(seen.seen.values().all(|holders| holders.len() == 1));
    assert_eq!(seen.recorded, None, "no checkpoint says nothing");
}
