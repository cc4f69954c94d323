//! The node as a whole: where it comes from.

use crate::NodeError;
use crate::live::Live;
use crate::tree::Tree;
use crate::watch::EventSource;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use std::path::Path;
use std::sync::Arc;

/// A computer as the host sees it. Cheap to clone; clones have one source.
#[derive(Clone)]
pub struct Node {
    tree: Arc<dyn Tree>,
    events: Arc<dyn EventSource>,
}

impl Node {
    /// The live node rooted at a directory, which has `sys/` and `dev/`. Fails with [`NodeError::IsFile`] for a regular file, which may be
    /// a recorded node; others where it cannot be opened or is neither.
    pub fn open(root: &Path) -> Result<Self, NodeError> {
        Ok(Self::of(Arc::new(Live::new(directory(root)?))))
    }

    /// The same without `openat2`, as on a kernel before 5.6 or behind a seccomp filter that does not know it.
    pub fn open_stepwise(root: &Path) -> Result<Self, NodeError> {
        Ok(Self::of(Arc::new(Live::stepwise(directory(root)?))))
    }

    /// The node that a source shows.
    #[must_use]
    pub fn of<S: Tree + EventSource + 'static>(source: Arc<S>) -> Self {
        Self { tree: Arc::clone(&source) as Arc<dyn Tree>, events: source }
    }

    /// Whether this is a recording: see [`Tree::is_recorded`].
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.tree.is_recorded()
    }

    /// Whether there is a device tree at all: a mount that went away looks like a computer without devices otherwise.
    #[must_use]
    pub fn has_devices(&self) -> bool {
        // Every kernel has buses and classes, whatever hardware there is.
        let listed = |root: &&str| self.tree().list(root).is_ok_and(|entries| !entries.is_empty());
        ["sys/class", "sys/bus"].iter().any(listed)
    }

    /// What it is read from: for a program that copies it, as paths below the root.
    #[must_use]
    pub fn tree(&self) -> &dyn Tree {
        &*self.tree
    }

    /// What tells of it.
    #[must_use]
    pub fn events(&self) -> &Arc<dyn EventSource> {
        &self.events
    }
}

/// Opens the directory that a node is rooted at.
fn directory(root: &Path) -> Result<OwnedFd, NodeError> {
    let failed = |errno: Errno| NodeError::Open { path: root.to_owned(), source: errno.into() };
    // A FIFO must not hold the host. Only here is a link followed: the root is the admin's word.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = openat(CWD, root, flags, Mode::empty()).map_err(failed)?;
    match FileType::from_raw_mode(fstat(&opened).map_err(failed)?.st_mode) {
        FileType::Directory => Ok(opened),
        FileType::RegularFile => Err(NodeError::IsFile(root.to_owned())),
        _ => Err(NodeError::NotARoot(root.to_owned())),
    }
}
