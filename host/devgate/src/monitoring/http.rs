//! The answers, over whatever connection. Only GET, and small requests; but for what root may ask for over the local
//! socket, a reload or a lease, nothing is ever changed.

use super::conditions::Ready;
use super::{Monitored, Report, metrics, page, process};
use crate::{cdi, handover};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

const ONLY_GET: &str = "only GET is answered\n";
/// What is said of a path that there is not.
pub(crate) const NO_PAGE: &str = "there is no such page\n";

/// How long a connection may last, whatever it does.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The same where a reload may be asked for, which waits for components to compile.
const LOCAL_PATIENCE: Duration = Duration::from_secs(600);
/// How long a request may take to arrive.
const HEADER_PATIENCE: Duration = Duration::from_secs(5);
/// The same where anybody can connect.
const NETWORK_HEADER_PATIENCE: Duration = Duration::from_secs(1);
/// The most characters of why a policy is refused that are said beside that the host is ready: an event has room for a thousand.
const MAX_WARNING: usize = 768;
/// The most bytes of a request's head.
const MAX_HEAD: usize = 8 * 1024;

/// Who is at the other end, and so what is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// All who reach the port: probes and numbers.
    Network,
    /// Programs on this machine, or that forward a port to it: also what plugins do, without who has what.
    Loopback,
    /// Root or the host's own user, over the local socket: everything.
    Local,
    /// A host that stands by, over the socket in the state directory: what this one offers, and that it hand over.
    Standby,
    /// Another user on the local socket: only that it may not ask. Its request is read all the same, as an answer that comes
    /// before the question is no answer to most.
    Unauthorized,
}

/// Answers one connection, for a bounded time. `work` is leave to make an answer.
pub(super) async fn answer<C>(connection: C, monitored: Monitored, audience: Audience, work: Arc<Semaphore>)
where
    C: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(|request| {
        let (monitored, work) = (monitored.clone(), Arc::clone(&work));
        async move { Ok::<_, Infallible>(respond(request, monitored, audience, work).await) }
    });
    let (patience, header_patience) = match audience {
        Audience::Local => (LOCAL_PATIENCE, HEADER_PATIENCE),
        Audience::Network => (TIMEOUT, NETWORK_HEADER_PATIENCE),
        _ => (TIMEOUT, HEADER_PATIENCE),
    };
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(header_patience).max_buf_size(MAX_HEAD).keep_alive(false);
    let connection = protocol.serve_connection(TokioIo::new(connection), service);
    // A client that is too slow or says nonsense gets no more; there is nothing to tell the admin about it.
    let _ = tokio::time::timeout(patience, connection).await;
}

async fn respond(
    request: Request<Incoming>,
    monitored: Monitored,
    audience: Audience,
    work: Arc<Semaphore>,
) -> Response<Full<Bytes>> {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if matches!(audience, Audience::Loopback | Audience::Local | Audience::Standby) && !is_loopback_name(host) {
        // Another site's page may have got a name that means this machine, to read this in a visitor's browser. Over a
        // forwarded port that reaches the local socket, too.
        return said(StatusCode::FORBIDDEN, "this is only answered as localhost\n");
    }
    if request.method() == Method::POST && audience == Audience::Standby && request.uri().path() == handover::PATH {
        return match monitored.hand_over(request.uri().query().unwrap_or_default()) {
            Ok(()) => said(StatusCode::OK, "this devgate hands over\n"),
            Err(why) => said(StatusCode::CONFLICT, &format!("{why}\n")),
        };
    }
    if request.method() == Method::POST && audience == Audience::Local {
        return order(request, &monitored).await;
    }
    if request.method() != Method::GET {
        return said(StatusCode::METHOD_NOT_ALLOWED, ONLY_GET);
    }
    if audience == Audience::Unauthorized {
        let why = "only root and the user that devgate runs as may ask\n";
        return said(StatusCode::FORBIDDEN, why);
    }
    // However many connections come and go, so many answers are made at once.
    let Ok(permit) = work.acquire_owned().await else {
        return said(StatusCode::SERVICE_UNAVAILABLE, "the host ends\n");
    };
    let path = request.uri().path().to_owned();
    // To gather and to write what there is of ten thousand devices takes milliseconds, in which others must be served.
    let made = tokio::task::spawn_blocking(move || {
        let made = make(&path, &monitored, audience);
        drop(permit);
        made
    });
    made.await.unwrap_or_else(|_| said(StatusCode::INTERNAL_SERVER_ERROR, "it could not be written\n"))
}

/// What root asks to be done.
async fn order(request: Request<Incoming>, monitored: &Monitored) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    let (is_reload, is_cdi) = (path == "/reload", path.starts_with("/cdi/"));
    if !is_reload && !is_cdi {
        return said(StatusCode::METHOD_NOT_ALLOWED, ONLY_GET);
    }
    if request.headers().contains_key(header::ORIGIN) {
        // A browser sends it with every POST, also to another site than the page's; devgate's own commands do not.
        return said(StatusCode::FORBIDDEN, "no web page may ask for that\n");
    }
    if is_reload {
        let forced = request.uri().query() == Some("force");
        return match monitored.reload(forced).await {
            Ok(text) => said(StatusCode::OK, &format!("{text}\n")),
            Err(why) => said(StatusCode::CONFLICT, &format!("{why}\n")),
        };
    }
    let (status, text) = match monitored {
        Monitored::Waits { why, .. } => (StatusCode::CONFLICT, why.to_string()),
        Monitored::Serves(serving) => cdi::answer(&path, request.into_body(), serving).await,
    };
    said(status, &text)
}

fn make(path: &str, monitored: &Monitored, audience: Audience) -> Response<Full<Bytes>> {
    match (path, audience) {
        ("/healthz", _) => lives(&monitored.hangs()),
        // A rollout's controller ends a pod that is not ready as soon as a newer one is there (handover.rs).
        ("/readyz", _) if monitored.is_ready_standby() => said(StatusCode::OK, "stands by\n"),
        ("/readyz", _) => ready(&monitored.report()),
        ("/metrics", _) => {
            let text = metrics::text(&monitored.report(), &process::now());
            typed(StatusCode::OK, metrics::TYPE, text)
        }
        ("/status", Audience::Local | Audience::Standby) => status(&monitored.report()),
        ("/status", Audience::Loopback) => status(&monitored.report().without_holders()),
        ("/", Audience::Local | Audience::Loopback) => page::response(),
        _ => said(StatusCode::NOT_FOUND, NO_PAGE),
    }
}

pub(super) fn lives(hangs: &[String]) -> Response<Full<Bytes>> {
    match hangs {
        [] => said(StatusCode::OK, "lives\n"),
        _ => said(StatusCode::SERVICE_UNAVAILABLE, &format!("{}\n", hangs.join("\n"))),
    }
}

/// Whether a host is ready, and what an admin should see of one that is: the kubelet takes 300 for ready, and makes an event of the
/// pod of what is said with it.
pub(super) fn ready(report: &Report) -> Response<Full<Bytes>> {
    let conditions = || report.conditions.iter();
    let such = |ready| conditions().filter(move |found| found.condition.ready() == ready);
    let waits = such(Ready::No).map(|found| format!("{}: {}\n", found.of, found.why));
    let waits: String = waits.collect();
    if !waits.is_empty() {
        return said(StatusCode::SERVICE_UNAVAILABLE, &waits);
    }
    match such(Ready::Told).next() {
        None => said(StatusCode::OK, "is ready\n"),
        Some(found) => {
            let why: String = found.why.chars().take(MAX_WARNING).collect();
            let text = format!("is ready; another policy is refused, what was in force goes on: {why}\n");
            said(StatusCode::MULTIPLE_CHOICES, &text)
        }
    }
}

fn status(report: &Report) -> Response<Full<Bytes>> {
    match serde_json::to_vec(report) {
        Ok(json) => typed(StatusCode::OK, "application/json", json),
        Err(error) => said(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
    }
}

fn said(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    typed(status, "text/plain; charset=utf-8", text.to_owned())
}

/// An answer that a browser takes for nothing but what it says it is, keeps nowhere and shows in no frame.
pub(super) fn typed(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Whether a request's `Host` means this machine for every client: `localhost` or an address, with or without a port.
fn is_loopback_name(host: Option<&str>) -> bool {
    let Some(host) = host else { return false };
    let without_port = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_loopback = |name: &str| name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    without_port.eq_ignore_ascii_case("localhost") || is_loopback(without_port)
}

#[cfg(test)]
mod tests {
    use super::super::metrics::tests::one as report;
    use super::*;
    use crate::reload::Refused;
    use devgate_core::status::When;

    /// Not ready would be worse: a rollout takes away all pods that are not ready at once.
    #[test]
    fn a_host_that_refuses_a_policy_is_ready_and_has_the_kubelet_say_so() {
        let mut now = report();
        assert_eq!(ready(&now).status(), 200);
        now.policy.refused = Some(Refused { why: "é".repeat(5_000), since: When::now() });
        let mut now = now.judged();
        let answer = ready(&now);
        assert_eq!(answer.status(), 300);
        assert!(!answer.headers().contains_key(header::LOCATION));
        let size = hyper::body::Body::size_hint(answer.body());
        assert!(size.exact().unwrap() < 2_000, "{size:?}");
        now.kubelet.clear();
        assert_eq!(ready(&now.judged()).status(), 503, "what it waits for comes first");
    }

    #[test]
    fn only_names_of_this_machine_are_taken_for_it() {
        for yes in ["localhost", "LOCALHOST:9464", "127.0.0.1", "127.0.0.1:80", "127.9.9.9:1", "[::1]:9464", "[::1]"] {
            assert!(is_loopback_name(Some(yes)), "{yes}");
        }
        for no in ["evil.example", "localhost.evil.example:80", "10.0.0.1:9464", "", "[::2]:1", "127.0.0.1.evil:1"] {
            assert!(!is_loopback_name(Some(no)), "{no}");
        }
        assert!(!is_loopback_name(None));
    }
}
