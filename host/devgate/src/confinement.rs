//! What the host gives up before it serves: capabilities, files that it does not write, and calls that it does not make.

use crate::cli::{Need, RunArgs};
use crate::exit;
use devgate_confine::{Error, Filter, HostFiles, Landlock, drop_capabilities, fence_host, forbid, hide};
use devgate_policy::{PluginPolicy, Policy};
use serde::{Deserialize, Serialize};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// How far the kernel's Landlock fences the host and its children; seccomp fences them in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fence {
    /// The version of Landlock that is in force; 0 for none.
    pub(crate) version: u32,
    /// What a later version of Landlock takes, and this one leaves: `tcp`, `ioctl`, `scope`, ….
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) lacks: Vec<String>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

impl Fence {
    /// What this process would have as a host.
    pub(crate) fn probe() -> Self {
        Self::of(Landlock::probe())
    }

    fn of(landlock: Result<Landlock, Error>) -> Self {
        let none = |why: String| Self { why: Some(why), ..Self::default() };
        match landlock {
            Ok(Landlock::Enforced { abi, missing }) => {
                Self { version: abi, lacks: missing.iter().map(ToString::to_string).collect(), why: None }
            }
            Ok(Landlock::Missing) => none("this kernel was built or booted without it".to_owned()),
            Err(error) => none(error.to_string()),
        }
    }
}

/// Confines this process, which must have no other thread yet, and all that it starts later. One that began anew has its fence still: it is
/// inherited, and each further one would count towards the sixteen that Landlock takes. Fails where a filter around this
/// process forbids it, or Landlock is required and not there.
pub(crate) fn begin(args: &RunArgs, policy: &Policy, fence: Option<Fence>) -> anyhow::Result<Fence> {
    let files = files(args, policy);
    let refused =
        |error: Error| exit::with_code(exit::NODE, format!("devgate: is not confined, and serves nothing: {error}"));
    hide().map_err(refused)?;
    if let Some(fence) = fence {
        return Ok(fence);
    }
    drop_capabilities().map_err(refused)?;
    let fence = Fence::of(fence_host(&files));
    if let Some(why) = fence.why.as_ref().filter(|_| args.landlock == Need::Required) {
        let text = format!("landlock: is required (--landlock) and not in force: {why}");
        return Err(exit::with_code(exit::NODE, text));
    }
    forbid(Filter::Host).map_err(refused)?;
    Ok(fence)
}

/// What the host writes and starts, whatever policy is put in force later.
fn files(args: &RunArgs, policy: &Policy) -> HostFiles {
    let parent = |path: &Path| Some(std::path::absolute(path).ok()?.parent()?.to_path_buf());
    // A rule is about a directory that is there: one that is made later would be fenced off. So each is made as it would be made then.
    let mut made = vec![(args.state_dir.clone(), 0o700), (args.cdi_dir.clone(), 0o755)];
    let uses = |is_used: fn(&PluginPolicy) -> bool| policy.plugins.values().any(is_used);
    for (directory, is_used) in [
        (&args.device_info_dir, uses(|plugin| plugin.containers.device_info)),
        (&args.nfd_dir, uses(|plugin| !plugin.labels.is_empty())),
    ] {
        if is_used || directory.exists() {
            made.push((directory.clone(), 0o755));
        }
    }
    made.extend(args.registry.cache_dir.clone().map(|dir| (dir, 0o700)));
    made.extend(parent(&args.monitoring.status_socket).map(|dir| (dir, 0o755)));
    let mut directories = Vec::new();
    for (directory, mode) in made {
        match DirBuilder::new().recursive(true).mode(mode).create(&directory) {
            Ok(()) => directories.push(directory),
            // What is in its way is said where it is written to, and an admin may take it away.
            Err(_) => directories.extend(parent(&directory).filter(|above| above.parent().is_some())),
        }
    }
    directories.extend(args.log.audit_log.as_deref().and_then(parent));
    // A kubelet that is set up anew makes its directory anew, beside a host that runs.
    let kubelet = (!args.no_kubelet).then(|| std::path::absolute(&args.kubelet.kubelet_dir).ok());
    let mut sockets: Vec<PathBuf> = kubelet.flatten().into_iter().collect();
    if uses(|plugin| plugin.dra.is_some()) || args.plugins_registry_dir.exists() {
        sockets.extend(std::path::absolute(&args.plugins_registry_dir).ok().filter(|_| !args.no_kubelet));
    }
    for directory in &sockets {
        let _ = DirBuilder::new().recursive(true).mode(0o750).create(directory);
    }
    let own = std::env::current_exe().ok();
    let mut programs: Vec<PathBuf> = own.as_deref().and_then(parent).into_iter().collect();
    // Of a program that is not linked statically, what loads it.
    if cfg!(not(target_env = "musl")) {
        programs.extend(["/lib", "/lib64", "/usr/lib"].map(PathBuf::from));
    }
    HostFiles {
        directories,
        sockets,
        // A component's writes to attributes of devices, what children say of their memory, and what they have in place of a stream.
        files: vec![args.node_root.join("sys"), "/proc".into(), "/dev/null".into()],
        programs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    #[test]
    fn a_path_of_the_directory_that_it_is_started_in_is_one_that_it_writes_to() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        let text = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  x:\n    component: {file: x.wasm}\n    resources: [test.dev/x]\n";
        std::fs::write(at("policy.yaml"), text).unwrap();
        let mut line: Vec<String> =
            ["devgate", "run", "--no-kubelet", "--audit-log", "audit.log"].map(Into::into).into();
        for option in ["policy", "state-dir", "cdi-dir", "nfd-dir", "device-info-dir"] {
            line.extend([format!("--{option}"), at(&format!("{option}.yaml").replace("dir.yaml", "dir"))]);
        }
        line.extend(["--status-socket".to_owned(), "status.sock".to_owned()]);
        let Command::Run(args) = Cli::try_parse_from(line).unwrap().command else { panic!("run") };
        let policy = crate::policy::read(&args.policy).unwrap();
        let files = files(&args, &policy);
        let here = std::env::current_dir().unwrap();
        assert_eq!(files.directories.iter().filter(|dir| **dir == here).count(), 2, "{files:?}");
        assert!(files.sockets.is_empty() && dir.path().join("state-dir").is_dir());
        // What no plugin uses is not made, and not written to.
        assert!(!dir.path().join("nfd-dir").exists() && !dir.path().join("device-info-dir").exists());
    }
}
