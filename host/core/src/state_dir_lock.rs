//! Who uses a state directory: one host, or a cleanup. A second host waits for the first to end, and a cleanup sees it.

use crate::lockfile;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The file in the state directory that is locked.
pub(crate) const FILE: &str = "host.lock";

/// The file in the state directory that is locked by whoever waits for the other one, each beside the others.
pub(crate) const STANDBY: &str = "standby.lock";

/// The socket in the state directory on which the host that has it is asked to hand over.
pub const HOST_SOCKET: &str = "host.sock";

/// The use of a state directory, until it is dropped or the process ends.
#[derive(Debug)]
pub struct StateDirLock {
    /// The file, and the directory itself: a file that an admin removes keeps no other host away, and one that cannot be made lets none in.
    /// Earlier builds lock the file alone.
    _locked: (Option<File>, File),
}

/// Why a state directory cannot be had for oneself.
#[derive(Debug, thiserror::Error)]
pub enum NotLocked {
    /// Another process uses it.
    #[error("a devgate runs with it, or cleans it up; end it first")]
    Used,
    /// What is to be locked is no regular file, but a link, a pipe, a directory.
    #[error("{} is no regular file, and nothing else keeps another devgate from the same devices", .0.display())]
    NoFile(PathBuf),
    /// It cannot be seen whether anybody does.
    #[error("it cannot be seen whether a devgate uses it: {0}")]
    Unknown(#[from] io::Error),
}

impl StateDirLock {
    /// A host's; the directory is made if it is not there, for its owner alone. Blocks while another host or a cleanup uses it: `wait`
    /// waits before each further look, and says whether there is to be one; nothing where not.
    ///
    /// # Errors
    /// Where the directory or the lock's file cannot be made or locked.
    pub fn of_host(dir: &Path, mut wait: impl FnMut() -> bool) -> Result<Option<Self>, NotLocked> {
        let mut waits = None;
        loop {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            match Self::now(dir, true) {
                Ok(Some(hold)) => {
                    // Who looks for it later finds it also where this one has died meanwhile.
                    hold._locked.0.as_ref().map(|file| file.set_modified(SystemTime::now()));
                    return Ok(Some(hold));
                }
                Ok(None) => {}
                // A cleanup has removed the directory.
                Err(NotLocked::Unknown(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            // A directory that takes no file does not tell who waits. One that was made anew is told anew.
            let path = dir.join(STANDBY);
            if !waits.as_ref().is_some_and(|file| lockfile::is_at(file, &path)) {
                waits = lockfile::open(&path, true).ok().filter(|file| file.try_lock_shared().is_ok());
            }
            if !wait() {
                return Ok(None);
            }
        }
    }

    /// That of a program that removes what is there, which no host must use meanwhile. Nothing where no host ever used it, unless the lock
    /// is to be made then.
    ///
    /// # Errors
    /// Where another process uses it, or that cannot be seen.
    pub fn of_cleanup(dir: &Path, make: bool) -> Result<Option<Self>, NotLocked> {
        match Self::now(dir, make) {
            Ok(Some(hold)) => Ok(Some(hold)),
            Ok(None) => Err(NotLocked::Used),
            Err(NotLocked::Unknown(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// When a host had it last, as far as the lock's file says.
    #[must_use]
    pub fn last_taken(dir: &Path) -> Option<SystemTime> {
        std::fs::symlink_metadata(dir.join(FILE)).ok()?.modified().ok()
    }

    /// Whether a host waits for it, which serves as soon as it is free.
    #[must_use]
    pub fn is_awaited(dir: &Path) -> bool {
        let alone = lockfile::open(&dir.join(STANDBY), false).map(|file| file.try_lock());
        matches!(alone, Ok(Err(TryLockError::WouldBlock)))
    }

    /// If no other process has it now.
    fn now(dir: &Path, make: bool) -> Result<Option<Self>, NotLocked> {
        let path = dir.join(FILE);
        if std::fs::symlink_metadata(&path).is_ok_and(|look| !look.is_file()) {
            return Err(NotLocked::NoFile(path));
        }
        let itself = File::open(dir)?;
        let file = match lockfile::open(&path, make) {
            Ok(file) => file,
            // On a disk that takes no file, the directory's lock is what there is.
            Err(error) if takes_no_file(&error) => {
                return Ok(locked(itself.try_lock())?.then_some(Self { _locked: (None, itself) }));
            }
            Err(error) => return Err(error.into()),
        };
        // A file that is not there any more was a cleanup's that was quicker, or is in a directory that is not there any more.
        // Where the file system locks no directories, the file's lock is what there is.
        let is_alone =
            locked(file.try_lock())? && locked(itself.try_lock()).unwrap_or(true) && lockfile::is_at(&file, &path);
        Ok(is_alone.then_some(Self { _locked: (Some(file), itself) }))
    }
}

fn takes_no_file(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), ReadOnlyFilesystem | StorageFull | QuotaExceeded | PermissionDenied)
}

/// Whether it is locked now, and not by another process.
fn locked(result: Result<(), TryLockError>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    fn paused(waits: &mpsc::Sender<()>) -> bool {
        std::thread::sleep(Duration::from_millis(10));
        waits.send(()).is_ok()
    }

    fn host(dir: &Path) -> StateDirLock {
        StateDirLock::of_host(dir, || false).unwrap().unwrap()
    }

    fn is_used(dir: &Path) -> bool {
        matches!(StateDirLock::of_cleanup(dir, true), Err(NotLocked::Used))
    }

    #[test]
    fn one_host_has_it_and_nobody_cleans_up_under_it() {
        let dir = tempfile::tempdir().unwrap();
        assert!(StateDirLock::of_cleanup(dir.path(), false).unwrap().is_none(), "no host was ever there");
        let first = host(dir.path());
        assert!(is_used(dir.path()), "a cleanup finds the host");
        let taken = StateDirLock::last_taken(dir.path()).unwrap();
        assert!(StateDirLock::of_host(dir.path(), || false).unwrap().is_none(), "and so does another host");
        let (place, (waits, seen)) = (dir.path().to_owned(), mpsc::channel());
        let second = std::thread::spawn(move || StateDirLock::of_host(&place, || paused(&waits)).unwrap().unwrap());
        seen.recv().unwrap();
        drop(first);
        let second = second.join().unwrap();
        assert!(is_used(dir.path()), "the second has it");
        drop(second);
        assert!(StateDirLock::last_taken(dir.path()).unwrap() > taken, "which is seen when it has ended, too");
        let cleanup = StateDirLock::of_cleanup(dir.path(), false).unwrap().unwrap();
        assert!(is_used(dir.path()), "and so does another cleanup");
        drop(cleanup);
        host(dir.path());
    }

    #[test]
    fn a_host_waits_for_whoever_cleans_up() {
        let dir = tempfile::tempdir().unwrap();
        let cleanup = StateDirLock::of_cleanup(dir.path(), true).unwrap().unwrap();
        assert!(StateDirLock::of_host(dir.path(), || false).unwrap().is_none(), "unless it is told to stop");
        let place = dir.path().to_owned();
        let (waits, seen) = mpsc::channel();
        let host = std::thread::spawn(move || StateDirLock::of_host(&place, || paused(&waits)).unwrap().unwrap());
        seen.recv().unwrap();
        // The host makes its file again while it waits.
        while let Err(error) = std::fs::remove_dir_all(dir.path()) {
            assert_eq!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty);
        }
        drop(cleanup);
        host.join().unwrap();
        assert!(dir.path().join(FILE).exists(), "it has its own, of what is there now");
    }

    #[test]
    fn who_waits_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let first = host(dir.path());
        let (place, (waits, seen), (go_on, goes_on)) =
            (dir.path().to_owned(), mpsc::channel(), mpsc::channel::<bool>());
        let wait = move || waits.send(()).is_ok() && goes_on.recv().unwrap_or_default();
        let second = std::thread::spawn(move || StateDirLock::of_host(&place, wait).unwrap());
        seen.recv().unwrap();
        assert!(is_used(dir.path()), "the first has it");
        drop(first);
        assert!(StateDirLock::is_awaited(dir.path()));
        go_on.send(true).unwrap();
        assert!(second.join().unwrap().is_some(), "and is not kept from it by who looked");
        assert!(!StateDirLock::is_awaited(dir.path()));
    }

    #[test]
    fn a_lock_that_is_removed_lets_nobody_else_in() {
        let dir = tempfile::tempdir().unwrap();
        let first = host(dir.path());
        std::fs::remove_file(dir.path().join(FILE)).unwrap();
        assert!(StateDirLock::of_host(dir.path(), || false).unwrap().is_none());
        assert!(is_used(dir.path()));
        drop(first);
        host(dir.path());
    }

    #[test]
    fn what_is_no_file_tells_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(FILE)).unwrap();
        assert!(matches!(StateDirLock::of_host(dir.path(), || false), Err(NotLocked::NoFile(_))));
        assert!(matches!(StateDirLock::of_cleanup(dir.path(), false), Err(NotLocked::NoFile(_))));
    }
}
