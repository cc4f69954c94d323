//! The port for probes and metrics.

use super::Listener;
use crate::exit;
use crate::monitoring::http::Audience;
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, SocketAddr};
use tokio::net::{TcpListener, TcpStream};

pub(super) async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
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
    use super::super::accept;
    use super::*;
    use std::time::Duration;
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
