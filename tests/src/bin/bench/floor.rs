//! The floor: an empty unary method on a unix socket, served by the same tonic in a process of its own.

use devgate_kubelet::api::device_plugin_server::{DevicePlugin, DevicePluginServer};
use devgate_kubelet::api::{
    AllocateRequest, AllocateResponse, DevicePluginOptions, Empty, ListAndWatchResponse, PreStartContainerRequest,
    PreStartContainerResponse, PreferredAllocationRequest, PreferredAllocationResponse,
};
use std::path::Path;
use tokio::net::UnixListener;
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tonic::{Request, Response, Status};

/// Serves until it is ended.
pub(crate) async fn serve(socket: &Path) -> anyhow::Result<()> {
    let incoming = UnixListenerStream::new(UnixListener::bind(socket)?);
    let server = tonic::transport::Server::builder().add_service(DevicePluginServer::new(Nothing));
    Ok(server.serve_with_incoming(incoming).await?)
}

struct Nothing;

#[tonic::async_trait]
impl DevicePlugin for Nothing {
    type ListAndWatchStream = ReceiverStream<Result<ListAndWatchResponse, Status>>;

    async fn get_device_plugin_options(&self, _: Request<Empty>) -> Result<Response<DevicePluginOptions>, Status> {
        Ok(Response::new(DevicePluginOptions::default()))
    }

    async fn list_and_watch(&self, _: Request<Empty>) -> Result<Response<Self::ListAndWatchStream>, Status> {
        Err(Status::unimplemented("the floor has no devices"))
    }

    async fn get_preferred_allocation(
        &self,
        _: Request<PreferredAllocationRequest>,
    ) -> Result<Response<PreferredAllocationResponse>, Status> {
        Ok(Response::new(PreferredAllocationResponse::default()))
    }

    async fn allocate(&self, _: Request<AllocateRequest>) -> Result<Response<AllocateResponse>, Status> {
        Ok(Response::new(AllocateResponse::default()))
    }

    async fn pre_start_container(
        &self,
        _: Request<PreStartContainerRequest>,
    ) -> Result<Response<PreStartContainerResponse>, Status> {
        Ok(Response::new(PreStartContainerResponse::default()))
    }
}
