//! Whether the component can be run at all.

use super::scorecard::{Outcome, Scorecard};
use devgate::components::Components;
use devgate_core::LoadFailure;
use devgate_policy::{ComponentSource, PluginPolicy};
use devgate_sandbox::{Contents, Need, hex};
use serde::Serialize;

/// What the component is; for people, nothing that passes or fails.
#[derive(Debug, Default, Serialize)]
pub(super) struct Facts {
    pub(super) file: String,
    /// Bytes; nothing where it cannot be read.
    pub(super) size: Option<usize>,
    pub(super) sha256: Option<String>,
    pub(super) contract: Option<String>,
    pub(super) imports: Vec<String>,
    pub(super) exports: Vec<String>,
    /// Whether it imports anything of WASI; one that does not is the first-class profile.
    pub(super) wasi: bool,
    /// Keys that the policy grants and the component never imports.
    pub(super) unused: Vec<&'static str>,
}

/// Checks the file alone. What it compiles to is checked by loading it.
pub(super) fn run(components: &Components, policy: &PluginPolicy, card: &mut Scorecard) -> Facts {
    let (name, sha256, is_artifact) = match &policy.component {
        ComponentSource::File { path, sha256 } => (path.clone(), *sha256, false),
        ComponentSource::Oci(reference) => (reference.to_string(), None, true),
    };
    let mut facts = Facts {
        file: devgate_types::escape(&name, 512),
        ..Facts::default()
    };
    let bytes = match components.read(policy) {
        Ok(bytes) => bytes,
        Err(LoadFailure::Refused(why) | LoadFailure::Guest(why) | LoadFailure::Host(why)) => {
            card.record("loads.file", Outcome::of(facts.file.clone(), [why]));
            return facts;
        }
    };
    let grants = |interface: &str| policy.grants(interface);
    let inspection = devgate_sandbox::inspect(&bytes, &policy.limits, &grants);
    let digest = hex(&inspection.sha256);
    let other = sha256.filter(|pinned| *pinned != inspection.sha256);
    let other = other.map(|pinned| format!("it is {digest}, the policy pins {}", hex(&pinned)));
    let outcome = match sha256 {
        Some(_) => Outcome::of(digest.clone(), other),
        None if is_artifact => Outcome::of("the artifact is what the digest of oci says", None),
        None => Outcome::skipped("the policy pins no digest (component.sha256)"),
    };
    card.record("loads.digest", outcome);
    (facts.size, facts.sha256) = (Some(bytes.len()), Some(digest));
    let tried = format!("{} bytes of at most {}", bytes.len(), policy.limits.component_size);
    let refused = match &inspection.contents {
        Err(refusal) => Some(refusal.to_string()),
        Ok(contents) => contents.profile.as_ref().err().map(ToString::to_string),
    };
    card.record("loads.file", Outcome::of(tried, refused));
    if let Ok(contents) = inspection.contents {
        card.record("loads.imports", imports(&contents));
        fill(&mut facts, &contents, policy);
    }
    facts
}

fn imports(contents: &Contents) -> Outcome {
    let refused = contents.imports.iter().filter_map(|import| match &import.need {
        Need::Nothing | Need::Granted => None,
        Need::Key(key) => Some(format!("{} needs \"{key}:\" in the policy", import.name)),
        Need::Never(why) => Some(format!("{} {why}", import.name)),
    });
    Outcome::of(format!("{} imports", contents.imports.len()), refused)
}

fn fill(facts: &mut Facts, contents: &Contents, policy: &PluginPolicy) {
    facts.contract = contents.contract.as_ref().map(ToString::to_string);
    facts.imports = contents.imports.iter().map(|import| import.name.to_string()).collect();
    facts.exports = contents.exports.iter().map(ToString::to_string).collect();
    facts.exports.sort();
    facts.wasi = contents.profile.as_ref().is_ok_and(|profile| profile.wasi);
    let imports = |interface: &str| {
        let start = format!("devgate:plugin/{interface}@");
        facts.imports.iter().any(|import| import.starts_with(&start))
    };
    let has_mounts = !policy.containers.mounts.is_empty();
    let granted = [
        ("hardware", !policy.hardware.is_empty(), "hardware"),
        ("host-nodes", !policy.host_nodes.is_empty(), "host-paths"),
        ("containers.mounts", has_mounts, "host-paths"),
        ("files", !policy.files.is_empty(), "files"),
        ("kernel-log", !policy.kernel_log.is_empty(), "kernel-log"),
        ("control", !policy.control.is_empty(), "control"),
        ("state", policy.state, "state"),
    ];
    let unused = granted
        .into_iter()
        .filter(|(_, granted, interface)| *granted && !imports(interface));
    facts.unused = unused.map(|(key, ..)| key).collect();
}
