//! Fetching an artifact: its manifest by digest, then what that names, each held against the digest by which it was asked for. What is
//! fetched goes to the caller as it comes.

use crate::session::{Answered, Session, Take};
use devgate_oci::child::{MAX_MANIFEST, Next, Signed, check, follow};
use devgate_oci::manifest::{DOCKER_INDEX, DOCKER_MANIFEST, INDEX, MANIFEST};
use devgate_oci::{Error, NotUsable, PublicKey};
use devgate_types::{ByteSize, Digest, PinnedReference, Reference};
use reqwest::StatusCode;
use sha2::{Digest as _, Sha256};

/// A part of an artifact.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    Manifest(&'a [u8]),
    Signature(Signed),
    /// Of the layer.
    Piece(&'a [u8]),
}

/// Takes parts.
pub(crate) type Give<'a> = dyn FnMut(Part<'_>) -> Result<(), Error> + Send + 'a;

impl Session {
    /// The manifest that a tag is given to.
    pub(crate) async fn resolve(&mut self, reference: &Reference, give: &mut Give<'_>) -> Result<(), Error> {
        let tag = reference.tag.as_deref().unwrap_or("latest");
        let manifest = self.manifest(tag).await?.ok_or_else(|| missing(reference))?;
        give(Part::Manifest(&manifest))
    }

    /// Everything that belongs to an artifact.
    pub(crate) async fn artifact(
        &mut self,
        reference: &PinnedReference,
        most: ByteSize,
        keys: Option<&[PublicKey]>,
        give: &mut Give<'_>,
    ) -> Result<(), Error> {
        let refused = |why: NotUsable| Error::Refused(format!("{reference}: {why}"));
        let mut manifests = Vec::new();
        let (layer, size) = loop {
            match follow(&manifests, reference.digest, most).map_err(refused)? {
                Next::Layer { digest, size, .. } => break (digest, size),
                Next::Manifest(digest) => {
                    let manifest = self.manifest(&digest.to_string()).await;
                    let manifest = manifest.and_then(|manifest| manifest.ok_or_else(|| missing(reference)));
                    let manifest = match manifest {
                        Ok(manifest) => manifest,
                        Err(_) if is_no_manifest(self.answered) && self.has_file(digest).await => {
                            return Err(no_artifact(reference));
                        }
                        Err(error) => return Err(error),
                    };
                    give(Part::Manifest(&manifest))?;
                    manifests.push(manifest);
                }
            }
        };
        // Before what is large, and would have to be fetched again.
        if let Some(keys) = keys {
            let signatures = self.signatures(reference.digest, keys).await?;
            let checked = check(&signatures, keys, &reference.digest);
            checked.map_err(|why| Error::Refused(format!("{reference}: {why}")))?;
            signatures.into_iter().try_for_each(|signed| give(Part::Signature(signed)))?;
        }
        self.blob(layer, size, &mut |piece| give(Part::Piece(piece))).await
    }
}

fn missing(reference: &impl std::fmt::Display) -> Error {
    Error::Host(format!("{reference}: is not in its registry, or may not be seen with these credentials"))
}

/// A registry has a component's file under the digest that `sha256sum` shows of it, besides the artifact's. Some say then that there
/// is no such artifact, and the distribution project's own fails with 500.
fn no_artifact(reference: &PinnedReference) -> Error {
    Error::Host(format!(
        "{reference}: is the digest of a file, and not of an artifact with it; pin the one that `devgatectl push` showed, or `devgate pull` \
         shows of {}:TAG",
        reference.repository
    ))
}

fn is_no_manifest(answered: Option<Answered>) -> bool {
    matches!(answered.map(|answered| answered.status), Some(StatusCode::NOT_FOUND | StatusCode::INTERNAL_SERVER_ERROR))
}

impl Session {
    /// Whether there is a file with this digest, as far as that can be seen.
    async fn has_file(&mut self, digest: Digest) -> bool {
        let Ok(url) = self.url(&format!("blobs/{digest}")) else {
            return false;
        };
        let answer = self.attempt(&|client: &reqwest::Client| client.head(url.clone())).await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }

    /// A manifest by tag or digest; `None` if there is none.
    pub async fn manifest(&mut self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let url = self.url(&format!("manifests/{name}"))?;
        let accept = [MANIFEST, INDEX, DOCKER_MANIFEST, DOCKER_INDEX].join(", ");
        let answer = self.send(|client| client.get(url.clone()).header("Accept", &accept)).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        self.body(answer, MAX_MANIFEST).await.map(Some)
    }

    /// A whole blob of so many bytes.
    pub async fn whole(&mut self, digest: Digest, size: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let mut take = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            Ok(())
        };
        self.blob(digest, size, &mut take).await?;
        Ok(bytes)
    }

    /// A blob of so many bytes, as it comes.
    pub(crate) async fn blob(&mut self, digest: Digest, size: u64, take: &mut Take<'_>) -> Result<(), Error> {
        let url = self.url(&format!("blobs/{digest}"))?;
        let answer = self.send(|client| client.get(url.clone())).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Err(self.host(&format!("its registry has no {digest}, which its own manifest names")));
        }
        let mut sum = Sha256::new();
        let mut count = |piece: &[u8]| {
            sum.update(piece);
            take(piece)
        };
        self.pieces(answer, size, &mut count).await?;
        if Digest(sum.finalize().into()) != digest {
            return Err(Error::Refused(
                self.host(&format!("its registry sent other bytes than {digest} names")).to_string(),
            ));
        }
        Ok(())
    }
}
