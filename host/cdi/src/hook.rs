//! Leases that end with their containers, where the policy asks for that (`containers.release-hook`).

use crate::spec::Hook;
use devgate_types::ResourceName;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

/// How long a runtime waits for it, in seconds: releasing may take a component's while.
const TIMEOUT: i64 = 30;

/// Whether leases of a resource end with their containers, by the policy in force.
pub type Releases = Arc<dyn Fn(&ResourceName) -> bool + Send + Sync>;

/// What a runtime is told to run, as root, when a container with a lease has ended.
pub struct ReleaseHook {
    /// This program, absolute.
    pub program: PathBuf,
    /// The host's socket.
    pub socket: PathBuf,
    /// For which resources.
    pub releases: watch::Receiver<Releases>,
}

impl ReleaseHook {
    pub(crate) fn of(&self, resource: &ResourceName, lease: &str) -> Option<Hook> {
        let is_asked_for = Arc::clone(&self.releases.borrow())(resource);
        let socket = self.socket.display().to_string();
        is_asked_for.then(|| Hook {
            hook_name: "poststop".to_owned(),
            path: self.program.display().to_string(),
            args: ["devgate", "cdi", "release", lease, "--status-socket", &socket].map(str::to_owned).to_vec(),
            env: Vec::new(),
            timeout: Some(TIMEOUT),
        })
    }
}
