//! The device plugin that the kubelet talks to: one per resource, the same for all its incarnations.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use devgate_core::offer::Offer;
use devgate_types::ResourceName;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Response, Status};

use super::encoded_list::EncodedList;
use super::listing::CurrentOffer;
use super::{FrontEndConfig, answer};
use devgate_kubelet::api;
use devgate_kubelet::api::device_plugin_server::DevicePlugin;
use devgate_kubelet::gauge::Gauge;
use devgate_kubelet::latest::Latest;

/// One resource's device plugin, in one incarnation.
pub(crate) struct Service {
    pub(crate) config: Arc<FrontEndConfig>,
    pub(crate) resource: ResourceName,
    pub(crate) offer: CurrentOffer,
    pub(crate) list: watch::Receiver<EncodedList>,
    /// Its `ListAndWatch` streams.
    pub(crate) streams: Latest,
    /// Its calls that give something.
    pub(crate) calls: Gauge,
    /// The lists that it sends.
    pub(crate) lists: Arc<AtomicU64>,
    pub(crate) stop: CancellationToken,
}

impl Service {
    fn offer(&self) -> Arc<dyn Offer> {
        Arc::clone(&self.offer.borrow())
    }

    /// A call that gives something, which is counted and has to end.
    async fn bounded<T>(&self, bound: Duration, call: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
        let _counted = self.calls.count();
        let late = || Status::deadline_exceeded(format!("{}: no answer within {bound:?}", self.resource));
        tokio::time::timeout(bound, call).await.unwrap_or_else(|_| Err(late()))
    }

    #[tracing::instrument(name = "device-plugin.allocate", level = "trace", skip_all)]
    async fn allocate_each(&self, request: api::AllocateRequest) -> Result<api::AllocateResponse, Status> {
        let offer = self.offer();
        let mut response =
            api::AllocateResponse { container_responses: Vec::with_capacity(request.container_requests.len()) };
        let mut given = Vec::new();
        for container in request.container_requests {
            let ids = as_set(container.devices_ids);
            let answer = if ids.is_empty() {
                api::ContainerAllocateResponse::default()
            } else {
                match offer.allocate(&ids).await {
                    Ok(reply) => answer::container_response(&reply),
                    Err(error) => {
                        // The call fails as a whole: what its other containers would have got does not reach them.
                        offer.take_back(&as_set(given)).await;
                        return Err(answer::status(&error));
                    }
                }
            };
            given.extend(ids);
            response.container_responses.push(answer);
        }
        Ok(response)
    }

    async fn choose(
        &self,
        request: api::ContainerPreferredAllocationRequest,
    ) -> api::ContainerPreferredAllocationResponse {
        let (available, must_include) = (request.available_device_i_ds, request.must_include_device_i_ds);
        let size = usize::try_from(request.allocation_size).unwrap_or(0);
        let offer = self.offer();
        let chosen = tokio::time::timeout(self.config.choose_timeout, offer.choose(&available, &must_include, size))
            .await
            .unwrap_or_default();
        // No opinion is always allowed; a wrong one would be cut and filled at random by the kubelet.
        let device_i_ds = if answer::is_choice(&chosen, &available, &must_include, size) { chosen } else { Vec::new() };
        api::ContainerPreferredAllocationResponse { device_i_ds }
    }
}

#[tonic::async_trait]
impl DevicePlugin for Service {
    async fn get_device_plugin_options(
        &self,
        _request: Request<api::Empty>,
    ) -> Result<Response<api::DevicePluginOptions>, Status> {
        Ok(Response::new(self.config.options(&*self.offer())))
    }

    type ListAndWatchStream = tokio_stream::Empty<Result<api::ListAndWatchResponse, Status>>;

    /// Not called: [`super::lists::Methods`] answers it.
    async fn list_and_watch(
        &self,
        _request: Request<api::Empty>,
    ) -> Result<Response<Self::ListAndWatchStream>, Status> {
        Err(Status::unimplemented("lists are sent as bytes"))
    }

    async fn get_preferred_allocation(
        &self,
        request: Request<api::PreferredAllocationRequest>,
    ) -> Result<Response<api::PreferredAllocationResponse>, Status> {
        let mut response = api::PreferredAllocationResponse::default();
        for container in request.into_inner().container_requests {
            response.container_responses.push(self.choose(container).await);
        }
        Ok(Response::new(response))
    }

    async fn allocate(
        &self,
        request: Request<api::AllocateRequest>,
    ) -> Result<Response<api::AllocateResponse>, Status> {
        // The kubelet sets no deadline and admits no other pod meanwhile. The plugin layer has its own; this is behind it.
        let (bound, call) = (self.config.allocate_timeout, self.allocate_each(request.into_inner()));
        let _counted = self.config.allocating.begin();
        let result = self.bounded(bound, call).await;
        if let Err(status) = &result {
            let (resource, code, why) = (&self.resource, status.code(), status.message());
            if code == Code::DeadlineExceeded {
                tracing::warn!(%resource, "resource {resource}: not allocated: no answer within {bound:?}");
            } else {
                // The plugin layer has said why, and knows how often to say so.
                tracing::debug!(%resource, ?code, "not allocated: {why}");
            }
        }
        result.map(Response::new)
    }

    async fn pre_start_container(
        &self,
        request: Request<api::PreStartContainerRequest>,
    ) -> Result<Response<api::PreStartContainerResponse>, Status> {
        let offer = self.offer();
        // A start that was not asked for needs nothing.
        if !offer.starts() {
            return Ok(Response::new(api::PreStartContainerResponse {}));
        }
        let ids = as_set(request.into_inner().devices_ids);
        let call = async { offer.start(&ids).await.map_err(|error| answer::status(&error)) };
        let result = self.bounded(self.config.start_timeout, call).await;
        if let Err(status) = &result {
            tracing::warn!(resource = %self.resource, code = ?status.code(), "not started: {}", status.message());
        }
        result.map(|()| Response::new(api::PreStartContainerResponse {}))
    }
}

/// The kubelet sends a set in random order; the same set gives the same answer.
fn as_set(mut ids: Vec<String>) -> Vec<String> {
    ids.sort_unstable();
    ids.dedup();
    ids
}
