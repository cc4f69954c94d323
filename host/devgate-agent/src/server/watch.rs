//! All slices of the node, and what becomes of them.

use super::{ANSWER, Failure, Kind, Pace, SLICES, Server};
use crate::slices::Seen;
use devgate_agent_protocol::{LineError, Lines, MAX_LINE};
use http_body_util::BodyExt as _;
use k8s_openapi::List;
use k8s_openapi::api::resource::v1::ResourceSlice;
use kube::api::{ListParams, WatchParams};
use kube::core::{Request, WatchEvent};
use std::io;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::io::StreamReader;

/// What a failure of it is of.
const WHAT: &str = "watch slices";
/// Slices of a page of the list, and the longest page in bytes.
const PAGE: u32 = 8;
const LONGEST: usize = 32 << 20;
/// So many slices are no node's.
const MOST: usize = 100_000;
/// How long a watch lasts, in seconds; the next goes on where it ended.
const WATCH: u32 = 290;
/// How long it may be silent: there is a bookmark each minute.
const SILENT: Duration = Duration::from_secs(150);
/// Between two requests that fail, or that end at once.
const FIRST: Duration = Duration::from_secs(1);
const LAST: Duration = Duration::from_secs(60);

/// What is known of the node's slices.
#[derive(Debug)]
pub(crate) enum Event {
    /// All that there are, at a resource version.
    All(Vec<Seen>, String),
    /// What follows is told as it happens.
    Watching,
    /// One that is new or changed.
    Changed(Seen),
    /// One that is gone, as it was last.
    Gone(Seen),
    /// They are not known.
    Failed(Failure),
}

/// Tells what there is until nobody listens.
pub(crate) async fn watch(server: Server, pace: Pace, node: String, to: Sender<Event>) {
    let mut watch = Watch { server, pace, fields: format!("spec.nodeName={node}"), to, wait: FIRST };
    while watch.all().await.is_some() {}
}

struct Watch {
    server: Server,
    pace: Pace,
    fields: String,
    to: Sender<Event>,
    wait: Duration,
}

impl Watch {
    /// Lists, and watches from there until what happened since is not known any more.
    async fn all(&mut self) -> Option<()> {
        let mut version = match self.list().await {
            Ok((seen, version)) => {
                self.to.send(Event::All(seen, version.clone())).await.ok()?;
                version
            }
            Err(failure) => return self.failed(failure).await,
        };
        let listed = Instant::now();
        loop {
            let start = Instant::now();
            match self.follow(&mut version).await {
                Ok(()) if self.to.is_closed() => return None,
                Ok(()) if start.elapsed() > FIRST => self.wait = FIRST,
                // An end without a word is nothing to tell, and no reason to ask at once.
                Ok(()) => self.rest(None).await,
                Err(failure) if failure.kind == Kind::Expired => {
                    // What was listed a moment ago is not long ago.
                    if listed.elapsed() < LAST {
                        self.rest(failure.after).await;
                    }
                    return Some(());
                }
                Err(failure) => self.failed(failure).await?,
            }
        }
    }

    async fn failed(&mut self, failure: Failure) -> Option<()> {
        let after = failure.after;
        self.pace.pause(after.unwrap_or_default());
        self.to.send(Event::Failed(failure)).await.ok()?;
        self.rest(after).await;
        Some(())
    }

    async fn rest(&mut self, after: Option<Duration>) {
        let wait = self.wait.mul_f64(1.0 + fastrand::f64() / 4.0);
        self.wait = (self.wait * 2).min(LAST);
        sleep(wait.max(after.unwrap_or_default())).await;
    }

    async fn list(&self) -> Result<(Vec<Seen>, String), Failure> {
        let mut params = ListParams { field_selector: Some(self.fields.clone()), ..ListParams::default() }.limit(PAGE);
        let mut seen = Vec::new();
        loop {
            self.pace.wait().await;
            let request = Request::new(SLICES).list(&params);
            let list: List<ResourceSlice> = self.server.ask("list slices", request, ANSWER, LONGEST).await?;
            seen.extend(list.items.into_iter().map(Seen::of));
            if seen.len() > MOST {
                return Err(Failure::nonsense("list slices", format_args!("more than {MOST} of this node")));
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => return Ok((seen, list.metadata.resource_version.unwrap_or_default())),
            }
        }
    }

    /// Tells what happens from a version on, which it counts on, until the watch ends.
    async fn follow(&mut self, version: &mut String) -> Result<(), Failure> {
        self.pace.wait().await;
        let params = WatchParams { field_selector: Some(self.fields.clone()), ..WatchParams::default() };
        let request = Request::new(SLICES).watch(&params.timeout(WATCH), version);
        let sent = timeout(ANSWER, self.server.send(WHAT, request)).await;
        let response = sent.unwrap_or_else(|_| Err(Failure::late(WHAT, ANSWER)))?;
        if !response.status().is_success() {
            let (head, body) = response.into_parts();
            let body = http_body_util::Limited::new(body, super::OBJECT).collect();
            let body = timeout(ANSWER, body).await.ok().and_then(Result::ok).unwrap_or_default();
            return Err(Failure::refused(WHAT, &head, &body.to_bytes()));
        }
        if self.to.send(Event::Watching).await.is_err() {
            return Ok(());
        }
        // Each line is one object, which is never longer than a message of the host's.
        let mut lines =
            Lines::new(StreamReader::new(response.into_body().map_err(io::Error::other).into_data_stream()));
        loop {
            let line = match timeout(SILENT, lines.next::<WatchEvent<ResourceSlice>>()).await {
                Ok(Ok(Some(line))) => line,
                Ok(Ok(None)) | Err(_) => return Ok(()),
                Ok(Err(why)) => return broken(why).map_or(Ok(()), Err),
            };
            let event = match line {
                WatchEvent::Added(slice) | WatchEvent::Modified(slice) => Event::Changed(Seen::of(slice)),
                WatchEvent::Deleted(slice) => Event::Gone(Seen::of(slice)),
                WatchEvent::Bookmark(bookmark) => {
                    *version = bookmark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(status) => return Err(Failure::in_watch(WHAT, &status)),
            };
            if let Event::Changed(seen) | Event::Gone(seen) = &event {
                version.clone_from(&seen.version);
            }
            if self.to.send(event).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// What is wrong with what came; nothing where it only ended, and is asked for again from there.
fn broken(why: LineError) -> Option<Failure> {
    Some(match why {
        LineError::Malformed(why) => Failure::nonsense(WHAT, why),
        LineError::TooLong => Failure::nonsense(WHAT, format_args!("an event of more than {MAX_LINE} bytes")),
        LineError::Io(why) if why.kind() == io::ErrorKind::UnexpectedEof => return None,
        LineError::Io(why) => match why.get_ref() {
            Some(inner) => Failure::unreachable(WHAT, inner),
            None => Failure::unreachable(WHAT, &why),
        },
    })
}
