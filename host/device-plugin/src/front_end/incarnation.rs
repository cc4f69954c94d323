//! One incarnation of a resource: a socket with a new name, its server, and their orderly end.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::directory::FileId;
use super::lists::Methods;
use super::service::Service;
use devgate_kubelet::gauge::Count;
use devgate_kubelet::transport::{Incoming, bind};

/// How long the last answer may take from its call to the kubelet: HTTP/2 sends the frames of several streams in turn, so
/// the end of a stream can overtake it.
const ANSWERS_GO_OUT: Duration = Duration::from_millis(50);
/// The least time that streams have to end in good order before their connections are cut.
const STREAMS_END: Duration = Duration::from_millis(100);
/// The most connections to one socket at a time, and the most calls on one of them. The kubelet has one connection, on which it has
/// one stream of lists and asks for one pod after the other.
const MAX_CONNECTIONS: usize = 16;
const MAX_CALLS: u32 = 64;
/// How long connections that were cut may take to notice.
const AFTER_CUT: Duration = Duration::from_secs(1);

/// A running server on a socket of its own.
pub(crate) struct Incarnation {
    path: PathBuf,
    id: Option<FileId>,
    stop: CancellationToken,
    cut: CancellationToken,
    server: JoinHandle<()>,
    peers: Peers,
    calls: watch::Receiver<Count>,
}

/// What the kubelet has to do with an incarnation.
#[derive(Clone)]
pub(crate) struct Peers {
    /// The streams that it has opened and has.
    pub(crate) streams: watch::Receiver<Count>,
    /// The connections to the socket, the kubelet's and others'.
    pub(crate) connections: watch::Receiver<Count>,
}

impl Incarnation {
    /// Binds `path` and serves on it: when this returns, the kubelet may come.
    pub(crate) fn start(path: PathBuf, service: Service) -> io::Result<Self> {
        let listener = bind(&path)?;
        let (stop, cut) = (service.stop.clone(), CancellationToken::new());
        let incoming = Incoming::new(listener, cut.clone()).at_most(MAX_CONNECTIONS);
        let calls = service.calls.subscribe();
        let peers = Peers { streams: service.streams.subscribe(), connections: incoming.subscribe() };
        let stopped = stop.clone().cancelled_owned();
        let server = tokio::spawn(async move {
            // No compression, no keepalive, no age or idle limit: tonic's defaults, and what the kubelet needs.
            let served = tonic::transport::Server::builder()
                .max_concurrent_streams(MAX_CALLS)
                .serve_with_incoming_shutdown(Methods::new(service), incoming, stopped)
                .await;
            if let Err(error) = served {
                tracing::error!(%error, "device plugin's server failed");
            }
        });
        Ok(Self { id: FileId::of(&path), path, stop, cut, server, peers, calls })
    }

    /// The socket's file name, which is what the kubelet is told.
    pub(crate) fn file_name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Whether the socket still is where it was made.
    pub(crate) fn is_in_place(&self) -> bool {
        self.id.is_some_and(|id| id.is_at(&self.path))
    }

    /// Who came, and who stayed.
    pub(crate) fn peers(&self) -> Peers {
        self.peers.clone()
    }

    /// Ends it: the socket gone, calls in flight finished within `drain`, then the streams closed and the connections cut.
    /// Afterwards nothing of it is left.
    ///
    /// In this order, because a kubelet that sees the end of its stream closes the connection, and every call that is in
    /// flight on it fails (`client.go`, Disconnect).
    pub(crate) async fn close(mut self, drain: Duration) {
        self.unlink();
        let deadline = Instant::now() + drain;
        if self.calls.borrow().live > 0 {
            let _ = tokio::time::timeout_at(deadline, self.calls.wait_for(|calls| calls.live == 0)).await;
            tokio::time::sleep(ANSWERS_GO_OUT).await;
        }
        self.stop.cancel();
        let deadline = deadline.max(Instant::now() + STREAMS_END);
        if tokio::time::timeout_at(deadline, &mut self.server).await.is_ok() {
            return;
        }
        self.cut.cancel();
        if tokio::time::timeout(AFTER_CUT, &mut self.server).await.is_err() {
            self.server.abort();
        }
    }

    fn unlink(&mut self) {
        // Whatever else stands at this path by now is not ours.
        if self.is_in_place() {
            let _ = std::fs::remove_file(&self.path);
        }
        self.id = None;
    }
}

impl Drop for Incarnation {
    fn drop(&mut self) {
        self.stop.cancel();
        self.cut.cancel();
        self.unlink();
    }
}
