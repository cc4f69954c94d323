//! Mounts: sources that the policy names, as long as only root could have put something else there.

use super::Grants;
use devgate_node::{MountKind, MountProblem};
use devgate_policy::{Danger, MountGrant};
use devgate_types::escape;
use std::sync::Arc;

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
    pub fn mount(&self, name: &str) -> Result<Arc<MountGrant>, MountDenied> {
        let grant = self.policy.containers.mounts.get(name).ok_or(MountDenied::NotGranted)?;
        self.look_at(grant)?;
        Ok(Arc::clone(grant))
    }

    /// What is wrong with giving a mount away at this moment, if anything: what was root's alone when it was asked for may
    /// have been replaced since.
    pub(crate) fn mount_problem_now(&self, name: &str) -> Option<String> {
        let problem = self.mount(name).err()?;
        Some(format!("mount {}: {problem}", escape(name, 80)))
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
