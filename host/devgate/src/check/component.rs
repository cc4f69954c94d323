//! A plugin's component against what the policy grants it; nothing of it is compiled or run.

use super::finding::Finding;
use crate::components::Components;
use crate::node::{ConfigProblem, LookAtConfig};
use crate::progress::Progress;
use crate::survey::without_plugin;
use devgate_policy::{ComponentSource, Parameters, PluginPolicy};
use devgate_runner::Runners;
use devgate_types::Digest;
use devgate_types::load::{Contents, Need};
use serde::Serialize;

/// A plugin's component.
#[derive(Debug, Default, Serialize)]
pub(super) struct ComponentFacts {
    pub(super) file: String,
    /// Bytes; nothing where it cannot be read.
    pub(super) size: Option<usize>,
    pub(super) sha256: Option<String>,
    /// Whether the policy says which digest it must have.
    pub(super) pinned: bool,
    /// Of a component in a registry: `kept` in the cache, `pulled` just now, or `unknown`.
    pub(super) cache: Option<&'static str>,
    /// Whether a key must have signed it.
    pub(super) signed: bool,
    /// The contract that it was built against.
    pub(super) contract: Option<String>,
    /// What it imports, in its own order.
    pub(super) imports: Vec<String>,
    /// Keys that the policy does not have for it, and that it can do without.
    pub(super) without: Vec<&'static str>,
    /// Whether `imports` is known.
    #[serde(skip)]
    known: bool,
    /// Whether it wants to release what no pod has any more.
    #[serde(skip)]
    pub(super) lifecycle: bool,
    /// Whether it takes what claims say.
    #[serde(skip)]
    parameters: bool,
    /// Whether it says conditions.
    #[serde(skip)]
    conditions: bool,
}

pub(super) fn look(
    runners: &Runners,
    components: &Components,
    policy: &PluginPolicy,
    look_at: LookAtConfig,
    findings: &mut Vec<Finding>,
) -> ComponentFacts {
    let (name, sha256) = match &policy.component {
        ComponentSource::File { path, sha256 } => (path.clone(), *sha256),
        ComponentSource::Oci(reference) => (reference.to_string(), None),
    };
    let of_registry = matches!(policy.component, ComponentSource::Oci(_));
    let here = components.is_here(policy);
    let mut facts = ComponentFacts {
        file: devgate_types::escape(&name, 512),
        cache: of_registry.then_some(if here { "kept" } else { "unknown" }),
        signed: policy.cosign_keys.is_some(),
        pinned: sha256.is_some() || of_registry,
        ..ComponentFacts::default()
    };
    let at = Some(&policy.origin);
    if !here && !components.store().pulls() {
        let message = format!(
            "component {} is not in the cache here, or not as it must be, and nothing is known of it; --pull asks its registry",
            facts.file
        );
        findings.push(Finding::warning("component-not-pulled", at, message));
        return facts;
    }
    let _progress = (!here).then(|| {
        let (components, policy) = (components.clone(), policy.clone());
        Progress::following(format!("pulling {}", facts.file), move || components.progress(&policy))
    });
    let bytes = match components.read(policy) {
        Ok(bytes) => bytes,
        Err(failure) => {
            let why = without_plugin(&failure.to_string(), &policy.name);
            findings.push(Finding::error("component-missing", at, why));
            return facts;
        }
    };
    if !here {
        facts.cache = Some("pulled");
    }
    // Of a file that is too large only its beginning has been read: neither its size nor its digest is known.
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > policy.limits.component_size.0 {
        let message = format!(
            "component {} is larger than {} (limits.component-size); `devgatectl pack` leaves debug information out, else raise it",
            facts.file, policy.limits.component_size
        );
        findings.push(Finding::error("component-invalid", at, message));
        return facts;
    }
    let grants = |interface: &str| policy.grants(interface);
    let inspection = runners.inspect(&bytes, &policy.limits, &grants);
    let digest = Digest(inspection.sha256).hex();
    if let Some(pinned) = sha256.filter(|pinned| *pinned != inspection.sha256) {
        let message = format!(
            "component {}'s sha256 is {digest}, the policy pins {}: update the pin (component.sha256) if this file is meant, else do not trust it",
            facts.file,
            Digest(pinned).hex()
        );
        findings.push(Finding::error("component-digest", at, message));
    }
    if !facts.pinned {
        let message = format!(
            "component {} is not pinned to a digest: what stands there when the host looks is what runs; this one is `sha256: {digest}`",
            facts.file
        );
        findings.push(Finding::warning("component-not-pinned", at, message));
    }
    facts.size = Some(bytes.len());
    facts.sha256 = Some(digest);
    match inspection.contents {
        Ok(contents) => {
            imports(&mut facts, contents, policy, findings);
            findings.extend(look_at(&bytes, &policy.config).iter().map(|problem| config(problem, policy)));
        }
        Err(refusal) => {
            let message = format!("{}: {refusal}", facts.file);
            findings.push(Finding::error("component-invalid", at, message));
        }
    }
    facts
}

fn imports(facts: &mut ComponentFacts, contents: Contents, policy: &PluginPolicy, findings: &mut Vec<Finding>) {
    let at = Some(&policy.origin);
    facts.contract = contents.contract.map(|version| version.to_string());
    facts.imports = contents.imports.iter().map(|import| import.name.to_string()).collect();
    facts.known = true;
    for import in &contents.imports {
        let name = &import.name;
        match &import.need {
            Need::Nothing | Need::Granted => {}
            Need::Optional(key) => facts.without.push(*key),
            Need::Key(key) => {
                let message = format!("component imports {name}, which needs \"{key}:\" in the policy");
                findings.push(Finding::error("import-not-granted", at, message));
            }
            Need::Never(why) => {
                let message = format!("component imports {name}, which {why}");
                findings.push(Finding::error("import-not-served", at, message));
            }
        }
    }
    facts.lifecycle = contents.profile.as_ref().is_ok_and(|profile| profile.lifecycle);
    facts.parameters = contents.profile.as_ref().is_ok_and(|profile| profile.parameters);
    facts.conditions = contents.profile.as_ref().is_ok_and(|profile| profile.conditions);
    if let Err(refusal) = contents.profile {
        let message = format!("{}: {refusal}", facts.file);
        findings.push(Finding::error("component-exports", at, message));
    }
}

/// What the component's own schema says of the policy's `config`.
fn config(problem: &ConfigProblem, policy: &PluginPolicy) -> Finding {
    let (at, message) = (Some(&policy.origin), problem.to_string());
    match problem {
        ConfigProblem::Schema(_) => Finding::warning("config-schema", at, message),
        ConfigProblem::Config { .. } => Finding::error("config-invalid", at, message),
    }
}

/// Grants that the component never asks for.
pub(super) fn unused(facts: &ComponentFacts, policy: &PluginPolicy, findings: &mut Vec<Finding>) {
    let at = Some(&policy.origin);
    let imports = |interface: &str| {
        let start = format!("devgate:plugin/{interface}@");
        facts.imports.iter().any(|import| import.starts_with(&start))
    };
    let has_mounts = !policy.containers.mounts.is_empty();
    for (key, granted, interface) in [
        ("hardware", !policy.hardware.is_empty(), "hardware"),
        ("host-nodes", !policy.host_nodes.is_empty(), "host-paths"),
        ("containers.mounts", has_mounts, "host-paths"),
        ("files", !policy.files.is_empty(), "files"),
        ("kernel-log", !policy.kernel_log.is_empty(), "kernel-log"),
        ("control", !policy.control.is_empty(), "control"),
        ("state", policy.state, "state"),
    ] {
        if granted && facts.known && !imports(interface) {
            let message = format!("{key} is granted, and the component never imports devgate:plugin/{interface}");
            findings.push(Finding::warning("grant-unused", at, message));
        }
    }
    let told = policy.dra.as_ref().is_some_and(|dra| dra.parameters == Parameters::Component);
    if told && facts.known && !facts.parameters {
        let message = "dra.parameters is component, and the component never exports devgate:plugin/parameters: a claim that has some gets nothing";
        findings.push(Finding::warning("grant-unused", at, message.to_owned()));
    }
    let named = policy.dra.as_ref().is_some_and(|dra| !dra.conditions.is_empty());
    if named && facts.known && !facts.conditions {
        let message = "dra.conditions names some, and the component never exports devgate:plugin/conditions";
        findings.push(Finding::warning("grant-unused", at, message.to_owned()));
    }
    for word in &policy.wasi {
        let start = format!("wasi:{word}/");
        if facts.known && !facts.imports.iter().any(|import| import.starts_with(&start)) {
            let message = format!("wasi: {word} is granted, and the component never imports anything of wasi:{word}");
            findings.push(Finding::warning("grant-unused", at, message));
        }
    }
}
