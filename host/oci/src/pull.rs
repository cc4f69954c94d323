//! Pulling an artifact: its manifest by digest, then what that names, each held against the digest by which it was asked for.

use crate::cache::MOST_MANIFEST;
use crate::entry::{Entry, Next, follow};
use crate::error::Error;
use crate::http::{Answered, Registries, Session};
use crate::manifest::{DOCKER_INDEX, DOCKER_MANIFEST, INDEX, MANIFEST};
use crate::progress::Progress;
use crate::signature::{PublicKey, Signed, check};
use devgate_types::{ByteSize, Digest, PinnedReference, Reference};
use reqwest::StatusCode;
use std::future::Future;
use std::time::Duration;

/// How long one pull may take, however slowly bytes keep coming.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Runs what waits for the network on a thread of its own, so that whoever calls may be anywhere.
///
/// # Errors
/// As the work; and when it is not done within 15 minutes.
pub fn wait<T: Send>(work: impl Future<Output = Result<T, Error>> + Send) -> Result<T, Error> {
    let failed = |why: String| Error::Host(format!("registry: {why}"));
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let result = runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await });
        // A name that is still being looked up is not waited for.
        runtime.shutdown_background();
        result.map_err(|_| failed(format!("was not done within {} minutes", PATIENCE.as_secs() / 60)))?
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("registry".to_owned())
            .spawn_scoped(scope, run);
        let joined = thread.map_err(|error| failed(error.to_string()))?.join();
        joined.map_err(|_| failed("its thread has panicked".to_owned()))?
    })
}

impl Registries {
    /// The artifact that a reference means now: the one that it is pinned to, or the one that its tag is given to.
    ///
    /// # Errors
    /// When there is none, or the registry cannot be asked.
    pub fn resolve(&self, reference: &Reference) -> Result<PinnedReference, Error> {
        if let Some(pinned) = reference.clone().pinned() {
            return Ok(pinned);
        }
        let tag = reference.tag.as_deref().unwrap_or("latest");
        wait(async {
            let mut session = self.session(&reference.repository, false)?;
            let manifest = session.manifest(tag).await?;
            let manifest = manifest.ok_or_else(|| missing(reference))?;
            Ok(reference.clone().pinned_to(crate::digest(&manifest)))
        })
    }

    /// Everything that belongs to an artifact.
    pub(crate) async fn pull(
        &self,
        reference: &PinnedReference,
        most: ByteSize,
        keys: Option<&[PublicKey]>,
        progress: &Progress,
    ) -> Result<Entry, Error> {
        let mut session = self.session(&reference.repository, false)?;
        let refused = |why: crate::NotUsable| Error::Refused(format!("{reference}: {why}"));
        let mut entry = Entry::default();
        let (layer, size) = loop {
            match follow(&entry.manifests, reference.digest, most).map_err(refused)? {
                Next::Layer { digest, size, .. } => break (digest, size),
                Next::Manifest(digest) => {
                    let manifest = session.manifest(&digest.to_string()).await;
                    let manifest = manifest.and_then(|manifest| manifest.ok_or_else(|| missing(reference)));
                    entry.manifests.push(match manifest {
                        Ok(manifest) => manifest,
                        Err(_) if is_no_manifest(session.answered) && session.has_file(digest).await => {
                            return Err(no_artifact(reference));
                        }
                        Err(error) => return Err(error),
                    });
                }
            }
        };
        // Before what is large, and would have to be pulled again.
        if let Some(keys) = keys {
            entry.signatures = session.signatures(reference.digest, keys).await?;
            let checked = check(&entry.signatures, keys, &reference.digest);
            checked.map_err(|why| Error::Refused(format!("{reference}: {why}")))?;
        }
        progress.begin(size);
        entry.layer = session.blob(layer, size, progress).await?;
        Ok(entry)
    }

    /// The signatures that are beside an artifact now, as far as they are needed.
    pub(crate) async fn signatures(
        &self,
        reference: &PinnedReference,
        keys: &[PublicKey],
    ) -> Result<Vec<Signed>, Error> {
        let mut session = self.session(&reference.repository, false)?;
        session.signatures(reference.digest, keys).await
    }
}

fn missing(reference: &impl std::fmt::Display) -> Error {
    Error::Host(format!(
        "{reference}: is not in its registry, or may not be seen with these credentials"
    ))
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
    matches!(
        answered.map(|answered| answered.status),
        Some(StatusCode::NOT_FOUND | StatusCode::INTERNAL_SERVER_ERROR)
    )
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
    ///
    /// # Errors
    /// When the registry cannot be asked.
    pub async fn manifest(&mut self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let url = self.url(&format!("manifests/{name}"))?;
        let accept = [MANIFEST, INDEX, DOCKER_MANIFEST, DOCKER_INDEX].join(", ");
        let answer = self
            .send(|client| client.get(url.clone()).header("Accept", &accept))
            .await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        self.body(answer, MOST_MANIFEST, |_| {}).await.map(Some)
    }

    /// A blob of so many bytes.
    pub(crate) async fn blob(&mut self, digest: Digest, size: u64, progress: &Progress) -> Result<Vec<u8>, Error> {
        let url = self.url(&format!("blobs/{digest}"))?;
        let answer = self.send(|client| client.get(url.clone())).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Err(self.host(&format!("its registry has no {digest}, which its own manifest names")));
        }
        let bytes = self.body(answer, size, |bytes| progress.add(bytes)).await?;
        if crate::digest(&bytes) != digest {
            return Err(Error::Refused(
                self.host(&format!("its registry sent other bytes than {digest} names"))
                    .to_string(),
            ));
        }
        Ok(bytes)
    }
}
