//! Files and mounts, outside the device tree. What the policy lists must hold for a file's path as it is written and for where it leads; a
//! mount's source is given as long as only root could have put something else there.

use super::Grants;
use devgate_node::{MountKind, MountProblem, ReadError};
use devgate_policy::{Danger, FileDenied, MountGrant};
use devgate_types::escape;
use std::sync::Arc;

/// Why something that is no device is not given: a file, a mount, a node by its path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotGranted {
    /// The policy does not name it: in what.
    #[error("no entry of the policy's {0}")]
    Unlisted(&'static str),
    /// It is named, or can never be, and is not given. The first text is for the component, the second for the admin alone, where it says
    /// more: it may name where a link leads.
    #[error("{}", .1.as_ref().unwrap_or(.0))]
    Refused(String, Option<String>),
    /// There is nothing at the source of a mount, as far as the host can see.
    #[error("{0}")]
    Missing(String),
    /// It cannot be looked at.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Grants {
    /// A whole file, at most `most` bytes.
    pub(crate) fn file(&self, path: &str, most: usize) -> Result<Vec<u8>, NotGranted> {
        let path = self.readable(path)?;
        Ok(self.node.file(&path, most)?)
    }

    /// At most `length` bytes of a file from `offset`.
    pub(crate) fn file_at(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>, NotGranted> {
        let path = self.readable(path)?;
        Ok(self.node.file_at(&path, offset, length)?)
    }

    /// The names in a directory that patterns of the policy lead on from, and of them those that the patterns match.
    pub(crate) fn file_entries(&self, path: &str) -> Result<Vec<String>, NotGranted> {
        let files = &self.policy.files;
        let resolved = self.checked(path, |path| files.lists(path))?;
        let mut names = self.node.file_entries(&resolved)?;
        names.retain(|name| files.lists_entry(path, name) && files.lists_entry(&resolved, name));
        Ok(names)
    }

    fn readable(&self, path: &str) -> Result<String, NotGranted> {
        self.checked(path, |path| self.policy.files.check(path))
    }

    /// Where a path leads, if the policy allows both. What is read then is the answer, and through no link: a link that comes
    /// in between is refused by the node.
    fn checked(&self, path: &str, check: impl Fn(&str) -> Result<(), FileDenied>) -> Result<String, NotGranted> {
        check(path).map_err(|denied| NotGranted::Refused(denied.to_string(), None))?;
        let resolved = self.node.resolve(path)?;
        if resolved != path
            && let Err(denied) = check(&resolved)
        {
            let told = "a link on the path leads to what the policy does not list".to_owned();
            let full = format!("it leads to {}, which {denied}", escape(&resolved, 160));
            return Err(NotGranted::Refused(told, Some(full)));
        }
        Ok(resolved)
    }

    /// A mount by the policy's name for it, looked at now.
    pub fn mount(&self, name: &str) -> Result<Arc<MountGrant>, NotGranted> {
        let grant =
            self.policy.containers.mounts.get(name).ok_or(NotGranted::Unlisted("containers.mounts has this name"))?;
        self.look_at(grant)?;
        Ok(Arc::clone(grant))
    }

    /// What is wrong with giving a mount away at this moment, if anything: what was root's alone when it was asked for may
    /// have been replaced since.
    pub(crate) fn mount_problem_now(&self, name: &str) -> Option<String> {
        let problem = self.mount(name).err()?;
        Some(format!("mount {}: {problem}", escape(name, 80)))
    }

    fn look_at(&self, grant: &MountGrant) -> Result<(), NotGranted> {
        if grant.unchecked {
            return Ok(());
        }
        let source = escape(&grant.source, 160);
        match self.node.mount_source(&grant.source) {
            Ok(MountKind::Directory { socket: Some(socket) }) if !self.policy.accepts(&Danger::SOCKETS) => {
                let (socket, Danger { key, why }) = (escape(&socket, 80), Danger::SOCKETS);
                let why = format!("{source} {why}: {socket} (\"dangerous: [{key}]\" in the policy would accept it)");
                Err(NotGranted::Refused(why, None))
            }
            Ok(_) => Ok(()),
            Err(problem @ MountProblem::Missing { .. }) => Err(NotGranted::Missing(format!(
                "source {source}: {problem}, as far as this host can see (\"unchecked: true\" in the policy hands it out unseen)"
            ))),
            Err(problem) => Err(NotGranted::Refused(format!("source {source}: {problem}"), None)),
        }
    }
}
