//! Mounts: sources that the policy names, as long as nobody but root could have put something else there.

use super::Grants;
use devgate_node::{MountKind, MountProblem};
use devgate_policy::{Danger, MountGrant};
use devgate_types::escape;

/// A mount that the policy names and the host found nothing wrong with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedMount {
    /// The policy's name for it.
    pub name: String,
    /// The path on the node.
    pub source: String,
    /// The path in the container.
    pub target: String,
    /// Whether the container may write to it.
    pub writable: bool,
}

/// Why a mount that was asked for is not given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MountDenied {
    /// The policy names no such mount.
    #[error("no entry of the policy's containers.mounts has this name")]
    NotGranted,
    /// There is nothing at the source, as far as the host can see.
    #[error("{0}")]
    Missing(String),
    /// The source is not safe to give away.
    #[error("{0}")]
    Refused(String),
}

impl Grants {
    /// A mount by the policy's name for it, looked at now.
    ///
    /// # Errors
    /// See [`MountDenied`].
    pub fn mount(&self, name: &str) -> Result<GrantedMount, MountDenied> {
        let grant = self.policy.containers.mount(name).ok_or(MountDenied::NotGranted)?;
        self.look_at(grant)?;
        Ok(GrantedMount {
            name: grant.name.clone(),
            source: grant.source.clone(),
            target: grant.target.clone(),
            writable: grant.writable,
        })
    }

    /// Every mount that the policy names, and what the host says of it here.
    #[must_use]
    pub fn mounts(&self) -> Vec<(String, Result<GrantedMount, MountDenied>)> {
        let names = self.policy.containers.mounts().map(|grant| grant.name.clone());
        names
            .map(|name| {
                let mount = self.mount(&name);
                (name, mount)
            })
            .collect()
    }

    /// What is wrong with giving a mount away at this moment, if anything: what was root's alone when it was asked for may
    /// have been replaced since.
    #[must_use]
    pub fn mount_problem_now(&self, mount: &GrantedMount) -> Option<String> {
        let problem = match self.policy.containers.mount(&mount.name) {
            None => MountDenied::NotGranted,
            Some(grant) => self.look_at(grant).err()?,
        };
        Some(format!("mount {}: {problem}", escape(&mount.name, 80)))
    }

    fn look_at(&self, grant: &MountGrant) -> Result<(), MountDenied> {
        if grant.unchecked {
            return Ok(());
        }
        let source = escape(&grant.source, 160);
        match self.node.mount_source(&grant.source) {
            Ok(MountKind::Directory { socket: Some(socket) }) if !self.policy.accepts(&Danger::SOCKETS) => {
                let (socket, Danger { key, why }) = (escape(&socket, 80), Danger::SOCKETS);
                Err(MountDenied::Refused(format!(
                    "{source} {why}: {socket} (\"dangerous: [{key}]\" in the policy would accept it)"
                )))
            }
            Ok(_) => Ok(()),
            Err(problem @ MountProblem::Missing { .. }) => Err(MountDenied::Missing(format!(
                "source {source}: {problem}, as far as this host can see (\"unchecked: true\" in the policy hands it out unseen)"
            ))),
            Err(problem) => Err(MountDenied::Refused(format!("source {source}: {problem}"))),
        }
    }
}
