//! What may be mounted into a container: only what root alone could have put there.

use crate::ReadError;
use crate::node::Node;
use crate::path::problem;
use crate::tree::Kind;
use devgate_types::escape;
use std::fmt::Display;

/// What a mount source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountKind {
    /// A regular file.
    File,
    /// A directory.
    Directory {
        /// The name of a socket that lies directly in it, if one does: a container that is given the directory can talk to what
        /// listens there.
        socket: Option<String>,
    },
}

/// Why a path is no source of a mount. Names what on the path is wrong, escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MountProblem {
    /// Nothing is there; with the first part of the path that is missing.
    #[error("{} is not there", escape(.0, SHOWN))]
    Missing(String),
    /// It is no plain path, leads through a link, cannot be looked at, or others than root could have put something
    /// there.
    #[error("{0}")]
    Refused(String),
}

impl MountProblem {
    /// Of what is at this path below the root.
    fn at(relative: &str, what: impl Display) -> Self {
        Self::Refused(format!("{} {what}", escape(&format!("/{relative}"), SHOWN)))
    }
}

/// The most characters of a path in a message.
const SHOWN: usize = 256;

impl Node {
    /// Whether a path can be mounted into a container without giving away more than it says: every component, `/` among
    /// them, is root's, not writable by others and no link, and at the end is a regular file or a directory. Tells what it
    /// is.
    ///
    /// Looked at from the root down: once a directory is root's alone, only root can replace what is in it, so no other user
    /// can change the answer while or after it is found.
    pub fn mount_source(&self, path: &str) -> Result<MountKind, MountProblem> {
        let refused = |why: &str| MountProblem::Refused(why.to_owned());
        let relative = path.strip_prefix('/').ok_or_else(|| refused("path must be absolute"))?;
        if let Some(problem) = problem(relative).filter(|_| !relative.is_empty()) {
            return Err(refused(problem));
        }
        let ends = relative.match_indices('/').map(|(end, _)| end);
        let mut kind = self.roots_alone("")?;
        for end in ends.chain([relative.len()]).filter(|end| *end > 0) {
            let at = relative.get(..end).unwrap_or_default();
            if kind != Kind::Directory {
                return Err(MountProblem::Missing(format!("/{at}")));
            }
            kind = self.roots_alone(at)?;
        }
        if kind == Kind::Directory {
            let socket = self.socket_in(relative)?;
            return Ok(MountKind::Directory { socket });
        }
        Ok(MountKind::File)
    }

    /// A regular file or directory that is root's and that no other user can write to.
    fn roots_alone(&self, relative: &str) -> Result<Kind, MountProblem> {
        let look = match self.tree().look(relative) {
            Ok(look) => look,
            Err(ReadError::NotFound) => return Err(MountProblem::Missing(format!("/{relative}"))),
            Err(error) => return Err(unreadable(relative, &error)),
        };
        let what = match look.kind {
            Kind::File | Kind::Directory => None,
            // Who may change it chooses what is mounted.
            Kind::Link => return Err(MountProblem::at(relative, "is a link")),
            Kind::Node(_) => Some("a device node"),
            Kind::Socket => Some("a socket"),
            Kind::Other => Some("something else"),
        };
        if let Some(what) = what {
            return Err(MountProblem::at(relative, format_args!("is {what}, not a regular file or directory")));
        }
        if look.uid != 0 {
            return Err(MountProblem::at(relative, format_args!("belongs to user {}, not to root", look.uid)));
        }
        if look.others_write() {
            let mode = look.mode;
            let why = format_args!("can be written by others than root (mode {mode:04o})");
            return Err(MountProblem::at(relative, why));
        }
        Ok(look.kind)
    }

    fn socket_in(&self, relative: &str) -> Result<Option<String>, MountProblem> {
        let entries = self.tree().list(relative).map_err(|error| unreadable(relative, &error))?;
        let sockets = entries.into_iter().filter(|(_, kind)| *kind == Kind::Socket);
        Ok(sockets.map(|(name, _)| name).min())
    }
}

fn unreadable(relative: &str, error: &ReadError) -> MountProblem {
    MountProblem::Refused(format!("{}: {error}", escape(&format!("/{relative}"), SHOWN)))
}
