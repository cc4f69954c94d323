//! Where a running host answers: a port, if it is asked for, and a socket for those who may know everything.

mod local;
mod network;
mod places;

use super::Watching;
use crate::cli::WatchArgs;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Answers that are made at once, on each of the two.
const ANSWERS: usize = 4;

/// What was opened.
pub(crate) struct Ports {
    network: Option<TcpListener>,
    local: Option<local::Socket>,
}

impl Ports {
    /// Opens what is asked for.
    ///
    /// # Errors
    /// Where the port cannot be had. The socket is no reason to end: it is said, and done without.
    pub(crate) async fn open(args: &WatchArgs) -> anyhow::Result<Self> {
        let network = match args.listen {
            Some(address) => Some(network::listen(address).await?),
            None => None,
        };
        let local = local::Socket::open(&args.status_socket)
            .await
            .inspect_err(|why| {
                let path = args.status_socket.display();
                tracing::warn!("status socket {path}: {why}; `devgate status` will find nothing (--status-socket)");
            })
            .ok();
        Ok(Self { network, local })
    }
}

/// Answers until it is dropped.
pub(crate) async fn serve(ports: Ports, watching: Watching) {
    let Ports { network, local } = ports;
    let on_network = async {
        match network {
            Some(listener) => network::serve(listener, &watching).await,
            None => std::future::pending().await,
        }
    };
    let on_socket = async {
        match local {
            Some(socket) => socket.serve(&watching).await,
            None => std::future::pending().await,
        }
    };
    tokio::join!(on_network, on_socket);
}

fn work() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(ANSWERS))
}
