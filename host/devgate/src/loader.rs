//! Reads components' files and hands them to the sandbox with what the policy grants.

use devgate_plugin::component::Component;
use devgate_plugin::{LoadFailure, Loader};
use devgate_policy::{ComponentSource, Grant, PluginPolicy};
use devgate_sandbox::{Engine, ImportGrant, LoadRequest, Refusal};
use std::fs::File;
use std::io::Read;
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

    fn directory<'a>(&'a self, policy: &'a PluginPolicy) -> &'a Path {
        let beside = || Path::new(&policy.origin.file).parent().unwrap_or(Path::new(""));
        self.components.as_deref().unwrap_or_else(beside)
    }
}

impl Loader for SandboxLoader {
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure> {
        let ComponentSource::File { path, sha256 } = &policy.component;
        let file = self.directory(policy).join(path);
        let bytes = read(&file, policy)?;
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
}

/// Reads the file, but never more of it than a component may have.
fn read(file: &Path, policy: &PluginPolicy) -> Result<Vec<u8>, LoadFailure> {
    let host = |error: std::io::Error| {
        let text = format!("plugin {}: component {}: {error}", policy.name, file.display());
        LoadFailure::Host(text)
    };
    let mut bytes = Vec::new();
    // Looked at before it is opened: opening a pipe would wait for its other end.
    if !std::fs::metadata(file).map_err(host)?.is_file() {
        let text = format!(
            "plugin {}: component {}: is not a regular file",
            policy.name,
            file.display()
        );
        return Err(LoadFailure::Host(text));
    }
    let opened = File::open(file).map_err(host)?;
    opened
        .take(policy.limits.component_size.0.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(host)?;
    Ok(bytes)
}

fn import_grant(grant: Grant) -> ImportGrant {
    match grant {
        Grant::Always => ImportGrant::Always,
        Grant::Granted => ImportGrant::Granted,
        Grant::NotGranted { key } => ImportGrant::NotGranted { key },
        Grant::NotServed => ImportGrant::NotServed,
        Grant::Unknown => ImportGrant::Unknown,
    }
}
