//! The port for probes and metrics.

use super::room;
use crate::exit;
use crate::watching::Watching;
use crate::watching::http::{Audience, answer};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// How long to wait after a connection could not be accepted, as when there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    let listener =
        listener.map_err(|error| exit::with_code(exit::NODE, format!("--listen {address}: cannot be had: {error}")))?;
    let address = listener.local_addr().unwrap_or(address);
    let page = if address.ip().is_loopback() {
        "; / is the page"
    } else {
        ""
    };
    tracing::info!(%address, "listening on http://{address}: /metrics, /healthz, /readyz{page}");
    Ok(listener)
}

pub(super) async fn serve(listener: TcpListener, watching: &Watching) {
    let audience = match listener.local_addr() {
        Ok(address) if address.ip().is_loopback() => Audience::Loopback,
        _ => Audience::Network,
    };
    let room = room();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let Ok((connection, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let watching = watching.clone();
        tokio::spawn(async move {
            answer(connection, watching, audience).await;
            drop(place);
        });
    }
}
