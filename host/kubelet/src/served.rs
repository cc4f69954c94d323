//! A socket with a server on it, and their orderly end.

use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};

use crate::file_id::FileId;
use crate::gauge::Count;
use crate::transport::{Incoming, bind};

/// How long the last answer may take from its call to the kubelet: HTTP/2 sends the frames of several streams in turn, so
/// the end of a stream can overtake it.
const ANSWERS_GO_OUT: Duration = Duration::from_millis(50);
/// The least time that streams have to end in good order before their connections are cut.
const STREAMS_END: Duration = Duration::from_millis(100);
/// The most connections to one socket at a time, and the most calls on one of them. The kubelet has one connection.
const MAX_CONNECTIONS: usize = 16;
const MAX_CALLS: u32 = 64;
/// How long connections that were cut may take to notice.
const AFTER_CUT: Duration = Duration::from_secs(1);

/// A running server on a socket of its own.
pub struct Served {
    path: PathBuf,
    id: Option<FileId>,
    stop: CancellationToken,
    cut: CancellationToken,
    server: JoinHandle<()>,
    calls: watch::Receiver<Count>,
    connections: watch::Receiver<Count>,
}

impl Served {
    /// Binds `path` and serves on it: when this returns, the kubelet may come. `stop` ends its streams, and `calls` are those that a
    /// close waits for.
    pub fn start<S>(
        path: PathBuf,
        methods: S,
        stop: CancellationToken,
        calls: watch::Receiver<Count>,
    ) -> io::Result<Self>
    where
        S: tower::Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
    {
        let listener = bind(&path)?;
        let cut = CancellationToken::new();
        let incoming = Incoming::new(listener, MAX_CONNECTIONS, cut.clone());
        let connections = incoming.subscribe();
        let stopped = stop.clone().cancelled_owned();
        let name = path.display().to_string();
        let server = tokio::spawn(async move {
            // No compression, no keepalive, no age or idle limit: tonic's defaults, and what the kubelet needs.
            let served = tonic::transport::Server::builder()
                .max_concurrent_streams(MAX_CALLS)
                .serve_with_incoming_shutdown(methods, incoming, stopped)
                .await;
            if let Err(error) = served {
                tracing::error!(%error, "socket {name}: its server failed");
            }
        });
        Ok(Self { id: FileId::of(&path), path, stop, cut, server, calls, connections })
    }

    /// The socket's file name.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Whether the socket still is where it was made.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.id.is_some_and(|id| id.is_at(&self.path))
    }

    /// The connections to the socket, the kubelet's and others'.
    #[must_use]
    pub fn connections(&self) -> watch::Receiver<Count> {
        self.connections.clone()
    }

    /// Ends it: the socket gone, calls in flight finished within `drain`, then the streams closed and the connections cut.
    /// Afterwards nothing of it is left.
    ///
    /// In this order, because a kubelet that sees the end of its stream closes the connection, and every call that is in
    /// flight on it fails (`client.go`, Disconnect).
    pub async fn close(mut self, drain: Duration) {
        self.unlink();
        let deadline = Instant::now() + drain;
        self.finish(drain).await;
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

    /// Waits until no call is in flight, or for `drain`.
    pub async fn finish(&mut self, drain: Duration) {
        if self.calls.borrow().live > 0 {
            let _ = tokio::time::timeout(drain, self.calls.wait_for(|calls| calls.live == 0)).await;
            tokio::time::sleep(ANSWERS_GO_OUT).await;
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

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
        self.cut.cancel();
        self.unlink();
    }
}
