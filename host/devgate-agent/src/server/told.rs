//! What the cluster is told of the host: Events, and a condition of the node. None of it is waited for long.

use super::{Failure, OBJECT, Server};
use k8s_openapi::api::core::v1::NodeCondition;
use kube::api::{GetParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is read of a node: its version and its conditions.
#[derive(Deserialize)]
pub(crate) struct Conditions {
    pub(crate) metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
pub(crate) struct Metadata {
    #[serde(rename = "resourceVersion")]
    pub(crate) version: String,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<NodeCondition>,
}

impl Conditions {
    pub(crate) fn get(&self, kind: &str) -> Option<&NodeCondition> {
        self.status.conditions.iter().find(|condition| condition.type_ == kind)
    }
}

fn events(namespace: &str) -> Request {
    Request::new(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"))
}

impl Server {
    /// Makes an Event. The namespace must be such that it is one part of a path.
    pub(crate) async fn create_event(&self, namespace: &str, event: &Value) -> Result<(), Failure> {
        let request = events(namespace).create(&PostParams::default(), event.to_string().into_bytes());
        self.ask::<IgnoredAny>("create event", request, PATIENCE, OBJECT).await.map(drop)
    }

    /// Changes this of an Event.
    pub(crate) async fn change_event(&self, namespace: &str, name: &str, of: &Value) -> Result<(), Failure> {
        let request = events(namespace).patch(name, &PatchParams::default(), &Patch::Merge(of));
        self.ask::<IgnoredAny>("change event", request, PATIENCE, OBJECT).await.map(drop)
    }

    pub(crate) async fn conditions(&self, node: &str) -> Result<Conditions, Failure> {
        let request = Request::new("/api/v1/nodes").get(node, &GetParams::default());
        self.ask("read node", request, PATIENCE, OBJECT).await
    }

    /// Changes this of a node's status: of its conditions, only those of the same type.
    pub(crate) async fn change_status(&self, node: &str, of: &Value) -> Result<(), Failure> {
        let nodes = Request::new("/api/v1/nodes");
        let request = nodes.patch_subresource("status", node, &PatchParams::default(), &Patch::Strategic(of));
        self.ask::<IgnoredAny>("change node's status", request, PATIENCE, OBJECT).await.map(drop)
    }
}
