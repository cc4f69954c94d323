//! All slices of the node, and what becomes of them.

use super::{ANSWER, Failure, Kind, Pace, SLICES, Server};
use crate::slices::Seen;
use bytes::{Buf as _, BytesMut};
use http_body_util::BodyExt as _;
use k8s_openapi::List;
use k8s_openapi::api::resource::v1::ResourceSlice;
use kube::api::{ListParams, WatchParams};
use kube::client::Body;
use kube::core::{Request, Status};
use serde::Deserialize;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};

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

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Object<T> {
    object: T,
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: kube::core::ListMeta,
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
        const WHAT: &str = "watch slices";
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
        let mut lines = Lines { body: response.into_body(), read: BytesMut::new(), looked: 0 };
        loop {
            let line = match timeout(SILENT, lines.next()).await {
                Ok(Ok(Some(line))) => line,
                Ok(Ok(None)) | Err(_) => return Ok(()),
                Ok(Err(failure)) => return Err(failure),
            };
            let nonsense = |why| Failure::nonsense(WHAT, why);
            let object = || serde_json::from_slice::<Object<ResourceSlice>>(&line).map_err(nonsense);
            let kind = serde_json::from_slice::<Line>(&line).map_err(nonsense)?.kind;
            let event = match kind.as_str() {
                "ADDED" | "MODIFIED" => Event::Changed(Seen::of(object()?.object)),
                "DELETED" => Event::Gone(Seen::of(object()?.object)),
                "BOOKMARK" => {
                    let bookmark: Object<Bookmark> = serde_json::from_slice(&line).map_err(nonsense)?;
                    *version = bookmark.object.metadata.resource_version.unwrap_or_default();
                    continue;
                }
                _ => {
                    let status: Object<Status> = serde_json::from_slice(&line).map_err(nonsense)?;
                    return Err(Failure::in_watch(WHAT, &status.object));
                }
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

/// The lines of a watch, each of a bounded length.
struct Lines {
    body: Body,
    read: BytesMut,
    /// So much of it has no end of a line.
    looked: usize,
}

impl Lines {
    async fn next(&mut self) -> Result<Option<BytesMut>, Failure> {
        const WHAT: &str = "watch slices";
        loop {
            let rest = self.read.get(self.looked..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let line = self.read.split_to(self.looked + at);
                self.read.advance(1);
                self.looked = 0;
                return Ok(Some(line));
            }
            self.looked = self.read.len();
            if self.looked > LONGEST {
                return Err(Failure::nonsense(WHAT, format_args!("an event of more than {LONGEST} bytes")));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(why)) => return Err(Failure::unreachable(WHAT, &why)),
                Some(Ok(frame)) => self.read.extend_from_slice(&frame.into_data().unwrap_or_default()),
            }
        }
    }
}
