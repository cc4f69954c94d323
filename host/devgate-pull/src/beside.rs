//! The signatures that a registry has of an artifact, in the two places where cosign puts them.

use crate::session::{Answered, Session};
use devgate_oci::child::{ANNOTATION, BUNDLE, MAX_MANIFEST, MAX_SIGNATURES, PAYLOAD, SIGNS, Signed, check};
use devgate_oci::manifest::INDEX;
use devgate_oci::{Descriptor, Error, MAX_SIGNATURE, PublicKey};
use devgate_types::Digest;
use reqwest::StatusCode;
use reqwest::header::LINK;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What a bundle states, as cosign says beside it.
const STATES: &str = "dev.sigstore.bundle.predicateType";

/// A manifest with signatures as its layers.
#[derive(Deserialize)]
struct Signatures {
    layers: Vec<Descriptor>,
}

/// What refers to an artifact (OCI distribution specification 1.1, "Listing Referrers").
#[derive(Deserialize)]
struct Referrers {
    manifests: Vec<Referrer>,
}

/// One thing that refers to an artifact, as its registry says: nothing of it is known to be so.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Referrer {
    /// By what it is asked for.
    pub digest: String,
    /// What it is.
    pub artifact_type: Option<String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Referrer {
    /// Whether it may be a signature, by what it is said to state. What is said of its type does not count: clients that keep the list
    /// themselves put the type of its configuration there.
    fn may_sign(&self) -> bool {
        self.annotations.get(STATES).is_none_or(|what| what == SIGNS)
    }

    fn is_called_bundle(&self) -> bool {
        self.artifact_type.as_ref().is_some_and(|kind| kind.starts_with(BUNDLE))
    }
}

/// What was found, and what was in the way of finding more.
#[derive(Default)]
struct FoundSignatures {
    signed: Vec<Signed>,
    /// The first thing that could not be had.
    error: Option<Error>,
    /// Whether something was passed over that is too large, or too many.
    more: bool,
}

impl FoundSignatures {
    fn failed<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| _ = self.error.get_or_insert(error)).ok()
    }
}

impl Session {
    /// The signatures of an artifact, as far as they are needed to see that one of the keys has signed it. One that cannot be had is not
    /// in the way of another one that convinces. Fails when none convinces, and not all could be had.
    pub async fn signatures(&mut self, artifact: Digest, keys: &[PublicKey]) -> Result<Vec<Signed>, Error> {
        let mut found = FoundSignatures::default();
        self.tagged(artifact, &mut found).await;
        if check(&found.signed, keys, &artifact).is_err() {
            self.bundles(artifact, &mut found).await;
        }
        if check(&found.signed, keys, &artifact).is_ok() {
            return Ok(found.signed);
        }
        match found.error {
            Some(error) => Err(error),
            None if found.more => Err(Error::Refused(
                self.host(&format!(
                    "{artifact} is signed by no key of the policy (signature.cosign-key), as far as its signatures were looked at: the first \
                     {MAX_SIGNATURES}, of at most {} KiB; remove those that are not needed",
                    MAX_SIGNATURE >> 10
                ))
                .to_string(),
            )),
            None => Ok(found.signed),
        }
    }

    /// Those under a tag, with one layer for each (cosign, "Signature Specification").
    async fn tagged(&mut self, artifact: Digest, found: &mut FoundSignatures) {
        let tag = format!("sha256-{}.sig", artifact.hex());
        let layers = self.layers(&tag).await;
        let layers = found.failed(layers).unwrap_or_default();
        let layers = layers.into_iter().filter(|layer| layer.media_type == PAYLOAD);
        for (number, layer) in layers.enumerate() {
            let signature = layer.annotations.as_ref().and_then(|all| all.get(ANNOTATION));
            let Some(signature) = signature else { continue };
            if number >= MAX_SIGNATURES || !is_small(signature.len() as u64) {
                found.more = true;
                continue;
            }
            if let Some(payload) = self.text(&layer, found).await {
                found.signed.push(Signed::Simple { payload, signature: signature.clone() });
            }
        }
    }

    /// Those that refer to it, each a manifest with a bundle as its layer (cosign, "Bundle Specification").
    async fn bundles(&mut self, artifact: Digest, found: &mut FoundSignatures) {
        let referrers = self.referrers(artifact).await;
        let (mut referrers, is_cut) = found.failed(referrers).unwrap_or_default();
        found.more |= is_cut;
        referrers.retain(Referrer::may_sign);
        referrers.sort_by_key(|referrer| !referrer.is_called_bundle());
        for (number, referrer) in referrers.into_iter().enumerate() {
            let Ok(digest) = referrer.digest.parse::<Digest>() else {
                continue;
            };
            if number >= MAX_SIGNATURES {
                found.more = true;
                break;
            }
            let layers = self.layers(&digest.to_string()).await;
            let layers = found.failed(layers).unwrap_or_default();
            let Some(layer) = layers.first().filter(|layer| layer.media_type.starts_with(BUNDLE)) else {
                continue;
            };
            if let Some(bundle) = self.text(layer, found).await {
                found.signed.push(Signed::Bundle { bundle });
            }
        }
    }

    /// What refers to an artifact: asked for, or under the tag that stands in for that where a registry does not know the question
    /// (the same, "Referrers Tag Schema"). Also whether the registry says that there are more.
    pub async fn referrers(&mut self, artifact: Digest) -> Result<(Vec<Referrer>, bool), Error> {
        let mut is_cut = false;
        let url = self.url(&format!("referrers/{artifact}"))?;
        let ask = |client: &reqwest::Client| client.get(url.clone()).header("Accept", INDEX);
        // Once: registries are known that send a client somewhere else, which answers anything, or nothing for a while.
        let asked = match self.attempt(&ask).await.map_err(Error::from) {
            Ok(answer) if answer.status().is_success() => {
                is_cut = answer.headers().contains_key(LINK);
                self.body(answer, MAX_MANIFEST).await.map(Some)
            }
            Ok(_) => Ok(None),
            Err(_) if self.answered.is_some_and(is_unknown) => Ok(None),
            Err(error) => Err(error),
        };
        let read = |bytes: &[u8]| serde_json::from_slice::<Referrers>(bytes).ok();
        if let Ok(Some(list)) = asked.as_ref().map(|bytes| bytes.as_deref().and_then(read)) {
            return Ok((list.manifests, is_cut));
        }
        match self.manifest(&format!("sha256-{}", artifact.hex())).await? {
            Some(list) => Ok((read(&list).map_or_else(Vec::new, |list| list.manifests), is_cut)),
            None => asked.map(|_| (Vec::new(), is_cut)),
        }
    }

    /// The layers of a manifest; none where there is no such manifest.
    pub async fn layers(&mut self, name: &str) -> Result<Vec<Descriptor>, Error> {
        let manifest = self.manifest(name).await?.unwrap_or_default();
        let read = serde_json::from_slice::<Signatures>(&manifest);
        Ok(read.map_or_else(|_| Vec::new(), |read| read.layers))
    }

    /// A layer that is text, if it is not too large.
    async fn text(&mut self, layer: &Descriptor, found: &mut FoundSignatures) -> Option<String> {
        let digest = layer.sha256().ok()?;
        if !is_small(layer.size) {
            found.more = true;
            return None;
        }
        let fetched = self.whole(digest, layer.size).await;
        String::from_utf8(found.failed(fetched)?).ok()
    }
}

fn is_small(bytes: u64) -> bool {
    bytes <= MAX_SIGNATURE
}

/// How registries answer what they have not heard of, and whatever it is that they send one to.
fn is_unknown(answered: Answered) -> bool {
    !answered.own
        || matches!(
            answered.status,
            StatusCode::NOT_FOUND
                | StatusCode::BAD_REQUEST
                | StatusCode::METHOD_NOT_ALLOWED
                | StatusCode::NOT_ACCEPTABLE
        )
}
