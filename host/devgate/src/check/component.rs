//! A plugin's component against what the policy grants it; nothing of it is compiled or run.

use super::PluginReport;
use crate::components::Components;
use crate::node::{ConfigProblem, LookAtConfig};
use crate::progress::Progress;
use crate::survey::without_plugin;
use devgate_policy::{ComponentSource, Parameters, PluginPolicy};
use devgate_runner::Runners;
use devgate_types::Digest;
use devgate_types::component::Profile;
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
    /// Whether it wants to release what no pod has any more, takes what claims say, says conditions.
    #[serde(skip)]
    pub(super) profile: Profile,
}

pub(super) fn look(
    runners: &Runners,
    components: &Components,
    policy: &PluginPolicy,
    look_at: LookAtConfig,
    report: &mut PluginReport,
) {
    let (name, sha256) = match &policy.component {
        ComponentSource::File { path, sha256 } => (path.clone(), *sha256),
        ComponentSource::Oci(reference) => (reference.to_string(), None),
    };
    let of_registry = matches!(policy.component, ComponentSource::Oci(_));
    let here = components.is_here(policy);
    let facts = ComponentFacts {
        file: devgate_types::escape(&name, 512),
        cache: of_registry.then_some(if here { "kept" } else { "unknown" }),
        signed: policy.cosign_keys.is_some(),
        pinned: sha256.is_some() || of_registry,
        ..ComponentFacts::default()
    };
    let file = facts.file.clone();
    report.component = facts;
    if !here && !components.store().pulls() {
        let message = format!(
            "component {file} is not in the cache here, or not as it must be, and nothing is known of it; --pull asks its registry"
        );
        return report.finds("component-not-pulled", message);
    }
    let _progress = (!here).then(|| {
        let (components, policy) = (components.clone(), policy.clone());
        Progress::following(format!("pulling {file}"), move || components.progress(&policy))
    });
    let bytes = match components.read(policy) {
        Ok(bytes) => bytes,
        Err(failure) => {
            let why = without_plugin(&failure.to_string(), &policy.name);
            return report.finds("component-missing", why);
        }
    };
    if !here {
        report.component.cache = Some("pulled");
    }
    // Of a file that is too large only its beginning has been read: neither its size nor its digest is known.
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > policy.limits.component_size.0 {
        let message = format!(
            "component {file} is larger than {} (limits.component-size); `devgatectl pack` leaves debug information out, else raise it",
            policy.limits.component_size
        );
        return report.finds("component-invalid", message);
    }
    let grants = |interface: &str| policy.grants(interface);
    let inspection = runners.inspect(&bytes, &policy.limits, &grants);
    let digest = Digest(inspection.sha256).hex();
    if let Some(pinned) = sha256.filter(|pinned| *pinned != inspection.sha256) {
        let message = format!(
            "component {file}'s sha256 is {digest}, the policy pins {}: update the pin (component.sha256) if this file is meant, else do not trust it",
            Digest(pinned).hex()
        );
        report.finds("component-digest", message);
    }
    if !report.component.pinned {
        let message = format!(
            "component {file} is not pinned to a digest: what stands there when the host looks is what runs; this one is `sha256: {digest}`"
        );
        report.finds("component-not-pinned", message);
    }
    report.component.size = Some(bytes.len());
    report.component.sha256 = Some(digest);
    match inspection.contents {
        Ok(contents) => {
            imports(contents, report);
            // What the component's own schema says of the policy's `config`.
            for problem in look_at(&bytes, &policy.config) {
                let is_schema = matches!(problem, ConfigProblem::Schema(_));
                report.finds(if is_schema { "config-schema" } else { "config-invalid" }, problem.to_string());
            }
        }
        Err(refusal) => report.finds("component-invalid", format!("{file}: {refusal}")),
    }
}

fn imports(contents: Contents, report: &mut PluginReport) {
    let facts = &mut report.component;
    facts.contract = contents.contract.map(|version| version.to_string());
    facts.imports = contents.imports.iter().map(|import| import.name.to_string()).collect();
    facts.known = true;
    for import in &contents.imports {
        let name = &import.name;
        match &import.need {
            Need::Nothing | Need::Granted => {}
            Need::Optional(key) => report.component.without.push(*key),
            Need::Key(key) => {
                let message = format!("component imports {name}, which needs \"{key}:\" in the policy");
                report.finds("import-not-granted", message);
            }
            Need::Never(why) => report.finds("import-not-served", format!("component imports {name}, which {why}")),
        }
    }
    match contents.profile {
        Ok(profile) => report.component.profile = profile,
        Err(refusal) => report.finds("component-exports", format!("{}: {refusal}", report.component.file)),
    }
}

/// Grants that the component never asks for.
pub(super) fn unused(policy: &PluginPolicy, report: &mut PluginReport) {
    let facts = &report.component;
    if !facts.known {
        return;
    }
    let imports = |start: &str| facts.imports.iter().any(|import| import.starts_with(start));
    let mut unused = Vec::new();
    for (key, granted, interface) in [
        ("hardware", !policy.hardware.is_empty(), "hardware"),
        ("host-nodes", !policy.host_nodes.is_empty(), "host-paths"),
        ("containers.mounts", !policy.containers.mounts.is_empty(), "host-paths"),
        ("files", !policy.files.is_empty(), "files"),
        ("kernel-log", !policy.kernel_log.is_empty(), "kernel-log"),
        ("control", !policy.control.is_empty(), "control"),
        ("state", policy.state, "state"),
    ] {
        if granted && !imports(&format!("devgate:plugin/{interface}@")) {
            unused.push(format!("{key} is granted, and the component never imports devgate:plugin/{interface}"));
        }
    }
    let dra = policy.dra.as_ref();
    if dra.is_some_and(|dra| dra.parameters == Parameters::Component) && !facts.profile.parameters {
        let message = "dra.parameters is component, and the component never exports devgate:plugin/parameters: a claim that has some gets nothing";
        unused.push(message.to_owned());
    }
    if dra.is_some_and(|dra| !dra.conditions.is_empty()) && !facts.profile.conditions {
        let message = "dra.conditions names some, and the component never exports devgate:plugin/conditions";
        unused.push(message.to_owned());
    }
    for word in policy.wasi.iter().filter(|word| !imports(&format!("wasi:{word}/"))) {
        unused.push(format!("wasi: {word} is granted, and the component never imports anything of wasi:{word}"));
    }
    for message in unused {
        report.finds("grant-unused", message);
    }
}
