//! Claims, templates and classes, as users write them.

use crate::cluster::Cluster;
use anyhow::Result;
use serde_json::{Value, json};

/// A request for one device of a class, or what else is said of it.
pub(super) fn request(name: &str, class: &str, more: Value) -> Value {
    let mut exactly = json!({"deviceClassName": class});
    for (key, value) in more.as_object().into_iter().flatten() {
        exactly[key] = value.clone();
    }
    json!({"name": name, "exactly": exactly})
}

/// What of a request says which devices are meant.
pub(super) fn those(expression: &str) -> Value {
    json!([{"cel": {"expression": expression}}])
}

/// A template of claims.
pub(super) fn template(name: &str, requests: &[Value]) -> Value {
    let mut template = claim(name, requests);
    template["kind"] = json!("ResourceClaimTemplate");
    template["spec"] = json!({"spec": template["spec"]});
    template
}

/// A claim that pods share.
pub(super) fn claim(name: &str, requests: &[Value]) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": requests}},
    })
}

pub(super) fn apply(cluster: &Cluster, objects: &[Value]) -> Result<()> {
    cluster.apply(&json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string())
}

/// The classes of a policy, as its admin makes them.
pub(super) fn classes(cluster: &Cluster, policy: &str) -> Result<()> {
    let file = cluster.given.dir.join("work/policy.yaml");
    std::fs::write(&file, policy)?;
    cluster.apply(&cluster.devgatectl(&["dra", "classes", "--policy", &file.display().to_string()])?)
}
