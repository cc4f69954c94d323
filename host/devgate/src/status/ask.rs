//! Asks a host over its local socket, for what it does or for something.

use crate::exit;
use crate::monitoring::Report;
use anyhow::Context;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;
use tokio::net::UnixStream;

/// How long a host may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long a reload may take: several components compile, one after the other.
const RELOAD_PATIENCE: Duration = Duration::from_secs(600);
/// How long it may take until devices are leased or released.
const ORDER_PATIENCE: Duration = Duration::from_secs(60);
/// The largest answer: a hundred thousand devices with their reasons.
const MAX_ANSWER: usize = 256 << 20;

/// What the host behind this socket says. Fails where no host answers, or it says no: with what that means and what to do.
pub async fn ask(socket: &Path) -> anyhow::Result<Report> {
    status_of(socket).await.map(Report::judged)
}

fn wrong(socket: &Path, why: impl Display) -> anyhow::Error {
    exit::with_code(exit::NODE, format!("status socket {}: {why}", socket.display()))
}

/// What became of a reload, in the host's words; escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reload {
    /// The policy is in force, with what changed.
    Done(String),
    /// It is not, for this reason.
    Refused(String),
}

/// Asks for a reload, which takes as long as components take to compile. Fails as [`ask`] does.
pub async fn reload(socket: &Path, forced: bool) -> anyhow::Result<Reload> {
    let path = if forced { "/reload?force" } else { "/reload" };
    let (status, body) = answered(socket, Method::POST, path, Bytes::new(), RELOAD_PATIENCE).await?;
    let text = escape_lines(&body);
    match status {
        StatusCode::OK => Ok(Reload::Done(text)),
        StatusCode::CONFLICT => Ok(Reload::Refused(text)),
        _ => Err(wrong(socket, refusal(status, &body))),
    }
}

/// What the host behind this socket says, as far as another version reads it. Fails as [`ask`] does.
pub(crate) async fn status_of<T: DeserializeOwned>(socket: &Path) -> anyhow::Result<T> {
    let (status, body) = answered(socket, Method::GET, "/status", Bytes::new(), TIMEOUT).await?;
    match status {
        StatusCode::OK => understood(socket, &body),
        _ => Err(wrong(socket, refusal(status, &body))),
    }
}

fn understood<T: DeserializeOwned>(socket: &Path, body: &[u8]) -> anyhow::Result<T> {
    serde_json::from_slice(body).map_err(|error| {
        let why = "the answer is not one that this devgate understands, is it of another version?";
        wrong(socket, format!("{why} {error}"))
    })
}

/// Why a host is not known to hand over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotTaken {
    /// It said no, in its words; escaped.
    #[error("the devgate that serves goes on: {0}")]
    Refused(String),
    /// It gave no answer, and may have said yes.
    #[error("{0:#}")]
    NoAnswer(anyhow::Error),
}

/// Asks a host to hand over to this one. Fails with why it does not, or is not known to.
pub(crate) async fn take_over(socket: &Path, path: &str) -> Result<(), NotTaken> {
    match answered(socket, Method::POST, path, Bytes::new(), TIMEOUT).await {
        Ok((StatusCode::OK, _)) => Ok(()),
        Ok((_, body)) => Err(NotTaken::Refused(escape_lines(&body))),
        Err(error) => Err(NotTaken::NoAnswer(error)),
    }
}

/// Whether a process listens on this socket; nobody does where it is not there. Fails where that cannot be seen.
pub(crate) async fn is_answered(socket: &Path) -> std::io::Result<bool> {
    match UnixStream::connect(socket).await {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Waits for it on this thread, as commands do that have nothing else to do meanwhile. Fails where the system has no room for that.
pub(crate) fn block_on<F: Future>(what: F) -> anyhow::Result<F::Output> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(what))
}

/// Has the host do something, and says what comes of it. Fails as [`ask`] does; what it refuses ends the command with [`exit::FOUND`].
pub(crate) fn order<T: DeserializeOwned>(socket: &Path, path: &str, what: &impl Serialize) -> anyhow::Result<T> {
    let what = serde_json::to_vec(what).context("write JSON")?;
    let (status, body) = block_on(answered(socket, Method::POST, path, what.into(), ORDER_PATIENCE))??;
    let code = match status {
        StatusCode::OK => return understood(socket, &body),
        StatusCode::CONFLICT => exit::FOUND,
        StatusCode::BAD_REQUEST => exit::USAGE,
        StatusCode::INTERNAL_SERVER_ERROR => exit::FAILED,
        _ => return Err(wrong(socket, refusal(status, &body))),
    };
    Err(exit::with_code(code, escape_lines(&body)))
}

async fn answered(
    socket: &Path,
    method: Method,
    path: &str,
    body: Bytes,
    patience: Duration,
) -> anyhow::Result<(StatusCode, Bytes)> {
    match tokio::time::timeout(patience, exchange(socket, method, path, body)).await {
        Ok(answer) => answer.map_err(|why| wrong(socket, why)),
        Err(_) => {
            let why = format!("no answer within {patience:?}: devgate hangs, see its /healthz");
            Err(wrong(socket, why))
        }
    }
}

/// Why a socket gives no answer.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error("is not there: no devgate runs here, or it runs with another --status-socket")]
    NotThere,
    #[error("does not answer: the devgate that made it has ended")]
    Ended,
    #[error("may not be opened: be root, or the user that devgate runs as")]
    Forbidden,
    #[error("{0}")]
    Connect(std::io::Error),
    #[error("{0}")]
    Request(#[from] hyper::http::Error),
    #[error("the answer was cut off: {0}")]
    CutOff(Box<dyn std::error::Error + Send + Sync>),
}

async fn exchange(socket: &Path, method: Method, path: &str, body: Bytes) -> Result<(StatusCode, Bytes), NoAnswer> {
    let stream = UnixStream::connect(socket).await.map_err(|error| match error.kind() {
        ErrorKind::NotFound => NoAnswer::NotThere,
        ErrorKind::ConnectionRefused => NoAnswer::Ended,
        ErrorKind::PermissionDenied => NoAnswer::Forbidden,
        _ => NoAnswer::Connect(error),
    })?;
    let failed = |error: hyper::Error| NoAnswer::CutOff(error.into());
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    tokio::spawn(connection);
    let request =
        Request::builder().method(method).uri(path).header(header::HOST, "localhost").body(Full::new(body))?;
    let response = sender.send_request(request).await.map_err(failed)?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
    Ok((status, body.map_err(NoAnswer::CutOff)?.to_bytes()))
}

fn refusal(status: StatusCode, body: &[u8]) -> String {
    let said = devgate_types::escape(String::from_utf8_lossy(body).trim(), 256);
    format!("{said} ({status})")
}

/// Lines of text as a terminal may show them.
fn escape_lines(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let lines = text.trim().lines().map(|line| devgate_types::escape(line, 1_024));
    lines.collect::<Vec<_>>().join("\n")
}
