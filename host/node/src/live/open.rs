//! Opening something beneath a directory without following a link: by one `openat2` where there is one, else step by
//! step.

use super::Live;
use crate::path::problem;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::{Errno, retry_on_intr};

/// Never out of the root, through no link, through no link of `/proc` that is not even text.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);
const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);

impl Live {
    /// Everything beneath `directory`.
    pub(crate) fn new(directory: OwnedFd) -> Self {
        // Asked once: ENOSYS before Linux 5.6, EPERM behind a seccomp filter that is older than the call.
        let openat2 = openat2(&directory, ".", OFlags::PATH | ALWAYS, Mode::empty(), BENEATH).is_ok();
        Self { directory, openat2 }
    }

    /// The same without `openat2`.
    pub(crate) fn stepwise(directory: OwnedFd) -> Self {
        Self { directory, openat2: false }
    }

    /// Opens `path`, itself if it is a link, or the root where it is empty.
    pub(crate) fn open(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { "." } else { path };
        // Callers have checked: this is the last line, and what the stepwise walk relies on.
        if path != "." && problem(path).is_some() {
            return Err(Errno::INVAL);
        }
        if !self.openat2 {
            return self.walk(path, flags);
        }
        // Without O_NOFOLLOW, which would turn the ELOOP of a link in a directory's place into ENOTDIR; but with O_PATH
        // it is what opens a link itself.
        let flags = flags | if flags.contains(OFlags::PATH) { ALWAYS } else { OFlags::CLOEXEC };
        retry_on_intr(|| openat2(&self.directory, path, flags, Mode::empty(), BENEATH))
    }

    /// The same by opening each directory on the way. A path has no `..`, so no step can lead up; O_NOFOLLOW makes each
    /// one refuse a link.
    fn walk(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut at: Option<OwnedFd> = None;
        let mut rest = path;
        while let Some((name, after)) = rest.split_once('/') {
            let directory = at.as_ref().map_or_else(|| self.directory.as_fd(), AsFd::as_fd);
            at = Some(Self::step(directory, name)?);
            rest = after;
        }
        let directory = at.as_ref().map_or_else(|| self.directory.as_fd(), AsFd::as_fd);
        let opened = retry_on_intr(|| openat(directory, rest, flags | ALWAYS, Mode::empty()));
        // O_DIRECTORY with O_NOFOLLOW says ENOTDIR of a link, where openat2 says ELOOP.
        match opened {
            Err(Errno::NOTDIR) => Err(Self::not_a_directory(directory, rest)),
            opened => opened,
        }
    }

    fn step(directory: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | ALWAYS;
        match retry_on_intr(|| openat(directory, name, flags, Mode::empty())) {
            Err(Errno::NOTDIR) => Err(Self::not_a_directory(directory, name)),
            opened => opened,
        }
    }

    /// Why `name` is not a directory: ELOOP for a link, ENOTDIR for anything else.
    fn not_a_directory(directory: BorrowedFd<'_>, name: &str) -> Errno {
        match rustix::fs::readlinkat(directory, name, Vec::new()) {
            Ok(_) => Errno::LOOP,
            Err(_) => Errno::NOTDIR,
        }
    }
}
