//! A live node: the kernel's own file systems beneath one directory.

mod open;
#[cfg(test)]
mod tests;

use crate::ReadError;
use crate::tree::{
    IS_DIRECTORY, IS_NO_FILE, IS_NO_LINK, Kind, Look, MAX_ENTRIES, MAX_READ_BYTES, NOT_FOR_ALL, NOT_WRITABLE, Readers,
    Tree,
};
use devgate_types::{NodeKind, NodeNumber};
use rustix::buffer::spare_capacity;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, FsWord, Mode, OFlags, RawDir, Stat, fstat, fstatfs, major, minor, readlinkat, statat};
use rustix::io::{Errno, retry_on_intr};
use std::mem::MaybeUninit;

/// What `statfs(2)` says of the kernel's device tree.
const SYSFS_MAGIC: FsWord = 0x6265_6572;

/// A directory, outside of which nothing is opened.
pub(crate) struct Live {
    directory: OwnedFd,
    openat2: bool,
}

impl Live {
    /// Opens for reading without ever waiting: without O_NONBLOCK, a FIFO that was put there would hold the thread.
    pub(crate) fn open_to_read(&self, path: &str) -> Result<OwnedFd, Errno> {
        self.open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
    }

    /// Whether the device tree is the running kernel's own: what that kernel tells is about it then.
    pub(crate) fn is_this_kernel(&self) -> bool {
        let is_sysfs = |path: &&str| {
            let opened = self.open(path, OFlags::PATH | OFlags::DIRECTORY);
            opened.and_then(fstatfs).is_ok_and(|stat| stat.f_type == SYSFS_MAGIC)
        };
        ["sys/devices", "sys/class"].iter().any(is_sysfs)
    }

    fn directory(&self, path: &str) -> Result<OwnedFd, ReadError> {
        Ok(self.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?)
    }

    /// Calls `visit` with each entry's name and type until it fails.
    fn visit(
        directory: &OwnedFd,
        mut visit: impl FnMut(&str, FileType) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(directory, &mut buffer);
        let mut seen = 0;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            // A device's name is ASCII; what is not text cannot be asked for and is not there.
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name == "." || name == ".." {
                continue;
            }
            seen += 1;
            if seen > MAX_ENTRIES {
                return Err(ReadError::TooLarge { most: MAX_ENTRIES });
            }
            visit(name, entry.file_type())?;
        }
        Ok(())
    }
}

impl Tree for Live {
    fn read(&self, path: &str, offset: u64, length: usize, readers: Readers) -> Result<Vec<u8>, ReadError> {
        let file = self.open_to_read(path)?;
        let stat = fstat(&file)?;
        match kind(&stat) {
            Kind::File => {}
            Kind::Directory => return Err(IS_DIRECTORY),
            _ => return Err(IS_NO_FILE),
        }
        if readers == Readers::World && !Mode::from_raw_mode(stat.st_mode).contains(Mode::ROTH) {
            return Err(NOT_FOR_ALL);
        }
        read_from(&file, offset, length.min(MAX_READ_BYTES))
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Kind)>, ReadError> {
        let directory = self.directory(path)?;
        let mut found = Vec::new();
        Self::visit(&directory, |name, file_type| {
            let kind = match file_type {
                FileType::Directory => Kind::Directory,
                FileType::RegularFile => Kind::File,
                FileType::Symlink => Kind::Link,
                FileType::Socket => Kind::Socket,
                FileType::Fifo => Kind::Other,
                // Nodes need their number, and some file systems do not say the type at all.
                _ => match statat(&directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => kind(&stat),
                    Err(Errno::NOENT) => return Ok(()),
                    Err(error) => return Err(error.into()),
                },
            };
            found.push((name.to_owned(), kind));
            Ok(())
        })?;
        Ok(found)
    }

    fn link(&self, path: &str) -> Result<String, ReadError> {
        // With O_PATH and O_NOFOLLOW this opens the link itself, and still none on the way.
        let link = self.open(path, OFlags::PATH)?;
        match readlinkat(&link, "", Vec::new()) {
            Ok(text) => text.into_string().map_err(|_| ReadError::Invalid("a link that is not text")),
            // The kernel says ENOENT of an empty path that is not a link; older ones EINVAL.
            Err(Errno::NOENT | Errno::INVAL) => Err(IS_NO_LINK),
            Err(error) => Err(error.into()),
        }
    }

    fn links(&self, path: &str) -> Result<Vec<(String, String)>, ReadError> {
        let directory = self.directory(path)?;
        let mut found = Vec::new();
        Self::visit(&directory, |name, file_type| {
            if matches!(file_type, FileType::Symlink | FileType::Unknown) {
                // Gone since it was listed, not a link, or not text: not a device either.
                if let Ok(Ok(text)) = readlinkat(&directory, name, Vec::new()).map(std::ffi::CString::into_string) {
                    found.push((name.to_owned(), text));
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn look(&self, path: &str) -> Result<Look, ReadError> {
        let at = self.open(path, OFlags::PATH)?;
        let stat = fstat(&at)?;
        Ok(Look { kind: kind(&stat), uid: stat.st_uid, mode: stat.st_mode & 0o7777 })
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), ReadError> {
        // Neither O_CREAT nor O_TRUNC: what is not there stays away, and a file that is none of the kernel's loses nothing.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.open(path, flags).map_err(|errno| match errno {
            Errno::ACCESS | Errno::PERM => NOT_WRITABLE,
            // A FIFO without a reader.
            Errno::NXIO => IS_NO_FILE,
            Errno::ISDIR => IS_DIRECTORY,
            errno => errno.into(),
        })?;
        match kind(&fstat(&file)?) {
            Kind::File => {}
            _ => return Err(IS_NO_FILE),
        }
        // Not again after EINTR: to the kernel each write is an order of its own.
        match rustix::io::write(&file, bytes) {
            Ok(count) if count == bytes.len() => Ok(()),
            Ok(_) => Err(ReadError::Io { code: "".into(), text: "the kernel took only a part of it".to_owned() }),
            Err(Errno::ACCESS | Errno::PERM) => Err(NOT_WRITABLE),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// At most `length` bytes from `offset`.
fn read_from(file: impl AsFd, offset: u64, length: usize) -> Result<Vec<u8>, ReadError> {
    if offset.checked_add(length as u64).is_none_or(|end| i64::try_from(end).is_err()) {
        return Err(ReadError::Invalid("offset is beyond what a file can have"));
    }
    let mut bytes: Vec<u8> = Vec::new();
    while bytes.len() < length {
        let at = bytes.len();
        // One page holds any text attribute; only what fills it is read on in larger steps.
        bytes.reserve_exact((length - at).min(if at == 0 { 4097 } else { 1 << 16 }));
        // What can be read but not sought (some files of /proc) is read from where it stands.
        let count = if offset == 0 {
            retry_on_intr(|| rustix::io::read(&file, spare_capacity(&mut bytes)))?
        } else {
            retry_on_intr(|| rustix::io::pread(&file, spare_capacity(&mut bytes), offset + at as u64))?
        };
        if count == 0 {
            break;
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

fn kind(stat: &Stat) -> Kind {
    let number = |kind| NodeNumber { kind, major: major(stat.st_rdev), minor: minor(stat.st_rdev) };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Kind::Directory,
        FileType::RegularFile => Kind::File,
        FileType::Symlink => Kind::Link,
        FileType::CharacterDevice => Kind::Node(number(NodeKind::Character)),
        FileType::BlockDevice => Kind::Node(number(NodeKind::Block)),
        FileType::Socket => Kind::Socket,
        _ => Kind::Other,
    }
}
