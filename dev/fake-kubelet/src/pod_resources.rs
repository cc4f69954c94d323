//! The pod-resources API (`pkg/kubelet/apis/podresources/server_v1.go`, List).

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use super::devices::Allocation;
use super::{Container, PodsAnswer, Server, StandIn};
use devgate_kubelet::api::pods::pod_resources_lister_server::{PodResourcesLister, PodResourcesListerServer};
use devgate_kubelet::api::pods::{
    ContainerDevices, ContainerResources, DynamicResource, ListPodResourcesRequest, ListPodResourcesResponse, NumaNode,
    PodResources, SOCKET, TopologyInfo,
};
use devgate_kubelet::transport::{Incoming, bind};

/// The namespace of all pods.
const NAMESPACE: &str = "default";

/// Calls a second, and at once (`pkg/kubelet/apis/podresources/constants.go`).
const RATE: f64 = 100.0;
const BURST: f64 = 10.0;

impl StandIn {
    /// What becomes of questions about pods and their devices from now on, those in flight included.
    pub fn answer_pods(&self, answer: PodsAnswer) {
        self.shared.pods_answer.send_replace(answer);
    }

    /// How often pods were asked for.
    #[must_use]
    pub fn pods_asked(&self) -> usize {
        self.shared.pods_asked.load(SeqCst)
    }

    /// A new socket, where the API is served at all.
    pub(super) fn serve_pods(&self) -> io::Result<Option<Server>> {
        let Some(dir) = &self.shared.config.pod_resources_dir else {
            return Ok(None);
        };
        std::fs::DirBuilder::new().recursive(true).mode(0o750).create(dir)?;
        let socket = dir.join(SOCKET);
        match std::fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let (stop, cut) = (CancellationToken::new(), CancellationToken::new());
        let incoming = Incoming::new(bind(&socket)?, usize::MAX, cut.clone());
        let stopped = stop.clone().cancelled_owned();
        let service = PodResourcesListerServer::new(Lister {
            standin: self.clone(),
            bucket: Mutex::new((BURST, Instant::now())),
        });
        let task = tokio::spawn(async move {
            let served = tonic::transport::Server::builder().serve_with_incoming_shutdown(service, incoming, stopped);
            if let Err(error) = served.await {
                tracing::error!(%error, "stand-in's pod-resources server failed");
            }
        });
        Ok(Some(Server { stop, cut, task }))
    }

    /// All pods that the kubelet knows, those of a list of 1.33 and older that have ended as well, and what their containers
    /// have that are no ordinary init containers.
    fn pods(&self) -> ListPodResourcesResponse {
        // `UpdateAllocatedDevices`: asking frees.
        let node = {
            let mut state = self.shared.lock();
            state.node.free_removed();
            state.node.clone()
        };
        let listed = |name: &String| self.shared.config.version.lists_ended_pods() || node.active.contains(name);
        let claim = |name: &String| DynamicResource { claim_namespace: NAMESPACE.to_owned(), claim_name: name.clone() };
        let specs = self.specs();
        let pods = specs.iter().filter(|(name, _)| listed(name)).map(|(name, pod)| {
            let has = |container: &Container| node.pods.get(name)?.get(&container.name);
            let containers = pod.containers.iter().filter(|container| !container.init);
            PodResources {
                name: name.clone(),
                namespace: NAMESPACE.to_owned(),
                containers: containers
                    .map(|container| ContainerResources {
                        name: container.name.clone(),
                        dynamic_resources: container.claims.iter().map(claim).collect(),
                        devices: has(container).into_iter().flat_map(|has| devices(&node, has)).collect(),
                        ..ContainerResources::default()
                    })
                    .collect(),
            }
        });
        ListPodResourcesResponse { pod_resources: pods.collect() }
    }
}

/// One entry for each NUMA node, and one for devices without.
fn devices(node: &super::Node, has: &BTreeMap<String, Allocation>) -> Vec<ContainerDevices> {
    let mut entries: BTreeMap<(&str, Option<i64>), Vec<String>> = BTreeMap::new();
    for (resource, allocation) in has {
        let numa = node.devices.get(resource).map(|devices| &devices.numa);
        for id in &allocation.ids {
            let of: Vec<_> = numa.and_then(|numa| numa.get(id)).into_iter().flatten().map(|n| Some(*n)).collect();
            for node in if of.is_empty() { vec![None] } else { of } {
                entries.entry((resource, node)).or_default().push(id.clone());
            }
        }
    }
    let entry = |((resource, node), device_ids): ((&str, Option<i64>), Vec<String>)| ContainerDevices {
        resource_name: resource.to_owned(),
        device_ids,
        topology: node.map(|id| TopologyInfo { nodes: vec![NumaNode { id }] }),
    };
    entries.into_iter().map(entry).collect()
}

struct Lister {
    standin: StandIn,
    /// What is left of the burst, and since when.
    bucket: Mutex<(f64, Instant)>,
}

impl Lister {
    fn may_ask(&self) -> bool {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, since) = *bucket;
        let now = Instant::now();
        let left = (left + RATE * now.duration_since(since).as_secs_f64()).min(BURST);
        *bucket = (left - if left >= 1.0 { 1.0 } else { 0.0 }, now);
        left >= 1.0
    }
}

#[tonic::async_trait]
impl PodResourcesLister for Lister {
    async fn list(
        &self,
        _request: Request<ListPodResourcesRequest>,
    ) -> Result<Response<ListPodResourcesResponse>, Status> {
        let shared = &self.standin.shared;
        shared.pods_asked.fetch_add(1, SeqCst);
        let answer = shared.pods_answer.borrow().clone();
        if answer == PodsAnswer::Hang {
            let mut changes = shared.pods_answer.subscribe();
            let _ = changes.wait_for(|answer| *answer != PodsAnswer::Hang).await;
        }
        match answer {
            PodsAnswer::Unsynced => Ok(Response::new(ListPodResourcesResponse::default())),
            PodsAnswer::TooMany => Err(Status::resource_exhausted("rejected by rate limit")),
            PodsAnswer::Real | PodsAnswer::Hang if self.may_ask() => Ok(Response::new(self.standin.pods())),
            PodsAnswer::Real | PodsAnswer::Hang => Err(Status::resource_exhausted("rejected by rate limit")),
        }
    }
}
