//! An API server that has nodes, slices and claims in memory, watches them, and fails when it is told to.

mod told;

use crate::server::Server;
use bytes::Bytes;
use devgate_types::Mutex;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep};

/// The fake, of which there are many handles.
#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) slices: BTreeMap<String, Value>,
    pub(crate) claims: BTreeMap<String, Value>,
    /// Events as they are, and conditions of the node.
    pub(crate) told: Vec<Value>,
    pub(crate) conditions: Vec<Value>,
    /// Writes of either.
    pub(crate) tells: usize,
    pub(crate) node_uid: String,
    pub(crate) git_version: String,
    /// Requests for slices: when, `POST`, the name.
    pub(crate) log: Vec<(Instant, Method, String)>,
    /// What the next requests that fit get instead: method, part of the path and query, status, `Retry-After`, message.
    pub(crate) refused: VecDeque<(Method, &'static str, u16, Option<&'static str>, String)>,
    /// Fields of slices and devices that are not kept.
    pub(crate) drops: &'static [&'static str],
    /// Nothing is answered.
    pub(crate) is_away: bool,
    /// How long each claim takes, and how many were asked for at once at most.
    pub(crate) claims_take: Duration,
    pub(crate) claims_now: (usize, usize),
    version: u64,
    events: Vec<(u64, Bytes)>,
    watchers: Vec<UnboundedSender<Bytes>>,
}

impl State {
    fn tell(&mut self, kind: &str, slice: &Value) {
        let line = Bytes::from(format!("{}\n", json!({"type": kind, "object": slice})));
        self.events.push((self.version, line.clone()));
        self.watchers.retain(|watcher| watcher.send(line.clone()).is_ok());
    }

    /// Writes a slice, as any client does.
    pub(crate) fn put(&mut self, mut slice: Value) -> Value {
        self.version += 1;
        let name = slice["metadata"]["name"].as_str().unwrap().to_owned();
        slice["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let kind = if self.slices.contains_key(&name) { "MODIFIED" } else { "ADDED" };
        if kind == "ADDED" {
            slice["metadata"]["uid"] = json!(format!("uid-{}", self.version));
        }
        slice["spec"].as_object_mut().unwrap().retain(|name, _| !self.drops.contains(&name.as_str()));
        for device in slice["spec"]["devices"].as_array_mut().into_iter().flatten() {
            device.as_object_mut().unwrap().retain(|name, _| !self.drops.contains(&name.as_str()));
            for taint in device["taints"].as_array_mut().into_iter().flatten() {
                let added = &mut taint["timeAdded"];
                if added.is_null() {
                    *added = json!("2026-01-02T03:04:05Z");
                }
            }
        }
        // Looking at a key of an object makes it.
        for device in slice["spec"]["devices"].as_array_mut().into_iter().flatten() {
            device.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        }
        self.slices.insert(name, slice.clone());
        self.tell(kind, &slice);
        slice
    }

    pub(crate) fn delete(&mut self, name: &str) -> Option<Value> {
        let mut slice = self.slices.remove(name)?;
        self.version += 1;
        slice["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.tell("DELETED", &slice);
        Some(slice)
    }

    /// Writes of slices.
    pub(crate) fn writes(&self) -> Vec<String> {
        let writes = self.log.iter().filter(|(_, method, _)| *method != Method::GET);
        writes.map(|(_, method, name)| format!("{method} {name}")).collect()
    }

    /// Ends all watches, with a last word.
    pub(crate) fn end_watches(&mut self, last: Option<&Value>) {
        for watcher in self.watchers.drain(..) {
            if let Some(last) = last {
                let _ = watcher.send(format!("{last}\n").into());
            }
        }
    }

    fn answer(&mut self, method: &Method, path: &str, query: &str, body: &[u8]) -> Result<Answer, Refusal> {
        let name = path.rsplit('/').next().unwrap_or_default();
        if path == "/version" {
            return Ok(Answer::Object(json!({"gitVersion": self.git_version})));
        }
        if path.contains("/events") || path.ends_with("/status") {
            return self.tell_of(method, path, &serde_json::from_slice(body).unwrap()).map(Answer::Object);
        }
        if path.starts_with("/api/v1/nodes/") {
            let metadata = json!({"name": name, "uid": self.node_uid, "resourceVersion": self.version.to_string()});
            return Ok(Answer::Object(json!({"metadata": metadata, "status": {"conditions": self.conditions}})));
        }
        if path.contains("/resourceclaims/") {
            return self.claims.get(name).cloned().map(Answer::Object).ok_or((404, "no claim".to_owned()));
        }
        let sent = || serde_json::from_slice::<Value>(body).unwrap();
        let there = self.slices.get(name);
        let version = |slice: &Value| slice["metadata"]["resourceVersion"].clone();
        match (method, there) {
            (&Method::GET, _) if path.ends_with("/resourceslices") && query.contains("watch=true") => {
                let (send, receive) = unbounded_channel();
                let from = query.split('&').find_map(|part| part.strip_prefix("resourceVersion="));
                let from: u64 = from.unwrap().parse().unwrap();
                for (_, line) in self.events.iter().filter(|(version, _)| *version > from) {
                    send.send(line.clone()).unwrap();
                }
                self.watchers.push(send);
                Ok(Answer::Watch(receive))
            }
            (&Method::GET, _) if path.ends_with("/resourceslices") => {
                assert!(query.contains("fieldSelector=spec.nodeName%3Dnode-1"), "{query}");
                let of_node = |slice: &&Value| slice["spec"]["nodeName"] == "node-1";
                let after = query.split('&').find_map(|part| part.strip_prefix("continue=")).unwrap_or_default();
                let all: Vec<_> =
                    self.slices.iter().filter(|(name, slice)| name.as_str() > after && of_node(slice)).collect();
                let page: Vec<_> = all.iter().take(8).map(|(_, slice)| slice).collect();
                let next = if all.len() > 8 { all[7].0.as_str() } else { "" };
                let metadata = json!({"resourceVersion": self.version.to_string(), "continue": next});
                Ok(Answer::Object(
                    json!({"kind": "ResourceSliceList", "apiVersion": "resource.k8s.io/v1", "metadata": metadata, "items": page}),
                ))
            }
            (&Method::GET, Some(slice)) => Ok(Answer::Object(slice.clone())),
            (&Method::POST, _) => {
                let sent = sent();
                match self.slices.contains_key(sent["metadata"]["name"].as_str().unwrap()) {
                    true => Err((409, "already exists".to_owned())),
                    false => Ok(Answer::Object(self.put(sent))),
                }
            }
            (&Method::PUT, Some(slice)) if version(slice) == version(&sent()) => {
                assert_eq!(slice["metadata"]["uid"], sent()["metadata"]["uid"]);
                Ok(Answer::Object(self.put(sent())))
            }
            (&Method::DELETE, Some(slice)) => {
                let only = &sent()["preconditions"];
                match only["uid"] == slice["metadata"]["uid"] && only["resourceVersion"] == version(slice) {
                    true => Ok(Answer::Object(self.delete(name).unwrap())),
                    false => Err((409, "another".to_owned())),
                }
            }
            (_, Some(_)) => Err((409, "the object has been modified".to_owned())),
            (_, None) => Err((404, format!("{name} not found"))),
        }
    }
}

type Refusal = (u16, String);

enum Answer {
    Object(Value),
    Watch(UnboundedReceiver<Bytes>),
}

impl Fake {
    pub(crate) fn new() -> Self {
        let fake = Self::default();
        fake.with(|state| (state.node_uid, state.git_version) = ("node-uid".to_owned(), "v1.36.2".to_owned()));
        fake
    }

    pub(crate) fn with<T>(&self, does: impl FnOnce(&mut State) -> T) -> T {
        does(&mut self.0.lock())
    }

    /// Waits until it is so.
    pub(crate) async fn until(&self, what: &str, is: impl Fn(&State) -> bool) {
        let start = Instant::now();
        while !self.with(|state| is(state)) {
            assert!(start.elapsed() < Duration::from_secs(20), "{what}: {:?}", self.with(|state| state.log.clone()));
            sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn server(&self) -> Server {
        let fake = self.clone();
        let service = tower::service_fn(move |request| fake.clone().serve(request));
        Server::new(kube::Client::new(service, "default"))
    }

    async fn serve(self, request: Request<Body>) -> std::io::Result<Response<Sent>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
        let (path, query) = (head.uri.path().to_owned(), head.uri.query().unwrap_or_default().to_owned());
        let is_claim = path.contains("/resourceclaims/");
        if is_claim {
            let take = self.with(|state| {
                state.claims_now.0 += 1;
                state.claims_now.1 = state.claims_now.1.max(state.claims_now.0);
                state.claims_take
            });
            sleep(take).await;
            self.with(|state| state.claims_now.0 -= 1);
        }
        self.with(|state| {
            if state.is_away {
                return Err(std::io::ErrorKind::ConnectionRefused.into());
            }
            if path.contains("/resourceslices") {
                let name = path.rsplit('/').next().unwrap_or_default().to_owned();
                state.log.push((Instant::now(), head.method.clone(), name));
            }
            let fits = |(method, part, ..): &(Method, &str, u16, Option<&str>, String)| {
                *method == head.method && head.uri.to_string().contains(part)
            };
            let refused = state.refused.iter().position(fits).and_then(|at| state.refused.remove(at));
            let (answer, after) = match refused {
                Some((_, _, status, after, message)) => (Err((status, message)), after),
                None => (state.answer(&head.method, &path, &query, &body), None),
            };
            let response = Response::builder();
            let response = after.iter().fold(response, |response, after| response.header("Retry-After", *after));
            let response = match answer {
                Ok(Answer::Object(object)) => response.body(Sent::Whole(Full::new(object.to_string().into()))),
                Ok(Answer::Watch(receive)) => response.body(Sent::Watch(receive)),
                Err((status, message)) if message.is_empty() => {
                    response.status(status).body(Sent::Whole(Full::new("404 page not found".into())))
                }
                Err((status, message)) => {
                    let object = json!({"kind": "Status", "code": status, "message": message});
                    response.status(status).body(Sent::Whole(Full::new(object.to_string().into())))
                }
            };
            response.map_err(std::io::Error::other)
        })
    }
}

/// The body of an answer.
enum Sent {
    Whole(Full<Bytes>),
    Watch(UnboundedReceiver<Bytes>),
}

impl hyper::body::Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(context),
            Self::Watch(receive) => {
                receive.poll_recv(context).map(|line| line.map(|line| Ok(hyper::body::Frame::data(line))))
            }
        }
    }
}
