//! Putting something beside an artifact that refers to it (OCI distribution specification 1.1, "Pushing Manifests with Subject").

use super::artifact::Artifact;
use super::upload::{made, put};
use devgate_oci::manifest::{INDEX, MANIFEST};
use devgate_oci::{Descriptor, Error};
use devgate_pull::Session;
use devgate_types::PinnedReference;
use serde_json::{Value, json};

/// Pushes an artifact that refers to this one, and has its registry list it, by itself or under the tag that stands in for that where a
/// registry does not ("Referrers Tag Schema").
///
/// # Errors
/// When the registry does not take it.
pub(crate) async fn attach(session: &mut Session, to: &PinnedReference, artifact: &Artifact) -> Result<(), Error> {
    let named = super::beside(to, to.digest);
    let sent = put(session, &named, artifact, &artifact.digest().to_string()).await?;
    if sent.lists_subject {
        return Ok(());
    }
    let tag = format!("sha256-{}", to.digest.hex());
    let there = session.manifest(&tag).await?;
    let listed = there.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let Some(index) = with(listed, artifact) else { return Ok(()) };
    let sent = session.ask("PUT", &format!("manifests/{tag}"), Some((INDEX, index.as_bytes()))).await?;
    made(&named, sent.status, "the list of what refers to it")
}

/// A list with one more; `None` where it is in it.
fn with(listed: Option<Value>, artifact: &Artifact) -> Option<String> {
    let mut list: Vec<Value> = listed.and_then(|list| list.get("manifests")?.as_array().cloned()).unwrap_or_default();
    let digest = artifact.digest().to_string();
    if list.iter().any(|one| one.get("digest").and_then(Value::as_str) == Some(&*digest)) {
        return None;
    }
    let manifest: Value = serde_json::from_slice(&artifact.manifest).unwrap_or_default();
    let mut one = json!(Descriptor::of(MANIFEST, &artifact.manifest));
    for key in ["artifactType", "annotations"] {
        if let (Some(value), Some(one)) = (manifest.get(key), one.as_object_mut()) {
            one.insert(key.to_owned(), value.clone());
        }
    }
    list.push(one);
    Some(json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": list}).to_string())
}
