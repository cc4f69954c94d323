//! Where components come from: files in a directory, or the cache and the registries behind it; and the keys that must have signed them.

use crate::cli::{PlaceArgs, RegistryArgs};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions, OpenOptionsExt};
use devgate_core::LoadFailure;
use devgate_oci::{Error, MAX_SIGNATURE, PublicKey, Store, Wanted};
use devgate_policy::{ComponentSource, PluginPolicy, Policy};
use devgate_runner::{Program, ProgramError};
use devgate_types::ByteSize;
use rustix::fs::OFlags;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most bytes of a key.
pub(crate) const MAX_KEY: u64 = 16 * 1024;

/// Where components come from.
#[derive(Clone)]
pub struct Components {
    dir: Option<PathBuf>,
    store: Arc<Store>,
}

impl Components {
    /// Files in `dir`, or beside the policy file that names them; and what is in registries.
    pub fn new(dir: Option<PathBuf>, store: Arc<Store>) -> Self {
        Self { dir, store }
    }

    /// For a command that pulls only where it is told to.
    pub fn looking(
        dir: Option<&PathBuf>,
        registry: &RegistryArgs,
        pull: bool,
        puller: Result<Program, ProgramError>,
    ) -> Self {
        Self::new(dir.cloned(), Arc::new(registry.store(None, pull, puller)))
    }

    /// The cache and the registries.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The directory that a plugin's files are in: the given one, or that of the policy file that names it.
    fn dir<'a>(&'a self, policy: &'a PluginPolicy) -> &'a Path {
        self.dir.as_deref().unwrap_or_else(|| beside(policy))
    }

    /// A plugin's component, for people.
    pub fn shown(&self, policy: &PluginPolicy) -> String {
        match &policy.component {
            ComponentSource::File { path, .. } => self.dir(policy).join(path).display().to_string(),
            ComponentSource::Oci(reference) => reference.to_string(),
        }
    }

    /// The files that a plugin's component consists of, with those that say who must have signed it.
    pub fn files(&self, policy: &PluginPolicy) -> Vec<PathBuf> {
        let mut files = Vec::new();
        if let ComponentSource::File { path, .. } = &policy.component {
            files.push(self.dir(policy).join(path));
            if policy.cosign_keys.is_some() {
                files.push(self.dir(policy).join(format!("{path}.sig")));
            }
        }
        for key in policy.cosign_keys.iter().flatten() {
            files.push(self.dir(policy).join(key));
            files.push(beside(policy).join(key));
        }
        files.dedup();
        files
    }

    /// What is waited for while a component is read: a pull.
    pub fn progress(&self, policy: &PluginPolicy) -> Option<String> {
        let ComponentSource::Oci(reference) = &policy.component else {
            return None;
        };
        self.store.progress(reference.digest)
    }

    /// Whether a component is in the cache or needs no cache.
    pub fn is_here(&self, policy: &PluginPolicy) -> bool {
        let ComponentSource::Oci(reference) = &policy.component else {
            return true;
        };
        let Ok(keys) = self.keys(policy) else { return false };
        self.store.kept(reference, wanted(policy, keys.as_deref())).is_some()
    }

    /// What a policy names stays in the cache, and so does what the one before it named where that is still in force.
    pub fn keep<'a>(&self, policies: impl IntoIterator<Item = &'a Policy>) {
        let plugins = policies.into_iter().flat_map(|policy| policy.plugins.values());
        let digest = |plugin: &PluginPolicy| match &plugin.component {
            ComponentSource::Oci(reference) => Some(reference.digest),
            ComponentSource::File { .. } => None,
        };
        self.store.keep(plugins.filter_map(digest).collect());
    }

    /// Reads a plugin's component, no more of it than the policy lets it have and one byte, and checks who has signed it. Blocks, and
    /// pulls what is not in the cache.
    pub fn read(&self, policy: &PluginPolicy) -> Result<Vec<u8>, LoadFailure> {
        let keys = self.keys(policy)?;
        match &policy.component {
            ComponentSource::Oci(reference) => {
                let read = self.store.get(reference, wanted(policy, keys.as_deref()));
                read.map_err(|error| failure(policy, error))
            }
            ComponentSource::File { path, .. } => {
                let bytes = self.file(policy, path)?;
                if let Some(keys) = keys {
                    self.check(policy, path, &bytes, &keys)?;
                }
                Ok(bytes)
            }
        }
    }

    fn file(&self, policy: &PluginPolicy, path: &str) -> Result<Vec<u8>, LoadFailure> {
        let most = policy.limits.component_size.0.saturating_add(1);
        read(self.dir(policy), path, most).map_err(|why| {
            let file = self.dir(policy).join(path);
            let help = match why {
                NotRead::NoDirectory(_) => " (--components DIR; without it, the policy's own)",
                NotRead::NoFile => " (component.file, in --components DIR or beside the policy)",
                NotRead::Other(_) => "",
            };
            LoadFailure::Host(format!("plugin {}: component {}: {why}{help}", policy.name, file.display()))
        })
    }

    fn check(&self, policy: &PluginPolicy, path: &str, bytes: &[u8], keys: &[PublicKey]) -> Result<(), LoadFailure> {
        let name = self.dir(policy).join(path).display().to_string();
        let limit = policy.limits.component_size;
        if ByteSize(u64::try_from(bytes.len()).unwrap_or(u64::MAX)) > limit {
            // Only its beginning was read: the compiler's refusal says so.
            return Ok(());
        }
        let signature = read(self.dir(policy), &format!("{path}.sig"), MAX_SIGNATURE + 1).map_err(|why| match why {
            NotRead::NoFile | NotRead::NoDirectory(_) => LoadFailure::Refused(format!(
                "plugin {}: component {name} has no signature beside it, {name}.sig; make it with `cosign sign-blob` (docs/components.md)",
                policy.name
            )),
            NotRead::Other(why) => LoadFailure::Host(format!("plugin {}: {name}.sig: {why}", policy.name)),
        })?;
        let signature = String::from_utf8_lossy(&signature);
        devgate_oci::check_file(bytes, &signature, keys, &name).map_err(|error| failure(policy, error))
    }

    /// The keys of which one must have signed a plugin's component, read anew; nothing where no signature is asked for.
    pub fn keys(&self, policy: &PluginPolicy) -> Result<Option<Vec<PublicKey>>, LoadFailure> {
        let Some(files) = &policy.cosign_keys else {
            return Ok(None);
        };
        let failed = |file: &str, why: &str| {
            let text = format!("plugin {}: key {file}: {why} (signature.cosign-key)", policy.name);
            LoadFailure::Host(text)
        };
        let mut keys = Vec::new();
        for file in files {
            // The policy's own first: a program that fills the components' directory must not put another key in its place.
            let bytes = match read(beside(policy), file, MAX_KEY) {
                Err(NotRead::NoFile | NotRead::NoDirectory(_)) => read(self.dir(policy), file, MAX_KEY),
                read => read,
            };
            let bytes = bytes.map_err(|why| match why {
                NotRead::NoFile | NotRead::NoDirectory(_) => {
                    failed(file, "there is no such file beside the policy or in --components DIR")
                }
                NotRead::Other(why) => failed(file, &why),
            })?;
            let key = PublicKey::from_pem(&String::from_utf8_lossy(&bytes));
            keys.push(key.map_err(|why| failed(file, &why.to_string()))?);
        }
        Ok(Some(keys))
    }
}

impl PlaceArgs {
    /// Where components come from, for a command that looks at a node.
    pub fn looking(&self, puller: Result<Program, ProgramError>) -> Components {
        Components::looking(self.components().as_ref(), &self.registry, self.pull, puller)
    }
}

fn wanted<'a>(policy: &PluginPolicy, keys: Option<&'a [PublicKey]>) -> Wanted<'a> {
    let most = policy.limits.component_size;
    Wanted { most, keys }
}

/// The directory of the policy file that names a plugin.
fn beside(policy: &PluginPolicy) -> &Path {
    Path::new(&*policy.origin.file).parent().unwrap_or(Path::new(""))
}

fn failure(policy: &PluginPolicy, error: Error) -> LoadFailure {
    let text = format!("plugin {}: component {error}", policy.name);
    match error {
        Error::Refused(_) => LoadFailure::Refused(text),
        Error::Host(_) => LoadFailure::Host(text),
    }
}

/// Why a file was not read.
#[derive(thiserror::Error, Debug)]
enum NotRead {
    #[error("there is no directory {0}")]
    NoDirectory(String),
    #[error("there is no such file")]
    NoFile,
    #[error("{0}")]
    Other(String),
}

/// Reads a file that lies beneath the directory, links included, but never more of it than `most`.
fn read(directory: &Path, path: &str, most: u64) -> Result<Vec<u8>, NotRead> {
    let other = |why: std::io::Error| NotRead::Other(why.to_string());
    // An empty path is the working directory's, where a policy named without a directory lies.
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let beneath = Dir::open_ambient_dir(directory, ambient_authority()).map_err(|e| match e.kind() {
        ErrorKind::NotFound => NotRead::NoDirectory(directory.display().to_string()),
        _ => other(e),
    })?;
    let regular = |metadata: std::io::Result<Metadata>| match metadata {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err(NotRead::Other("is not a regular file".to_owned())),
        Err(e) if e.kind() == ErrorKind::NotFound => Err(NotRead::NoFile),
        Err(e) => Err(other(e)),
    };
    // Looked at before it is opened: opening a device can act on it.
    regular(beneath.metadata(path))?;
    // And after, since it may be something else by then; opening a pipe must not wait for its other end.
    let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let opened = beneath.open_with(path, OpenOptions::new().read(true).custom_flags(nonblock)).map_err(other)?;
    regular(opened.metadata())?;
    let mut bytes = Vec::new();
    opened.take(most).read_to_end(&mut bytes).map_err(other)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::mpsc;
    use std::time::Duration;

    const KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAENptdY/l3nB0yqkXLBWkZWQwo6+cu
OSWS1X9vPavpiQOoTTGC0xX57OojUadxF1cdQmrsiReWg2Wn4FneJfa8xw==
-----END PUBLIC KEY-----
";
    const POLICY: &str = "apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  gpu:
    component: {file: gpu.wasm, signature: {cosign-key: vendor.pem}}
    resources: [vendor.com/gpu]
    hardware: [{subsystem: pci, vendor: \"0x1234\", use: offer, nodes: [{subsystem: drm}]}]
";

    /// A pipe in place of the file, at any moment, costs an error and never a thread.
    #[test]
    fn a_file_that_becomes_a_pipe_while_it_is_opened_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::fs::hard_link(at("file"), at("gpu.wasm")).unwrap();
        let (directory, done) = (dir.path().to_owned(), Arc::new(AtomicBool::new(false)));
        let (send, ended) = mpsc::channel();
        let swapping = Arc::clone(&done);
        let swaps = std::thread::spawn(move || {
            for name in ["pipe", "file"].into_iter().cycle() {
                if swapping.load(Relaxed) {
                    return;
                }
                std::fs::hard_link(directory.join(name), directory.join("new")).unwrap();
                std::fs::rename(directory.join("new"), directory.join("gpu.wasm")).unwrap();
                // Two names of one file stay where they are.
                let _ = std::fs::remove_file(directory.join("new"));
            }
        });
        let directory = dir.path().to_owned();
        std::thread::spawn(move || {
            for _ in 0..20_000 {
                let _ = read(&directory, "gpu.wasm", 10);
            }
            let _ = send.send(());
        });
        let ended = ended.recv_timeout(Duration::from_secs(60));
        done.store(true, Relaxed);
        swaps.join().unwrap();
        assert!(ended.is_ok(), "a read waits for the other end of a pipe");
    }

    #[test]
    fn a_key_among_the_components_does_not_take_the_place_of_that_of_the_policy() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("components")).unwrap();
        std::fs::write(at("policy.yaml"), POLICY).unwrap();
        let policy = crate::policy::read(&[at("policy.yaml")]).unwrap();
        let plugin = policy.plugins.values().next().unwrap();
        let components =
            Components::looking(Some(&at("components")), &RegistryArgs::default(), false, Program::puller());
        let keys = || components.keys(plugin).map(|keys| keys.unwrap().len());
        let none = keys().unwrap_err().to_string();
        assert!(
            none.ends_with("there is no such file beside the policy or in --components DIR (signature.cosign-key)"),
            "{none}"
        );
        std::fs::write(at("components/vendor.pem"), KEY).unwrap();
        assert_eq!(keys(), Ok(1));
        std::fs::write(at("vendor.pem"), "no key").unwrap();
        let own = keys().unwrap_err().to_string();
        assert!(own.contains("is no public key in PEM"), "{own}");
    }
}
