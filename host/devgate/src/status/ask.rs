//! Asks a host over its local socket.

use crate::exit;
use crate::watching::Report;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;
use tokio::net::UnixStream;

/// How long a host may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest answer: a hundred thousand devices with their reasons.
const MOST: usize = 256 << 20;

/// What the host behind this socket says.
///
/// # Errors
/// Where nobody answers, or says no: what that means and what to do.
pub(super) async fn ask(socket: &Path) -> anyhow::Result<Report> {
    let wrong = |why: String| exit::with_code(exit::NODE, format!("status socket {}: {why}", socket.display()));
    match tokio::time::timeout(PATIENCE, exchange(socket)).await {
        Ok(answer) => answer.map_err(wrong),
        Err(_) => Err(wrong(format!(
            "no answer within {PATIENCE:?}: devgate hangs, see its /healthz"
        ))),
    }
}

async fn exchange(socket: &Path) -> Result<Report, String> {
    let stream = UnixStream::connect(socket).await.map_err(|error| match error.kind() {
        ErrorKind::NotFound => "is not there: no devgate runs here, or it runs with another --status-socket".to_owned(),
        ErrorKind::ConnectionRefused => "nobody answers: the devgate that made it has ended".to_owned(),
        ErrorKind::PermissionDenied => "may not be opened: be root, or the user that devgate runs as".to_owned(),
        _ => error.to_string(),
    })?;
    let failed = |error: hyper::Error| format!("the answer was cut off: {error}");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    tokio::spawn(connection);
    let request = Request::get("/status")
        .header(header::HOST, "localhost")
        .body(Empty::<Bytes>::new());
    let request = request.map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(failed)?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MOST).collect().await;
    let body = body
        .map_err(|error| format!("the answer was cut off: {error}"))?
        .to_bytes();
    if !status.is_success() {
        let said = devgate_model::escape(String::from_utf8_lossy(&body).trim(), 256);
        return Err(format!("{said} ({status})"));
    }
    serde_json::from_slice(&body).map_err(|error| {
        format!("the answer is not one that this devgate understands, is it of another version? {error}")
    })
}
