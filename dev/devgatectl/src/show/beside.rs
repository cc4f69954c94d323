//! What refers to a component: signatures, attestations, and what others put beside it.

use super::SHOWN;
use crate::registry::{self, ENVELOPE, STATEMENT};
use devgate_oci::envelope;
use devgate_oci::{Error, PublicKey};
use devgate_pull::{Referrer, Session};
use devgate_types::{Digest, PinnedReference, escape};
use serde::Serialize;
use serde_json::Value;

/// The most that are looked at, and of each.
const MAX_REFERRERS: usize = 32;
const MAX_ENVELOPE: u64 = 1 << 20;
/// How the type of a signature in Sigstore's form begins.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";

/// One thing that refers to it.
#[derive(Debug, Serialize)]
pub(super) struct Refers {
    pub(super) digest: String,
    /// What it is said to be.
    pub(super) kind: Option<String>,
    /// What is stated, where it is an attestation that can be read.
    pub(super) states: Option<States>,
}

/// An attestation (in-toto attestation framework).
#[derive(Debug, Serialize)]
pub(super) struct States {
    /// The type of what is stated.
    pub(super) predicate: String,
    /// Whether it is stated of this component.
    pub(super) of_this: bool,
    /// Whether one of the keys has signed it; nothing without a key.
    pub(super) signed: Option<bool>,
    /// Of tests: `PASSED`, `WARNED`, `FAILED`.
    pub(super) result: Option<String>,
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
    /// On which recordings and with which policy.
    pub(super) with: Vec<String>,
}

/// What refers to an artifact whose manifest or component has one of these digests, and how many of it are signatures.
pub(super) async fn get(
    session: &mut Session,
    pinned: &PinnedReference,
    digests: &[Digest],
    keys: Option<&[PublicKey]>,
) -> Result<(Vec<Refers>, usize), Error> {
    let listed = session.referrers(pinned.digest).await?.0;
    let bundles = listed.iter().filter(|one| kind(one).is_some_and(|kind| kind.starts_with(BUNDLE))).count();
    let mut refers = Vec::new();
    for one in listed.into_iter().take(MAX_REFERRERS) {
        let states = match one.digest.parse::<Digest>() {
            Ok(digest) if kind(&one) == Some(STATEMENT) => {
                // One that cannot be read is in nobody's way.
                envelope(session, pinned, digest).await.ok().and_then(|text| states(&text, digests, keys))
            }
            _ => None,
        };
        refers.push(Refers {
            digest: escape(&one.digest, SHOWN),
            kind: kind(&one).map(|kind| escape(kind, SHOWN)),
            states,
        });
    }
    Ok((refers, bundles))
}

async fn envelope(session: &mut Session, beside: &PinnedReference, digest: Digest) -> Result<Vec<u8>, Error> {
    let (pinned, manifest) = registry::manifest(session, &registry::beside(beside, digest)).await?;
    registry::document(session, &pinned, &manifest, (ENVELOPE, MAX_ENVELOPE)).await
}

fn kind(referrer: &Referrer) -> Option<&str> {
    referrer.artifact_type.as_deref()
}

fn states(text: &[u8], digests: &[Digest], keys: Option<&[PublicKey]>) -> Option<States> {
    let envelope: Value = serde_json::from_slice(text).ok()?;
    let statement = envelope::stated(&envelope)?;
    let at = |pointer: &str| statement.pointer(pointer).and_then(Value::as_str);
    let list = |name: &str| statement.pointer(&format!("/predicate/{name}")).and_then(Value::as_array);
    let count = |name: &str| list(name).map_or(0, Vec::len);
    let with = list("configuration").into_iter().flatten().filter_map(|one| {
        let digest = one.pointer("/digest/sha256").and_then(Value::as_str).unwrap_or("no digest");
        Some(format!("{} sha256 {}", escape(one.get("name")?.as_str()?, 120), escape(digest, 64)))
    });
    Some(States {
        predicate: escape(at("/predicateType")?, SHOWN),
        of_this: envelope::subjects(&statement).any(|subject| digests.iter().any(|digest| digest.hex() == subject)),
        signed: keys.map(|keys| envelope::signed(&envelope, keys).is_some()),
        result: at("/predicate/result").map(|result| escape(result, 40)),
        passed: count("passedTests"),
        failed: count("failedTests"),
        skipped: count("devgate.dev~1skippedTests"),
        with: with.take(MAX_REFERRERS).collect(),
    })
}
