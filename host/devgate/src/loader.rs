//! Reads components' files and hands them to the sandbox with what the policy grants.

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use devgate_plugin::component::Component;
use devgate_plugin::{LoadFailure, Loader};
use devgate_policy::{ComponentSource, Grant, PluginPolicy};
use devgate_sandbox::{Engine, ImportGrant, LoadRequest, Refusal};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Loads components from files.
pub(crate) struct SandboxLoader {
    engine: Engine,
    components: Option<PathBuf>,
}

impl SandboxLoader {
    /// A loader for components in `components`, or beside the policy file that names them.
    pub(crate) fn new(engine: Engine, components: Option<PathBuf>) -> Self {
        Self { engine, components }
    }
}

/// The directory that a plugin's component is in: the given one, or that of the policy file that names it.
fn directory<'a>(components: Option<&'a Path>, policy: &'a PluginPolicy) -> &'a Path {
    let beside = || Path::new(&*policy.origin.file).parent().unwrap_or(Path::new(""));
    components.unwrap_or_else(beside)
}

/// Where a plugin's component is.
pub(crate) fn component_path(components: Option<&Path>, policy: &PluginPolicy) -> PathBuf {
    let ComponentSource::File { path, .. } = &policy.component;
    directory(components, policy).join(path)
}

/// Reads a plugin's component, no more of it than the policy lets it have and one byte.
pub(crate) fn read_component(components: Option<&Path>, policy: &PluginPolicy) -> Result<Vec<u8>, LoadFailure> {
    let ComponentSource::File { path, .. } = &policy.component;
    read(directory(components, policy), path, policy)
}

impl Loader for SandboxLoader {
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        let ComponentSource::File { sha256, .. } = &policy.component;
        let file = component_path(self.components.as_deref(), policy);
        let bytes = read_component(self.components.as_deref(), policy)?;
        let request = LoadRequest {
            plugin: policy.name.as_str(),
            bytes: &bytes,
            sha256: *sha256,
            limits: policy.limits.clone(),
            grants: &|interface| import_grant(policy.grants(interface)),
        };
        let loaded = devgate_sandbox::load(&self.engine, request).map_err(|error| {
            let text = format!("{error}\n  file: {}", file.display());
            match error.refusal {
                Refusal::Imports(_) | Refusal::Digest { .. } => LoadFailure::Refused(text),
                Refusal::Host(_) => LoadFailure::Host(text),
                _ => LoadFailure::Guest(text),
            }
        })?;
        Ok(Arc::new(loaded))
    }

    fn digest(&self, policy: &PluginPolicy) -> Option<[u8; 32]> {
        let bytes = read_component(self.components.as_deref(), policy).ok()?;
        Some(devgate_sandbox::digest(&bytes))
    }
}

/// Reads a file that lies beneath the directory, links included, but never more of it than a component may have.
fn read(directory: &Path, path: &str, policy: &PluginPolicy) -> Result<Vec<u8>, LoadFailure> {
    let failed = |why: &dyn std::fmt::Display| {
        let file = directory.join(path);
        LoadFailure::Host(format!("plugin {}: component {}: {why}", policy.name, file.display()))
    };
    // An empty path is the working directory's, where a policy named without a directory lies.
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    let beneath = Dir::open_ambient_dir(directory, ambient_authority()).map_err(|e| match e.kind() {
        ErrorKind::NotFound => failed(&format!(
            "there is no directory {} (--components DIR; without it, the policy's own)",
            directory.display()
        )),
        _ => failed(&e),
    })?;
    // Looked at before it is opened: opening a pipe would wait for its other end.
    let metadata = beneath.metadata(path).map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            failed(&"there is no such file (component.file, in --components DIR or beside the policy)")
        }
        _ => failed(&e),
    })?;
    if !metadata.is_file() {
        return Err(failed(&"is not a regular file"));
    }
    let opened = beneath.open(path).map_err(|e| failed(&e))?;
    let mut bytes = Vec::new();
    let most = policy.limits.component_size.0.saturating_add(1);
    opened.take(most).read_to_end(&mut bytes).map_err(|e| failed(&e))?;
    Ok(bytes)
}

/// The policy's answer in the sandbox's words.
pub(crate) fn import_grant(grant: Grant) -> ImportGrant {
    match grant {
        Grant::Always => ImportGrant::Always,
        Grant::Granted => ImportGrant::Granted,
        Grant::NotGranted { key } => ImportGrant::NotGranted { key },
        Grant::Unknown => ImportGrant::Unknown,
    }
}
