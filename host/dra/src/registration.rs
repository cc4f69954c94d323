//! What the kubelet asks on a registration socket: who is there, and where.

use crate::driver::Driver;
use crate::plugin::SERVICES;
use devgate_kubelet::api::registration::registration_server::Registration;
use devgate_kubelet::api::registration::{
    DRA, InfoRequest, PluginInfo, RegistrationStatus, RegistrationStatusResponse,
};
use std::sync::Arc;
use tonic::{Request, Response, Status};

/// A driver's registration.
pub(crate) struct Registrar(pub(crate) Arc<Driver>);

#[tonic::async_trait]
impl Registration for Registrar {
    async fn get_info(&self, _: Request<InfoRequest>) -> Result<Response<PluginInfo>, Status> {
        Ok(Response::new(PluginInfo {
            r#type: DRA.to_owned(),
            name: self.0.name.clone(),
            endpoint: self.0.paths.service.display().to_string(),
            supported_versions: SERVICES.map(str::to_owned).to_vec(),
        }))
    }

    async fn notify_registration_status(
        &self,
        request: Request<RegistrationStatus>,
    ) -> Result<Response<RegistrationStatusResponse>, Status> {
        let RegistrationStatus { plugin_registered, error } = request.into_inner();
        self.0.notified(plugin_registered, &error);
        Ok(Response::new(RegistrationStatusResponse {}))
    }
}
