//! How the kubelet dials a plugin.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use devgate_kubelet::transport::Connection;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint, Uri};

/// Why no plugin was reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    /// There is no connection.
    #[error("{error}: {cause:?}", error = .0, cause = std::error::Error::source(.0))]
    Connect(#[from] tonic::transport::Error),
    /// There was no word on it in time: grpc-go's text.
    #[error("context deadline exceeded")]
    Late,
}

/// As [`devgate_kubelet::transport::connect`], but ready only when the peer has sent its first bytes (HTTP/2's SETTINGS), as grpc-go's blocking dial
/// is: a socket that no process accepts on is not enough. The connection ends when `cut` is cancelled.
///
/// # Errors
/// When there is no connection, or no word on it, within `timeout`.
pub(crate) async fn dial(path: PathBuf, timeout: Duration, cut: &CancellationToken) -> Result<Channel, DialError> {
    let heard = CancellationToken::new();
    let connector = {
        let (heard, cut) = (heard.clone(), cut.clone());
        tower::service_fn(move |_: Uri| {
            let (path, heard, cut) = (path.clone(), heard.clone(), cut.clone());
            async move {
                let stream = Connection::new(UnixStream::connect(&path).await?, &cut);
                Ok::<_, io::Error>(TokioIo::new(Listening { stream, heard }))
            }
        })
    };
    let connecting = async {
        let channel = Endpoint::from_static("http://localhost").connect_with_connector(connector).await;
        let channel = channel?;
        heard.cancelled().await;
        Ok(channel)
    };
    tokio::time::timeout(timeout, connecting).await.unwrap_or(Err(DialError::Late))
}

/// A client's connection that tells when it is first heard from.
struct Listening {
    stream: Connection,
    heard: CancellationToken,
}

impl AsyncRead for Listening {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if buf.filled().len() > before {
            self.heard.cancel();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Listening {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_kubelet::transport::bind;

    #[tokio::test]
    async fn a_socket_that_nobody_accepts_on_is_not_dialled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let _listener = bind(&path).unwrap();
        assert!(devgate_kubelet::transport::connect(path.clone(), Duration::from_secs(5)).await.is_ok());
        let never = CancellationToken::new();
        let error = dial(path, Duration::from_millis(50), &never).await.unwrap_err();
        assert_eq!(error.to_string(), "context deadline exceeded");
    }
}
