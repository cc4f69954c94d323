//! Whether the component can be run at all.

use super::sheet::{Outcome, Rule, Sheet};
use devgate::components::Components;
use devgate::loader::import_grant;
use devgate_core::LoadFailure;
use devgate_policy::{ComponentSource, PluginPolicy};
use devgate_sandbox::{Contents, Need, hex};
use devgate_types::ByteSize;
use serde::Serialize;

const FILE: Rule = Rule {
    id: "loads.file",
    title: "The file is a component for this host",
    expected: "the file is there, is a component of at most limits.component-size, and exports devgate:plugin/plugin",
    remedy: "`devgatectl inspect FILE` says what it is and what it lacks",
};
const DIGEST: Rule = Rule {
    id: "loads.digest",
    title: "The file is the one that the policy pins",
    expected: "its SHA-256 digest is the policy's component.sha256",
    remedy: "put the digest of the file that is meant into the policy",
};
const IMPORTS: Rule = Rule {
    id: "loads.imports",
    title: "The policy grants all that it imports",
    expected: "each import is always there or granted by a key of the policy",
    remedy: "grant the key, or leave out what calls it: a component in Rust imports only what it calls",
};
const STARTS: Rule = Rule {
    id: "loads.starts",
    title: "It compiles, links and has the contract's types",
    expected: "the sandbox loads it within its limits",
    remedy: "build it against a released devgate:plugin package, and within the policy's limits",
};
pub(super) const RULES: &[&Rule] = &[&FILE, &DIGEST, &IMPORTS, &STARTS];

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

/// Checks the file alone. What it compiles to is checked by whoever loads it, with [`starts`].
pub(super) fn run(components: &Components, policy: &PluginPolicy, sheet: &mut Sheet<'_>) -> Facts {
    let (name, sha256) = match &policy.component {
        ComponentSource::File { path, sha256 } => (path.clone(), *sha256),
        ComponentSource::Oci(reference) => (reference.to_string(), None),
    };
    let of_registry = matches!(policy.component, ComponentSource::Oci(_));
    let mut facts = Facts {
        file: devgate_types::escape(&name, 512),
        ..Facts::default()
    };
    let bytes = match components.read(policy) {
        Ok(bytes) => bytes,
        Err(LoadFailure::Refused(why) | LoadFailure::Guest(why) | LoadFailure::Host(why)) => {
            sheet.check(&FILE, || Outcome::of(facts.file.clone(), vec![why]));
            return facts;
        }
    };
    let grants = |interface: &str| import_grant(policy.grants(interface));
    let inspection = devgate_sandbox::inspect(&bytes, &policy.limits, &grants);
    let digest = hex(&inspection.sha256);
    facts.size = Some(bytes.len());
    facts.sha256 = Some(digest.clone());
    sheet.check(&DIGEST, || match sha256 {
        None if of_registry => Outcome::Passed("the artifact is what the digest of oci says".to_owned()),
        None => Outcome::skipped("the policy pins no digest (component.sha256)"),
        Some(pinned) if pinned == inspection.sha256 => Outcome::Passed(digest.clone()),
        Some(pinned) => Outcome::of(
            digest.clone(),
            vec![format!("it is {digest}, the policy pins {}", hex(&pinned))],
        ),
    });
    let size = ByteSize(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    let tried = format!("{} bytes of at most {}", size.0, policy.limits.component_size);
    match inspection.contents {
        Err(refusal) => sheet.check(&FILE, || Outcome::of(tried, vec![refusal.to_string()])),
        Ok(contents) => {
            let missing = contents.profile.as_ref().err().map(ToString::to_string);
            sheet.check(&FILE, || Outcome::of(tried, missing.into_iter().collect()));
            sheet.check(&IMPORTS, || imports(&contents));
            fill(&mut facts, &contents, policy);
        }
    }
    facts
}

/// Notes whether the sandbox took it.
pub(super) fn starts(sheet: &mut Sheet<'_>, failure: Option<String>) {
    sheet.check(&STARTS, || {
        Outcome::of("compiled, linked and instantiated", failure.into_iter().collect())
    });
}

fn imports(contents: &Contents) -> Outcome {
    let refused = contents.imports.iter().filter_map(|import| match &import.need {
        Need::Nothing | Need::Granted => None,
        Need::Key(key) => Some(format!("{} needs \"{key}:\" in the policy", import.name)),
        Need::Never(why) => Some(format!("{} {why}", import.name)),
    });
    Outcome::of(format!("{} imports", contents.imports.len()), refused.collect())
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
    let has_mounts = policy.containers.mounts().next().is_some();
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
