//! Sending an artifact to its registry (OCI distribution specification 1.1, "Push").

use super::artifact::Artifact;
use super::wait;
use devgate_oci::manifest::MANIFEST;
use devgate_oci::{Error, Progress, Registries, digest};
use devgate_pull::{Replied, Session};
use devgate_types::{PinnedReference, Reference};

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pushed {
    /// What to write into a policy.
    pub(crate) reference: PinnedReference,
    /// Whether the tag was given to this very artifact before.
    pub(crate) was_there: bool,
}

/// Pushes an artifact, and gives it the tag.
///
/// # Errors
/// When the tag is given to something else and `replace` is not set, when there is no tag, or when the registry cannot be asked.
pub(crate) fn push(
    registries: &Registries,
    artifact: &Artifact,
    to: &Reference,
    replace: bool,
    progress: &Progress,
) -> Result<Pushed, Error> {
    let (pinned, tag) = checked(artifact, to)?;
    wait(async {
        let mut session = super::open(registries, &to.repository, true)?;
        let there = session.manifest(tag).await?.map(|manifest| digest(&manifest));
        if let Some(other) = there.filter(|there| *there != pinned.digest && !replace) {
            return Err(Error::Refused(format!(
                "{to}: the tag is given to {other}; push with another tag, or with --replace to take it away from that"
            )));
        }
        let was_there = there == Some(pinned.digest);
        if !was_there {
            progress.begin(u64::try_from(artifact.layer.len()).unwrap_or(0));
            put(&mut session, to, artifact, tag).await?;
            progress.add(artifact.layer.len());
        }
        Ok(Pushed { reference: pinned.clone(), was_there })
    })
}

/// The reference that a policy has, and the tag.
pub(super) fn checked<'a>(artifact: &Artifact, to: &'a Reference) -> Result<(PinnedReference, &'a str), Error> {
    let Some(tag) = &to.tag else {
        return Err(Error::Refused(format!("{to}: has no tag; write one behind it, such as :1.2.0")));
    };
    let pinned = to.clone().pinned_to(artifact.digest());
    if to.digest.is_some_and(|digest| digest != pinned.digest) {
        return Err(Error::Refused(format!("{to}: it has another digest here, {}", pinned.digest)));
    }
    Ok((pinned, tag))
}

/// Sends all of an artifact, whatever the tag was given to; and says how the registry took it.
pub(super) async fn put(
    session: &mut Session,
    to: &Reference,
    artifact: &Artifact,
    tag: &str,
) -> Result<Replied, Error> {
    push_blob(session, to, &artifact.config).await?;
    push_blob(session, to, &artifact.layer).await?;
    let body = (MANIFEST, artifact.manifest.as_slice());
    let sent = session.ask("PUT", &format!("manifests/{tag}"), Some(body)).await?;
    made(to, sent.status, "the manifest")?;
    Ok(sent)
}

/// Sends a blob, unless the registry has it.
async fn push_blob(session: &mut Session, to: &Reference, bytes: &[u8]) -> Result<(), Error> {
    let digest = digest(bytes).to_string();
    let there = session.ask("HEAD", &format!("blobs/{digest}"), None).await?;
    if (200..300).contains(&there.status) {
        return Ok(());
    }
    let begun = session.ask("POST", "blobs/uploads/", None).await?;
    let repository = &to.repository;
    let location =
        begun.location.ok_or_else(|| Error::Host(format!("{repository}: its registry gave no address to push to")))?;
    let and = if location.contains('?') { '&' } else { '?' };
    let at = format!("{location}{and}digest={}", digest.replace(':', "%3A"));
    let sent = session.ask("PUT", &at, Some(("application/octet-stream", bytes))).await?;
    made(to, sent.status, "a blob")
}

pub(super) fn made(to: &Reference, status: u16, what: &str) -> Result<(), Error> {
    if (200..300).contains(&status) {
        return Ok(());
    }
    let repository = &to.repository;
    Err(Error::Host(format!("{repository}: its registry did not take {what} ({status})")))
}

#[cfg(test)]
mod tests;
