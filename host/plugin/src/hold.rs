//! Who uses a state directory: any number of hosts, where one follows another, or somebody who cleans up, alone.

use crate::lock;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

/// The file in the state directory that is locked.
pub(crate) const FILE: &str = "host.lock";
/// How often a host looks whether whoever cleans up is done.
const LOOK: Duration = Duration::from_millis(100);

/// A use of a state directory, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Hold {
    _locked: File,
    alone: bool,
}

/// Why a state directory cannot be cleaned up.
#[derive(Debug, thiserror::Error)]
pub enum NotAlone {
    /// Somebody uses it.
    #[error("a devgate runs with it, or cleans it up; end it first")]
    Used,
    /// It cannot be seen whether anybody does.
    #[error("it cannot be seen whether a devgate uses it: {0}")]
    Unknown(#[from] io::Error),
}

impl Hold {
    /// A host's; the directory is made if it is not there, for its owner alone. Another one may have its own: in a rolling update
    /// that goes too fast, or where two are installed. Blocks while somebody cleans up, as long as `goes_on` is true, which is asked
    /// before each further look; nothing if it is not.
    ///
    /// # Errors
    /// Where the directory or the lock's file cannot be made or locked.
    pub fn of_host(dir: &Path, mut goes_on: impl FnMut() -> bool) -> io::Result<Option<Self>> {
        let path = dir.join(FILE);
        let mut alone = true;
        loop {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            match lock::open(&path, true) {
                Ok(file) => {
                    alone &= locked(file.try_lock())?;
                    // Whoever comes now sees that it is in use, as one lock or as the other. Whoever cleaned up meanwhile has removed it.
                    if locked(file.try_lock_shared())? && lock::is_at(&file, &path) {
                        return Ok(Some(Self { _locked: file, alone }));
                    }
                }
                // Or the directory.
                Err(error) if error.kind() == io::ErrorKind::NotFound => alone = false,
                Err(error) => return Err(error),
            }
            if !goes_on() {
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// That of somebody who removes what is there, which no host must use meanwhile. Nothing where no host ever used it, unless the lock
    /// is to be made then.
    ///
    /// # Errors
    /// Where somebody uses it, or that cannot be seen.
    pub fn of_cleanup(dir: &Path, make: bool) -> Result<Option<Self>, NotAlone> {
        let path = dir.join(FILE);
        let file = match lock::open(&path, make) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // One that is not there any more was somebody's who was quicker.
        if !locked(file.try_lock())? || !lock::is_at(&file, &path) {
            return Err(NotAlone::Used);
        }
        Ok(Some(Self {
            _locked: file,
            alone: true,
        }))
    }

    /// Whether nobody else used the directory when this began.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.alone
    }
}

/// Whether it is locked now, and not by somebody else.
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

    fn host(dir: &Path) -> Hold {
        Hold::of_host(dir, || false).unwrap().unwrap()
    }

    fn is_used(dir: &Path) -> bool {
        matches!(Hold::of_cleanup(dir, true), Err(NotAlone::Used))
    }

    #[test]
    fn hosts_see_each_other_and_nobody_cleans_up_under_them() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            Hold::of_cleanup(dir.path(), false).unwrap().is_none(),
            "nobody was ever there"
        );
        let first = host(dir.path());
        assert!(first.is_alone());
        let second = host(dir.path());
        assert!(!second.is_alone());
        drop(first);
        assert!(is_used(dir.path()), "the second goes on");
        drop(second);
        let cleanup = Hold::of_cleanup(dir.path(), false).unwrap().unwrap();
        assert!(is_used(dir.path()), "and so does another cleanup");
        drop(cleanup);
        assert!(host(dir.path()).is_alone());
    }

    #[test]
    fn a_host_waits_for_whoever_cleans_up() {
        let dir = tempfile::tempdir().unwrap();
        let cleanup = Hold::of_cleanup(dir.path(), true).unwrap().unwrap();
        assert!(
            Hold::of_host(dir.path(), || false).unwrap().is_none(),
            "unless it is told to stop"
        );
        let place = dir.path().to_owned();
        let (waits, seen) = mpsc::channel();
        let host = std::thread::spawn(move || Hold::of_host(&place, || waits.send(()).is_ok()).unwrap().unwrap());
        seen.recv().unwrap();
        // The host makes its file again while it waits.
        while let Err(error) = std::fs::remove_dir_all(dir.path()) {
            assert_eq!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty);
        }
        drop(cleanup);
        assert!(!host.join().unwrap().is_alone());
        assert!(dir.path().join(FILE).exists(), "it has its own, of what is there now");
    }

    #[test]
    fn what_is_no_file_tells_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(FILE)).unwrap();
        Hold::of_host(dir.path(), || false).unwrap_err();
        assert!(matches!(Hold::of_cleanup(dir.path(), false), Err(NotAlone::Unknown(_))));
    }
}
