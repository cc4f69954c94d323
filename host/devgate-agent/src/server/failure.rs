//! What the API server did not do, and what follows from it.

use http::response::Parts;
use kube::core::Status;
use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

/// The longest that the API server may have its clients wait.
const LONGEST: Duration = Duration::from_secs(600);

const NO_API: &str = "it has no resource.k8s.io/v1, which Kubernetes has from 1.34 on";

/// A request that failed: one line for people.
#[derive(Debug, Clone, thiserror::Error)]
#[error("API server: {what}: {why}")]
pub(crate) struct Failure {
    what: &'static str,
    why: String,
    pub(crate) kind: Kind,
    /// When to ask again at the earliest, if it says so.
    pub(crate) after: Option<Duration>,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 404: there is no such object.
    Missing,
    /// 409: it is there already, or is another by now.
    Conflict,
    /// 410: what was asked for is too long ago.
    Expired,
    /// 400, 413 and 422: it will never take this.
    Invalid,
    /// It may work another time.
    Passing,
}

impl Kind {
    fn of(status: u16) -> Self {
        match status {
            404 => Self::Missing,
            409 => Self::Conflict,
            410 => Self::Expired,
            400 | 413 | 422 => Self::Invalid,
            _ => Self::Passing,
        }
    }
}

impl Failure {
    fn new(what: &'static str, why: impl Display, kind: Kind) -> Self {
        Self { what, why: devgate_types::escape(&why.to_string(), 512), kind, after: None }
    }

    /// It is not there, or ended in the middle.
    pub(crate) fn unreachable(what: &'static str, why: &(dyn Error + 'static)) -> Self {
        // The client names its own part first, which helps nothing.
        let why = match why.downcast_ref::<kube::Error>() {
            Some(kube::Error::Service(why)) => why.as_ref(),
            _ => why,
        };
        Self::new(what, chain(why), Kind::Passing)
    }

    /// It took too long.
    pub(crate) fn late(what: &'static str, within: Duration) -> Self {
        Self::new(what, format_args!("no answer within {within:?}"), Kind::Passing)
    }

    /// It said what is not understood.
    pub(crate) fn nonsense(what: &'static str, why: impl Display) -> Self {
        Self::new(what, why, Kind::Passing)
    }

    /// It said no.
    pub(crate) fn refused(what: &'static str, head: &Parts, body: &[u8]) -> Self {
        let status: Option<Status> = serde_json::from_slice(body).ok();
        let said = match &status {
            Some(status) if !status.message.is_empty() => status.message.clone(),
            // Some that refuse early do so in plain text.
            None if head.status == http::StatusCode::NOT_FOUND => NO_API.to_owned(),
            _ => String::from_utf8_lossy(body.get(..body.len().min(512)).unwrap_or_default()).into_owned(),
        };
        let header = head.headers.get(http::header::RETRY_AFTER);
        let header = header.and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
        let details = status.and_then(|status| status.details).map(|details| u64::from(details.retry_after_seconds));
        let after = header.or(details).filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let code = head.status.as_u16();
        let why = format!("{code}: {}", said.split_whitespace().collect::<Vec<_>>().join(" "));
        Self { after: after.map(|after| after.min(LONGEST)), ..Self::new(what, why, Kind::of(code)) }
    }

    /// Whether what is missing is not the object, but all of its kind.
    pub(crate) fn is_whole_api(&self) -> bool {
        self.why.ends_with(NO_API)
    }

    /// What a watch said in place of an event.
    pub(crate) fn in_watch(what: &'static str, status: &Status) -> Self {
        Self::new(what, format_args!("{}: {}", status.code, status.message), Kind::of(status.code))
    }
}

/// An error with what caused it, each said once.
fn chain(why: &(dyn Error + 'static)) -> String {
    let mut said = why.to_string();
    let mut next = why.source();
    while let Some(cause) = next {
        let cause_said = cause.to_string();
        if !said.contains(&cause_said) {
            said = format!("{said}: {cause_said}");
        }
        next = cause.source();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, header: Option<&str>, body: &str) -> Failure {
        let mut response = http::Response::builder().status(status);
        if let Some(value) = header {
            response = response.header("Retry-After", value);
        }
        Failure::refused("update slice", &response.body(()).unwrap().into_parts().0, body.as_bytes())
    }

    #[test]
    fn what_is_refused_says_why_in_one_line_and_until_when() {
        let body = r#"{"kind":"Status","code":422,"message":"ResourceSlice \"x\" is invalid: spec.devices[3].name:\n bad","reason":"Invalid"}"#;
        let failure = refused(422, None, body);
        assert_eq!(failure.kind, Kind::Invalid);
        assert_eq!(
            failure.to_string(),
            r#"API server: update slice: 422: ResourceSlice "x" is invalid: spec.devices[3].name: bad"#
        );
        let failure = refused(429, Some("7"), "Too many requests, please try again later.\n");
        assert_eq!((failure.kind, failure.after), (Kind::Passing, Some(Duration::from_secs(7))));
        assert!(failure.to_string().ends_with("429: Too many requests, please try again later."), "{failure}");
        let failure = refused(503, None, r#"{"code":503,"message":"etcd","details":{"retryAfterSeconds":3}}"#);
        assert_eq!(failure.after, Some(Duration::from_secs(3)));
        assert_eq!(refused(429, Some("99999999999"), "").after, Some(LONGEST));
        assert_eq!(refused(429, Some("soon"), "").after, None);
        for (status, kind) in [
            (404, Kind::Missing),
            (409, Kind::Conflict),
            (410, Kind::Expired),
            (403, Kind::Passing),
            (500, Kind::Passing),
        ] {
            assert_eq!(refused(status, None, "\u{1b}[31m").kind, kind);
        }
        assert!(refused(500, None, &"x".repeat(5000)).to_string().len() < 700);
    }
}
