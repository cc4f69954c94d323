//! gRPC over unix sockets, as both sides need it: sockets that are private from their first moment, connections that can
//! be cut, and clients that send the kubelet's `:authority`.

use std::io;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio_stream::Stream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;
use tonic::transport::{Channel, Endpoint, Uri};

use crate::gauge::Count;
use crate::latest::{Latest, Place};

/// The longest path that fits into a unix socket's address on Linux (`sun_path` less its closing zero byte).
pub const LONGEST_SOCKET_PATH: usize = 107;
/// Connections that wait to be accepted. The kubelet has one or two.
const BACKLOG: i32 = 64;
/// How long to leave the listener alone after the kernel refused to accept (no file descriptors, no memory).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Binds a new socket that only this user can connect to. The mode is set before the name exists: Linux gives the file
/// the mode of the socket's own inode, so there is no moment at which it is open to others.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::fs::fchmod(&socket, rustix::fs::Mode::from_raw_mode(0o600))?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    UnixListener::from_std(StdUnixListener::from(socket))
}

/// Accepted connections, each of which ends when `cut` is cancelled.
pub struct Incoming {
    listener: UnixListener,
    cut: CancellationToken,
    open: Latest,
    pause: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Incoming {
    /// Connections to this listener, until `cut` is cancelled; at most so many at a time: one more ends the oldest.
    pub fn new(listener: UnixListener, most: usize, cut: CancellationToken) -> Self {
        Self { listener, cut, open: Latest::new(most), pause: None }
    }

    /// How many connections there are, and word of the changes.
    pub fn subscribe(&self) -> watch::Receiver<Count> {
        self.open.subscribe()
    }
}

impl Stream for Incoming {
    type Item = io::Result<Connection>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pause) = self.pause.as_mut() {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            match ready!(self.listener.poll_accept(cx)) {
                Ok((stream, _)) => {
                    let place = self.open.enter(&self.cut, "connections to a socket");
                    let mut connection = Connection::new(stream, place.ended());
                    connection.place = Some(place);
                    return Poll::Ready(Some(Ok(connection)));
                }
                Err(error) => {
                    // The server would ask again at once, and the kernel refuse at once: a busy loop.
                    tracing::warn!(%error, "socket cannot accept connections");
                    self.pause = Some(Box::pin(tokio::time::sleep(ACCEPT_PAUSE)));
                }
            }
        }
    }
}

/// A connection that can be cut from outside: both halves then fail, whatever the peer does.
pub struct Connection {
    stream: UnixStream,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    place: Option<Place>,
}

impl Connection {
    /// A connection that is there already.
    #[must_use]
    pub fn new(stream: UnixStream, cut: &CancellationToken) -> Self {
        Self { stream, cut: Box::pin(cut.clone().cancelled_owned()), place: None }
    }

    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.cut.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionAborted.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    // A peer that does not read keeps the connection's task here, so writing looks, too.
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) -> Self::ConnectInfo {}
}

/// A client's connection to the socket at `path`, with `:authority` `localhost`, within `timeout`.
///
/// No keepalive: grpc-go answers pings that come more often than every five minutes with GOAWAY.
pub async fn connect(path: PathBuf, timeout: Duration) -> Result<Channel, tonic::transport::Error> {
    let connector = tower::service_fn(move |_: Uri| {
        let path = path.clone();
        async move { UnixStream::connect(&path).await.map(TokioIo::new) }
    });
    Endpoint::from_static("http://localhost").connect_timeout(timeout).connect_with_connector(connector).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[tokio::test]
    async fn a_socket_is_private_from_its_first_moment() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let _listener = bind(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(bind(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[tokio::test]
    async fn the_longest_path_fits_and_one_more_byte_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let room = LONGEST_SOCKET_PATH - dir.path().as_os_str().len() - 1;
        // Linux itself has room for one more, without the zero byte that Go and Rust insist on.
        assert!(StdUnixListener::bind(dir.path().join("x".repeat(room))).is_ok());
        assert!(StdUnixListener::bind(dir.path().join("x".repeat(room + 1))).is_err());
    }
}
