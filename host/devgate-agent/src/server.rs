//! The API server: the few requests that there are, each with a bound on how long it takes and how much it answers.

mod failure;
mod pace;
mod watch;
mod way;

pub(crate) use failure::{Failure, Kind};
pub(crate) use pace::Pace;
pub(crate) use watch::{Event, watch};
pub(crate) use way::config;

use http::Request as HttpRequest;
use http_body_util::{BodyExt as _, Limited};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceSlice};
use kube::Client;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions};
use kube::client::Body;
use kube::core::Request;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

const SLICES: &str = "/apis/resource.k8s.io/v1/resourceslices";
/// How long an answer may take.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);
/// How long an answer may take about a claim, for which the kubelet waits, and about what the cluster is told of the host.
pub(crate) const SHORT: Duration = Duration::from_secs(10);
/// The longest answer about one object, in bytes: the API server keeps none of more than 3 MiB.
const OBJECT: usize = 4 << 20;

/// The API server, as this process may use it.
#[derive(Clone)]
pub(crate) struct Server {
    client: Client,
}

impl Server {
    pub(crate) const fn new(client: Client) -> Self {
        Self { client }
    }

    pub(crate) async fn node(&self, name: &str, within: Duration) -> Result<Node, Failure> {
        let request = Request::new("/api/v1/nodes").get(name, &GetParams::default());
        self.ask("read node", request, within, OBJECT).await
    }

    /// Which version it is.
    pub(crate) async fn version(&self) -> Result<String, Failure> {
        #[derive(Deserialize)]
        struct Version {
            #[serde(rename = "gitVersion")]
            version: String,
        }
        let request = HttpRequest::get("/version").body(Vec::new()).map_err(kube::core::request::Error::BuildRequest);
        Ok(self.ask::<Version>("read its version", request, ANSWER, OBJECT).await?.version)
    }

    /// What a claim is. The names must be such that they are one part of a path each.
    pub(crate) async fn claim(&self, namespace: &str, name: &str) -> Result<ResourceClaim, Failure> {
        let path = format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims");
        self.ask("read claim", Request::new(path).get(name, &GetParams::default()), SHORT, OBJECT).await
    }

    pub(crate) async fn slice(&self, name: &str) -> Result<ResourceSlice, Failure> {
        self.ask("read slice", Request::new(SLICES).get(name, &GetParams::default()), ANSWER, OBJECT).await
    }

    pub(crate) async fn create(&self, slice: &ResourceSlice) -> Result<ResourceSlice, Failure> {
        let body = serde_json::to_vec(slice).map_err(|why| Failure::nonsense("create slice", why))?;
        let request = Request::new(SLICES).create(&PostParams::default(), body);
        self.ask("create slice", request, ANSWER, OBJECT).await
    }

    /// Puts it in the place of the one with its name, if that is still of its resource version.
    pub(crate) async fn replace(&self, slice: &ResourceSlice) -> Result<ResourceSlice, Failure> {
        let body = serde_json::to_vec(slice).map_err(|why| Failure::nonsense("update slice", why))?;
        let name = slice.metadata.name.as_deref().unwrap_or_default();
        let request = Request::new(SLICES).replace(name, &PostParams::default(), body);
        self.ask("update slice", request, ANSWER, OBJECT).await
    }

    /// Deletes exactly the slice that is meant.
    pub(crate) async fn delete(&self, name: &str, uid: &str, version: &str) -> Result<(), Failure> {
        let only = Preconditions { resource_version: Some(version.to_owned()), uid: Some(uid.to_owned()) };
        let params = DeleteParams::default().preconditions(only);
        let request = Request::new(SLICES).delete(name, &params);
        // What was there comes back, or a status.
        self.ask::<IgnoredAny>("delete slice", request, ANSWER, OBJECT).await.map(drop)
    }

    /// Makes an Event. The namespace must be such that it is one part of a path.
    pub(crate) async fn create_event(&self, namespace: &str, event: &Value) -> Result<(), Failure> {
        let request = events(namespace).create(&PostParams::default(), event.to_string().into_bytes());
        self.ask::<IgnoredAny>("create event", request, SHORT, OBJECT).await.map(drop)
    }

    /// Changes this of an Event.
    pub(crate) async fn change_event(&self, namespace: &str, name: &str, of: &Value) -> Result<(), Failure> {
        let request = events(namespace).patch(name, &PatchParams::default(), &Patch::Merge(of));
        self.ask::<IgnoredAny>("change event", request, SHORT, OBJECT).await.map(drop)
    }

    /// Changes this of a node's status: of its conditions, only those of the same type.
    pub(crate) async fn change_status(&self, node: &str, of: &Value) -> Result<(), Failure> {
        let nodes = Request::new("/api/v1/nodes");
        let request = nodes.patch_subresource("status", node, &PatchParams::default(), &Patch::Strategic(of));
        self.ask::<IgnoredAny>("change node's status", request, SHORT, OBJECT).await.map(drop)
    }

    /// Sends a request; the answer's body is not read yet.
    async fn send(&self, what: &'static str, request: Built) -> Result<http::Response<Body>, Failure> {
        let request = request.map_err(|why| Failure::nonsense(what, why))?;
        let response = self.client.send(request.map(Body::from)).await;
        response.map_err(|why| Failure::unreachable(what, &why))
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        what: &'static str,
        request: Built,
        within: Duration,
        most: usize,
    ) -> Result<T, Failure> {
        let answer = async {
            let (head, body) = self.send(what, request).await?.into_parts();
            let body = Limited::new(body, most).collect().await;
            let body = body.map_err(|why| Failure::unreachable(what, why.as_ref()))?.to_bytes();
            if !head.status.is_success() {
                return Err(Failure::refused(what, &head, &body));
            }
            serde_json::from_slice(&body).map_err(|why| Failure::nonsense(what, why))
        };
        timeout(within, answer).await.unwrap_or_else(|_| Err(Failure::late(what, within)))
    }
}

fn events(namespace: &str) -> Request {
    Request::new(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"))
}

type Built = Result<HttpRequest<Vec<u8>>, kube::core::request::Error>;
