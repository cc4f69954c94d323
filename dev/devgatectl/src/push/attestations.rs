//! What `conform --attest` wrote, as artifacts that refer to the component.

use crate::inspect;
use crate::registry::{self, Artifact, Document, ENVELOPE, STATEMENT, wait};
use anyhow::Context;
use devgate::exit;
use devgate::transfer::coded;
use devgate_oci::manifest::MANIFEST;
use devgate_oci::{Descriptor, Registries, envelope};
use devgate_types::PinnedReference;
use serde_json::Value;
use std::path::Path;

/// The most of the file, and of the statements in it.
const MAX_FILE: u64 = 16 << 20;
const MAX_STATEMENTS: usize = 16;

/// Those of this component, each as an artifact beside the one with this manifest.
///
/// # Errors
/// Where the file cannot be read, or has none of it.
pub(super) fn of(file: &Path, sha256: &str, manifest: &[u8]) -> anyhow::Result<Vec<Artifact>> {
    let bytes = inspect::read(file, MAX_FILE)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut artifacts = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let statement = serde_json::from_str::<Value>(line).ok().and_then(|one| envelope::stated(&one));
        let none =
            "has a line that is no envelope with a statement of in-toto; `devgatectl conform --attest` writes one";
        let statement = statement.with_context(|| format!("attest {}: {none}", file.display()))?;
        if envelope::subjects(&statement).any(|subject| subject == sha256) {
            let predicate = statement.get("predicateType").and_then(Value::as_str).unwrap_or_default().to_owned();
            artifacts.push(Artifact::of_document(Document {
                kind: STATEMENT,
                media_type: ENVELOPE,
                text: line.as_bytes().to_vec(),
                subject: Some(Descriptor::of(MANIFEST, manifest)),
                annotations: [("in-toto.io/predicate-type".to_owned(), predicate)].into(),
            })?);
        }
    }
    if artifacts.is_empty() || artifacts.len() > MAX_STATEMENTS {
        let message = format!(
            "attest {}: has {} statements of the component with sha256 {sha256}, and 1 to {MAX_STATEMENTS} are put beside it; nothing was pushed",
            file.display(),
            artifacts.len()
        );
        return Err(exit::with_code(exit::FOUND, message));
    }
    Ok(artifacts)
}

/// Puts them beside it.
pub(super) fn push(registries: &Registries, to: &PinnedReference, artifacts: &[Artifact]) -> anyhow::Result<()> {
    let done = wait(async {
        let mut session = registry::open(registries, &to.repository, true)?;
        for artifact in artifacts {
            registry::attach(&mut session, to, artifact).await?;
        }
        Ok(())
    });
    done.map_err(coded)
}
