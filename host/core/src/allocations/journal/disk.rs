//! What a journal asks of the disk, so that a test can be a worse one than any.

use crate::state::Dir;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};

/// A directory of files that are written from their beginning to their end.
pub(crate) trait Disk: Send + Sync {
    /// The names of the files in it.
    fn names(&self) -> io::Result<Vec<String>>;
    /// What is in one; nothing where it is not there.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>>;
    /// Makes a file of zeroes, for its owner alone; whatever had that name is gone.
    fn create(&self, name: &str, zeroes: u64) -> io::Result<Box<dyn DiskFile>>;
    /// Gives one another name, whatever had that.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes one; one that is not there is no error.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Returns when the names are on the disk. Fails also where the directory was removed: what is in it is gone with it.
    fn sync_names(&self) -> io::Result<()>;
}

/// A file that is open to be written.
pub(crate) trait DiskFile: Send {
    /// Writes all of it.
    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Returns when what was written is on the disk. Fails also where the file or its directory was removed. Nothing that was written since
    /// the last time is to be trusted then.
    fn sync(&self) -> io::Result<()>;
}

/// The largest file: some 500 bytes for each id.
const MAX_BYTES: u64 = 256 << 20;

impl Disk for Dir {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(self.fd())? {
            names.extend(entry?.file_name().to_str().map(str::to_owned));
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Self::read(self, name, MAX_BYTES)
    }

    fn create(&self, name: &str, zeroes: u64) -> io::Result<Box<dyn DiskFile>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.remove(name)?;
        let file = File::from(rustix::fs::openat(self.fd(), name, flags, Mode::from_raw_mode(0o600))?);
        // Whatever the umask is.
        file.set_permissions(Permissions::from_mode(0o600))?;
        // Zeroes that are written have their place on the disk: to write over them asks nothing more of it.
        file.write_all_at(&vec![0; usize::try_from(zeroes).unwrap_or_default()], 0)?;
        Ok(Box::new(Opened { file, dir: self.clone() }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        rustix::fs::renameat(self.fd(), from, self.fd(), to)?;
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(self.fd(), name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn sync_names(&self) -> io::Result<()> {
        rustix::fs::fsync(self.fd())?;
        self.is_there()
    }
}

/// A file of a directory.
struct Opened {
    file: File,
    dir: Dir,
}

impl DiskFile for Opened {
    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()?;
        // A name that was taken away leaves nothing behind for the next host.
        if rustix::fs::fstat(&self.file)?.st_nlink == 0 {
            return Err(io::Error::other("the file was removed while it was written"));
        }
        self.dir.is_there()
    }
}
