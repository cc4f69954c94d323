//! One incarnation of a resource: a socket with a new name, its server, and their orderly end.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::directory::FileId;
use super::plugin_server::device_plugin_server::DevicePluginServer;
use super::service::{Service, Streams};
use crate::transport::{Incoming, bind};

/// How long connections that were cut may take to notice.
const AFTER_CUT: Duration = Duration::from_secs(1);

/// A running server on a socket of its own.
pub(crate) struct Incarnation {
    path: PathBuf,
    id: Option<FileId>,
    stop: CancellationToken,
    cut: CancellationToken,
    server: JoinHandle<()>,
    streams: watch::Receiver<Streams>,
}

impl Incarnation {
    /// Binds `path` and serves on it: when this returns, the kubelet may come.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub(crate) fn start(path: PathBuf, service: Service) -> io::Result<Self> {
        let listener = bind(&path)?;
        let (stop, cut) = (service.stop.clone(), CancellationToken::new());
        let streams = service.streams.subscribe();
        let incoming = Incoming::new(listener, cut.clone());
        let stopped = stop.clone().cancelled_owned();
        let server = tokio::spawn(async move {
            // No compression, no keepalive, no age or idle limit: tonic's defaults, and what the kubelet needs.
            let served = tonic::transport::Server::builder()
                .serve_with_incoming_shutdown(DevicePluginServer::new(service), incoming, stopped)
                .await;
            if let Err(error) = served {
                tracing::error!(%error, "device plugin's server failed");
            }
        });
        Ok(Self {
            id: FileId::of(&path),
            path,
            stop,
            cut,
            server,
            streams,
        })
    }

    /// The socket's file name, which is what the kubelet is told.
    pub(crate) fn file_name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// The socket.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the socket still is where it was made.
    pub(crate) fn is_in_place(&self) -> bool {
        self.id.is_some() && FileId::of(&self.path) == self.id
    }

    /// The streams that it has had and has.
    pub(crate) fn streams(&self) -> watch::Receiver<Streams> {
        self.streams.clone()
    }

    /// Ends it: no new connections, streams closed, socket gone; other calls have `drain` to finish before their
    /// connections are cut. Afterwards nothing of it is left.
    pub(crate) async fn close(mut self, drain: Duration) {
        self.stop.cancel();
        self.unlink();
        if tokio::time::timeout(drain, &mut self.server).await.is_ok() {
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
