//! One incarnation of a resource: a socket with a new name, and its server.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use devgate_kubelet::gauge::Count;
use devgate_kubelet::served::Served;
use tokio::sync::watch;

use super::lists::Methods;
use super::service::Service;

/// A running server on a socket of its own.
pub(crate) struct Incarnation {
    served: Served,
    peers: Peers,
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
        let (stop, calls, streams) = (service.stop.clone(), service.calls.subscribe(), service.streams.subscribe());
        let served = Served::start(path, Methods::new(service), stop, calls)?;
        let peers = Peers { streams, connections: served.connections() };
        Ok(Self { served, peers })
    }

    /// The socket's file name, which is what the kubelet is told.
    pub(crate) fn file_name(&self) -> &str {
        self.served.path().file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Whether the socket still is where it was made.
    pub(crate) fn is_in_place(&self) -> bool {
        self.served.is_in_place()
    }

    /// Who came, and who stayed.
    pub(crate) fn peers(&self) -> Peers {
        self.peers.clone()
    }

    /// Ends it; calls in flight may take `drain`.
    pub(crate) async fn close(self, drain: Duration) {
        self.served.close(drain).await;
    }
}
