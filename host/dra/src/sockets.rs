//! A driver's two sockets, for as long as it is offered. The kubelet comes as soon as the registration socket has its name: so that comes
//! last, and goes first.

use crate::driver::Driver;
use crate::plugin::{Methods, SERVICES};
use crate::status::Phase;
use devgate_kubelet::api::registration::registration_server::{Registration, RegistrationServer};
use devgate_kubelet::api::registration::{
    DRA, InfoRequest, PluginInfo, RegistrationStatus, RegistrationStatusResponse,
};
use devgate_kubelet::gauge::Gauge;
use devgate_kubelet::served::Served;
use devgate_types::escape;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

/// A socket is not as it should be.
#[derive(Debug, thiserror::Error)]
#[error("socket {}: {error}", escape(&.path.display().to_string(), 256))]
struct SocketFailed {
    path: PathBuf,
    error: io::Error,
}

impl SocketFailed {
    fn of(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self { path: path.to_owned(), error }
    }
}

/// Serves a driver until `stop`, then ends it in good order.
pub(crate) async fn serve(driver: &Arc<Driver>, stop: &CancellationToken) {
    let (config, name) = (&driver.config, &driver.name);
    let settled = tokio::time::timeout(config.settle_timeout, driver.claims.settle(name));
    tokio::select! {
        _ = settled => {}
        () = stop.cancelled() => return,
    }
    let mut sockets = Sockets::default();
    loop {
        if let Err(why) = sockets.look(driver) {
            driver.fails(Phase::Waiting, &why.to_string());
        }
        tokio::select! {
            () = tokio::time::sleep(config.look) => {}
            () = stop.cancelled() => break,
        }
    }
    let Sockets { service, registration } = sockets;
    if let Some(registration) = registration {
        registration.close(config.drain).await;
    }
    if let Some(mut service) = service {
        service.finish(config.drain).await;
        service.close(config.drain).await;
    }
    tracing::info!(driver = %name, "driver {name}: closed");
}

#[derive(Default)]
struct Sockets {
    service: Option<Served>,
    registration: Option<Served>,
}

impl Sockets {
    /// Has both where they should be.
    fn look(&mut self, driver: &Arc<Driver>) -> Result<(), SocketFailed> {
        let paths = &driver.paths;
        let is_there = |served: &Option<Served>| served.as_ref().is_some_and(Served::is_in_place);
        if !is_there(&self.service) {
            drop(self.registration.take());
            drop(self.service.take());
            remove(&paths.registration)?;
            let methods = Methods::new(driver);
            let (stop, calls) = (methods.stop(), driver.calls.subscribe());
            remove(&paths.service)?;
            let served = Served::start(paths.service.clone(), methods, stop, calls);
            self.service = Some(served.map_err(SocketFailed::of(&paths.service))?);
        }
        if !is_there(&self.registration) {
            if self.registration.take().is_some() {
                tracing::info!(driver = %driver.name, "driver {}: its registration socket is gone; it is made anew", driver.name);
            }
            remove(&paths.registration)?;
            let registrar = RegistrationServer::new(Registrar(Arc::clone(driver)));
            let (stop, calls) = (CancellationToken::new(), Gauge::default().subscribe());
            let served = Served::start(paths.registration.clone(), registrar, stop, calls);
            self.registration = Some(served.map_err(SocketFailed::of(&paths.registration))?);
        }
        Ok(())
    }
}

/// What the kubelet asks on a registration socket: who is there, and where.
struct Registrar(Arc<Driver>);

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

/// Removes a socket that a host left which was killed. What is none stays, and is in the way.
fn remove(path: &Path) -> Result<(), SocketFailed> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|look| look.file_type().is_socket());
    match is_socket.then(|| fs::remove_file(path)) {
        Some(Err(error)) if error.kind() != ErrorKind::NotFound => Err(SocketFailed::of(path)(error)),
        _ => Ok(()),
    }
}
