//! Signing what was pushed, in cosign's own form, so that cosign and every host can check it (cosign, "Signature Specification").

use super::upload::put;
use super::{Artifact, Raw, wait};
use crate::signing_key::SigningKey;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use devgate::transfer::coded;
use devgate_oci::child::{ANNOTATION, MAX_SIGNATURES, PAYLOAD};
use devgate_oci::{Descriptor, Error, Registries};
use devgate_types::PinnedReference;
use serde_json::json;

/// Puts a signature beside an artifact, and leaves those that are there.
pub(crate) fn sign(registries: &Registries, artifact: &PinnedReference, key: &SigningKey) -> anyhow::Result<()> {
    let signed = wait(async {
        let mut session = super::open(registries, &artifact.repository, true)?;
        let tag = tag(artifact);
        let there = session.manifest(&tag).await?.unwrap_or_default();
        let signatures = added(artifact, key, Raw::read(&there).layers)?;
        put(&mut session, &super::beside(artifact, artifact.digest), &signatures, &tag).await.map(drop)
    });
    signed.map_err(coded)
}

/// The tag that an artifact's signatures have.
pub(super) fn tag(artifact: &PinnedReference) -> String {
    format!("sha256-{}.sig", artifact.digest.hex())
}

/// An artifact's signatures with another one.
pub(super) fn added(
    artifact: &PinnedReference,
    key: &SigningKey,
    mut layers: Vec<Descriptor>,
) -> Result<Artifact, Error> {
    let failed = |error: anyhow::Error| Error::Host(format!("{artifact}: signature: {error:#}"));
    let payload = json!({
        "critical": {
            "identity": {"docker-reference": artifact.repository.to_string()},
            "image": {"docker-manifest-digest": artifact.digest.to_string()},
            "type": "cosign container image signature",
        },
        "optional": null,
    });
    let payload = payload.to_string().into_bytes();
    let mut layer = Descriptor::of(PAYLOAD, &payload);
    layer.annotations = Some([(ANNOTATION.to_owned(), STANDARD.encode(key.sign(&payload).map_err(failed)?))].into());
    layers.push(layer);
    if layers.len() > MAX_SIGNATURES {
        let why = format!("{artifact}: has {MAX_SIGNATURES} signatures, and no more are looked at");
        return Err(Error::Refused(why));
    }
    Artifact::of_signatures(payload, &layers).map_err(|error| failed(error.into()))
}
