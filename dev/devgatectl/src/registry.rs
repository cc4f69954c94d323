//! Speaking to registries, for what is no pull of a component.

mod artifact;
mod attach;
pub(crate) mod layout;
mod sign;
mod upload;
mod wait;

pub(crate) use artifact::{About, Artifact, Document};
pub(crate) use attach::attach;
pub(crate) use sign::sign;
pub(crate) use upload::push;
pub(crate) use wait::wait;

use devgate_oci::child::{NotSigned, check};
use devgate_oci::{Descriptor, Error, PublicKey, Registries, digest};
use devgate_pull::Session;
use devgate_types::{Digest, PinnedReference, Reference, Repository, escape};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What an index of components is called, and its text.
pub(crate) const INDEX: &str = "application/vnd.devgate.index.v1+json";
/// What an attestation is called, and the envelope that it lies in.
pub(crate) const STATEMENT: &str = "application/vnd.in-toto+json";
pub(crate) const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
/// The annotation of a manifest that says what an author put into the component.
pub(crate) const CARRIES: &str = "dev.devgate.carries";
/// What it may say.
pub(crate) const CARRIED: [&str; 2] = ["policy", "config-schema"];
/// The annotation of a manifest that says which interfaces the component can do without.
pub(crate) const OPTIONAL: &str = "dev.devgate.optional";
/// Annotations that are shown, and how much of each.
const MAX_ANNOTATIONS: usize = 64;
const SHOWN: usize = 512;

/// Begins to speak about a repository. Nothing is asked yet.
pub(crate) fn open(registries: &Registries, repository: &Repository, push: bool) -> Result<Session, Error> {
    let tell = Box::new(|text: &str| tracing::info!("{text}"));
    Session::new(registries.access(repository)?, repository, push, tell)
}

/// A manifest, and the reference to it with the digest that it has.
pub(crate) async fn manifest(session: &mut Session, wanted: &Reference) -> Result<(PinnedReference, Vec<u8>), Error> {
    let tag = || wanted.tag.clone().unwrap_or_else(|| "latest".to_owned());
    let name = wanted.digest.map_or_else(tag, |digest| digest.to_string());
    let none = || Error::Host(format!("{wanted}: is not in its registry, or may not be seen with these credentials"));
    let bytes = session.manifest(&name).await?.ok_or_else(none)?;
    let is = digest(&bytes);
    if wanted.digest.is_some_and(|wanted| wanted != is) {
        return Err(Error::Refused(format!("{wanted}: has a manifest with other bytes than its digest says")));
    }
    Ok((wanted.clone().pinned_to(is), bytes))
}

/// A blob that is no larger than this. Fails when it cannot be had, or is larger.
pub(crate) async fn small(session: &mut Session, blob: &Descriptor, most: u64) -> Result<Vec<u8>, Error> {
    let refused = |session: &Session, what: String| Error::Refused(session.host(&what).to_string());
    let digest = blob.sha256().map_err(|why| refused(session, why.to_string()))?;
    if blob.size > most {
        let why = format!("{digest} has {} bytes, and {most} are the most that is read of it", blob.size);
        return Err(refused(session, why));
    }
    session.whole(digest, blob.size).await
}

/// Whether one of the keys has signed an artifact. Fails when none of the signatures that can be had convinces, and not
/// all of them can be had.
pub(crate) async fn signed_by(
    session: &mut Session,
    artifact: Digest,
    keys: &[PublicKey],
) -> Result<Result<(), NotSigned>, Error> {
    let signatures = session.signatures(artifact, keys).await?;
    Ok(check(&signatures, keys, &artifact))
}

/// The text of an artifact that is a document of at most so many bytes: its one layer, of this type.
pub(crate) async fn document(
    session: &mut Session,
    of: &PinnedReference,
    manifest: &[u8],
    (media_type, most): (&str, u64),
) -> Result<Vec<u8>, Error> {
    let refused = |why: String| Error::Refused(format!("{of}: {why}"));
    let layers = Raw::read(manifest).layers;
    match <[_; 1]>::try_from(layers) {
        Ok([layer]) if layer.media_type == media_type => small(session, &layer, most).await,
        Ok([other]) => Err(refused(format!("has a layer of type {}, not {media_type}", escape(&other.media_type, 80)))),
        Err(layers) => Err(refused(format!("has {} layers where one is expected", layers.len()))),
    }
}

/// Another artifact of the same repository.
pub(crate) fn beside(one: &PinnedReference, digest: Digest) -> Reference {
    Reference { repository: one.repository.clone(), tag: None, digest: Some(digest) }
}

/// What a manifest says besides the component's layer; nothing of what cannot be read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Raw {
    pub(crate) artifact_type: Option<String>,
    pub(crate) config: Option<Descriptor>,
    pub(crate) layers: Vec<Descriptor>,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Raw {
    pub(crate) fn read(manifest: &[u8]) -> Self {
        serde_json::from_slice(manifest).unwrap_or_default()
    }

    /// The annotations, as they may be shown.
    pub(crate) fn shown_annotations(&self) -> BTreeMap<String, String> {
        let shown = self.annotations.iter().take(MAX_ANNOTATIONS);
        shown.map(|(name, value)| (escape(name, SHOWN), escape(value, SHOWN))).collect()
    }
}
