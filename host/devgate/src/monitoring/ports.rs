//! Where a running host answers: a port, if it is asked for, and a socket for those who may know everything.

mod connections;
mod local;
mod network;

use super::Monitored;
use super::http::{Audience, answer};
use crate::cli::MonitoringArgs;
use connections::Connections;
use devgate_core::HOST_SOCKET;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Answers that are made at once, on each of the two.
const ANSWERS: usize = 4;

/// How long to wait after a connection could not be accepted, as when there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(200);

/// How long after the socket could not be had it is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// What was opened.
pub(crate) struct Ports {
    network: Option<TcpListener>,
    local: Option<local::Socket>,
    path: PathBuf,
    /// Where a host that stands by asks this one to hand over.
    standby: Option<local::Socket>,
}

impl Ports {
    /// Opens what is asked for. Fails where the port cannot be had. The socket is no reason to end: it is said, and done without.
    pub(crate) async fn open(args: &MonitoringArgs, state_dir: &Path) -> anyhow::Result<Self> {
        let network = match args.listen {
            Some(address) => Some(network::listen(address).await?),
            None => None,
        };
        let path = args.status_socket.clone();
        let local = local::Socket::open(&path, Audience::Local).await.inspect_err(|why| {
            let path = path.display();
            tracing::warn!("status socket {path}: {why}; `devgate status` will not find this host until it can be had (--status-socket)");
        });
        let local = local.ok();
        let socket = state_dir.join(HOST_SOCKET);
        let failed = |why: &io::Error| {
            tracing::warn!("socket {}: {why}; no other devgate can take over from this one", socket.display());
        };
        let standby = local::Socket::open(&socket, Audience::Standby).await.inspect_err(failed).ok();
        Ok(Self { network, local, path, standby })
    }
}

/// Answers for a host that waits for another one to end, where that one has not what is asked for, until it is dropped.
pub(crate) async fn wait(args: MonitoringArgs, monitored: Monitored) {
    let network = match args.listen {
        Some(address) => TcpListener::bind(address).await.ok(),
        None => None,
    };
    let path = args.status_socket;
    let local = local::Socket::open(&path, Audience::Local).await.ok();
    serve(Ports { network, local, path, standby: None }, monitored).await;
}

/// Answers until it is dropped.
pub(crate) async fn serve(ports: Ports, monitored: Monitored) {
    let Ports { network, local, path, standby } = ports;
    let on_socket = async {
        let mut socket = local;
        while socket.is_none() {
            // In a rolling update the one before answers there until it ends.
            tokio::time::sleep(AGAIN).await;
            socket = local::Socket::open(&path, Audience::Local).await.ok();
        }
        answer_all(socket, &monitored).await;
    };
    tokio::join!(answer_all(network, &monitored), on_socket, answer_all(standby, &monitored));
}

/// What connections come to.
trait Listener {
    type Connection: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    type Peer: Copy + PartialEq;

    /// The next one, whose it is, and what is said to him.
    async fn next(&self) -> io::Result<(Self::Connection, Self::Peer, Audience)>;
}

/// Answers every client, if there is a listener, until it is dropped.
async fn answer_all(listener: Option<impl Listener>, monitored: &Monitored) {
    let Some(listener) = listener else { return };
    let work = Arc::new(Semaphore::new(ANSWERS));
    accept(listener, |connection, audience| answer(connection, monitored.clone(), audience, Arc::clone(&work))).await;
}

async fn accept<L: Listener, F>(listener: L, answer: impl Fn(L::Connection, Audience) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut places = Connections::new();
    loop {
        let Ok((connection, peer, audience)) = listener.next().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let answered = tokio::spawn(answer(connection, audience));
        places.take(peer, answered.abort_handle());
    }
}
