//! `conform --attest`: what was tried and what came of it, as a statement of in-toto that the vendor signs and admins can check.

use super::scorecard::Grade;
use super::{PluginReport, Report};
use crate::inspect;
use crate::signing_key::SigningKey;
use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use devgate::components::Components;
use devgate::output;
use devgate_oci::envelope::{STATEMENT, to_be_signed};
use devgate_policy::{ComponentSource, PluginPolicy};
use devgate_types::{Digest, escape};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// What the results of tests are called (in-toto attestation framework, "Predicate type: Test Result").
const PREDICATE: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// A plugin's component that was tested, and what with.
pub(super) struct Subject {
    /// The component's file or reference.
    name: String,
    sha256: Digest,
    contract: Option<String>,
    /// Recording and policy: their files' names and digests.
    with: BTreeMap<String, Digest>,
}

impl Subject {
    /// That of a plugin, tested on this recording.
    pub(super) fn of(plugin: &PluginPolicy, recording: &Path, components: &Components) -> anyhow::Result<Self> {
        let bytes = components.read(plugin).map_err(|why| anyhow::anyhow!("{why}; nothing is attested of it"))?;
        let name = match &plugin.component {
            ComponentSource::File { path, .. } => path.clone(),
            ComponentSource::Oci(reference) => reference.to_string(),
        };
        let mut with = BTreeMap::new();
        for file in [recording, Path::new(&*plugin.origin.file)] {
            let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
            // Where it lies on this machine is in no statement.
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            with.insert(escape(&name, 255), Digest(devgate_runner::digest(&bytes)));
        }
        let report = inspect::of(Path::new(&name), &bytes)?;
        let sha256 = Digest(devgate_runner::digest(&bytes));
        Ok(Self { name, sha256, contract: report.contract().map(str::to_owned), with })
    }
}

/// Writes an envelope for each plugin, one a line.
pub(super) fn write(file: &Path, key: &SigningKey, report: &Report, subjects: &[Subject]) -> anyhow::Result<()> {
    let mut lines = String::new();
    for (plugin, subject) in report.plugins.iter().zip(subjects) {
        let payload = serde_json::to_vec(&statement(plugin, subject)).context("statement")?;
        let signature = key.sign(&to_be_signed(STATEMENT, &payload))?;
        let envelope = json!({
            "payloadType": STATEMENT,
            "payload": STANDARD.encode(&payload),
            "signatures": [{"keyid": "", "sig": STANDARD.encode(signature)}],
        });
        lines += &format!("{envelope}\n");
    }
    output::write_file(file, lines.as_bytes())
}

fn statement(plugin: &PluginReport, subject: &Subject) -> Value {
    let checks = || plugin.groups.iter().flat_map(|group| &group.checks);
    let ids =
        |grade| checks().filter(move |check| check.result == Some(grade)).map(|check| check.id).collect::<Vec<_>>();
    let skipped = checks().filter(|check| check.result == Some(Grade::Skipped));
    let skipped: BTreeMap<_, _> = skipped.map(|check| (check.id, check.evidence.as_str())).collect();
    let with = subject.with.iter().map(|(name, digest)| json!({"name": name, "digest": {"sha256": digest.hex()}}));
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": subject.name, "digest": {"sha256": subject.sha256.hex()}}],
        "predicateType": PREDICATE,
        "predicate": {
            "result": if plugin.failed > 0 { "FAILED" } else { "PASSED" },
            "configuration": with.collect::<Vec<_>>(),
            "passedTests": ids(Grade::Passed),
            "failedTests": ids(Grade::Failed),
            "devgate.dev/skippedTests": skipped,
            "devgate.dev/plugin": plugin.plugin,
            "devgate.dev/version": env!("CARGO_PKG_VERSION"),
            "devgate.dev/contract": subject.contract,
        },
    })
}
