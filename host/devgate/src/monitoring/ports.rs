//! Where a running host answers: a port, if it is asked for, and a socket for those who may know everything.

mod connections;
mod local;

use super::Monitored;
use super::http::{Audience, answer};
use crate::cli::MonitoringArgs;
use crate::exit;
use connections::Connections;
use devgate_core::HOST_SOCKET;
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
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
            Some(address) => Some(listen(address).await?),
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

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| {
        let help = if error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error()) {
            "; a service of systemd has to be let: the package's by the drop-in network.conf"
        } else {
            ""
        };
        exit::with_code(exit::NODE, format!("--listen {address}: cannot be had: {error}{help}"))
    })?;
    let address = listener.local_addr().unwrap_or(address);
    let page = if address.ip().is_loopback() { "; / is the page" } else { "" };
    tracing::info!(%address, "listening on http://{address}: /metrics, /healthz, /readyz{page}");
    Ok(listener)
}

impl Listener for TcpListener {
    type Connection = TcpStream;
    type Peer = IpAddr;

    async fn next(&self) -> io::Result<(TcpStream, IpAddr, Audience)> {
        let (connection, peer) = self.accept().await?;
        let audience = match self.local_addr() {
            Ok(address) if address.ip().is_loopback() => Audience::Loopback,
            _ => Audience::Network,
        };
        Ok((connection, peer.ip().to_canonical(), audience))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn those_who_connect_and_say_nothing_keep_nobody_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        // Waits for as long as it takes: only another client's coming ends it.
        let echo = |mut connection: TcpStream, _| async move {
            if let Ok(byte) = connection.read_u8().await {
                let _ = connection.write_u8(byte).await;
            }
        };
        let serving = tokio::spawn(accept(listener, echo));
        let mut idle = Vec::new();
        for _ in 0..100 {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        let ask = async {
            let mut probe = TcpStream::connect(address).await?;
            probe.write_u8(7).await?;
            probe.read_u8().await
        };
        let answer = tokio::time::timeout(Duration::from_secs(30), ask).await;
        assert_eq!(answer.unwrap().unwrap(), 7);
        serving.abort();
    }
}
