//! Directories that are watched by inotify.

use crate::events::NodeEvent;
use crate::live::Live;
use crate::path::{above, problem};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch};
use rustix::fs::{OFlags, fstatfs};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

/// The most directories that are watched; a user of the system has 8,192 at least.
const MOST: usize = 256;
/// `PROC_SUPER_MAGIC` and `SYSFS_MAGIC`: file systems whose contents the kernel makes up, which tell nobody of it.
const TELLS_NOBODY: [u64; 2] = [0x9fa0, 0x6265_6572];

/// The watched directories of a live node.
pub(super) struct Paths {
    inotify: OwnedFd,
    /// The directories by their watches.
    watched: Mutex<BTreeMap<i32, String>>,
}

impl Paths {
    pub(super) fn open() -> Result<Self, Errno> {
        Ok(Self {
            inotify: init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
            watched: Mutex::default(),
        })
    }

    pub(super) fn inotify(&self) -> &OwnedFd {
        &self.inotify
    }

    /// Watches these, or what is nearest above them, and nothing else.
    pub(super) fn set(&self, live: &Live, directories: &BTreeSet<String>) {
        let found: BTreeMap<_, _> = directories
            .iter()
            .take(MOST)
            .filter_map(|directory| nearest(live, directory.strip_prefix('/')?))
            .collect();
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let old = watched.iter().filter(|(_, directory)| !found.contains_key(*directory));
        for watch in old.map(|(watch, _)| *watch).collect::<Vec<_>>() {
            let _ = remove_watch(&self.inotify, watch);
            watched.remove(&watch);
        }
        for (directory, opened) in found {
            let flags = WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVE
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::ATTRIB
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            // What was opened beneath the root, and not what its path leads to now. A directory that is watched already
            // keeps its watch; another one in its place gets one.
            let itself = format!("/proc/self/fd/{}", opened.as_raw_fd());
            if let Ok(watch) = add_watch(&self.inotify, itself.as_str(), flags) {
                watched.insert(watch, directory);
            }
        }
    }

    /// Tells all that has happened.
    pub(super) fn drain(&self, tell: &dyn Fn(NodeEvent)) -> Result<(), Errno> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                tell(NodeEvent::Lost);
                continue;
            }
            let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            let directory = if event.events().contains(ReadFlags::IGNORED) {
                watched.remove(&event.wd())
            } else {
                watched.get(&event.wd()).cloned()
            };
            drop(watched);
            let Some(directory) = directory else { continue };
            let path = match event.file_name().map(|name| name.to_string_lossy()) {
                Some(name) if directory.is_empty() => format!("/{name}"),
                Some(name) => format!("/{directory}/{name}"),
                None => format!("/{directory}"),
            };
            tell(NodeEvent::Path(path));
        }
    }
}

/// The nearest directory at or above a path that is there, opened; nothing where that tells nobody, or is the root and was not
/// asked for.
fn nearest(live: &Live, path: &str) -> Option<(String, OwnedFd)> {
    if !path.is_empty() && problem(path).is_some() {
        return None;
    }
    let mut at = path;
    loop {
        if let Ok(directory) = live.open(at, OFlags::PATH | OFlags::DIRECTORY) {
            let tells = fstatfs(&directory).is_ok_and(|stat| {
                let magic = u64::try_from(stat.f_type).unwrap_or_default();
                !TELLS_NOBODY.contains(&magic)
            });
            return tells.then(|| (at.to_owned(), directory));
        }
        at = above(at)?;
    }
}
