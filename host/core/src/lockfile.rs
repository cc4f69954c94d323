//! Files that say by a lock who is alive: it goes with the process, however that ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens a file that is to be locked, and with `make` makes it where it is not there: for its owner alone, as a process that can open a file
/// can lock it. No link is followed.
pub(crate) fn open(path: &Path, make: bool) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(make).mode(0o600);
    let file = options.custom_flags(flags.cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other(format!("{} is no file", path.display())));
    }
    Ok(file)
}

/// Whether what is at a path is this file: it was neither removed nor replaced.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let same = || {
        let (held, there) = (file.metadata().ok()?, std::fs::symlink_metadata(path).ok()?);
        Some((held.dev(), held.ino()) == (there.dev(), there.ino()))
    };
    same() == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn it_is_its_owners_alone_and_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lock");
        assert_eq!(open(&path, false).unwrap_err().kind(), io::ErrorKind::NotFound);
        let file = open(&path, true).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(is_at(&open(&path, false).unwrap(), &path));
        let link = dir.path().join("b.lock");
        symlink(&path, &link).unwrap();
        open(&link, true).unwrap_err();
        open(dir.path(), false).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path));
        std::fs::write(&path, "").unwrap();
        assert!(!is_at(&file, &path));
    }
}
