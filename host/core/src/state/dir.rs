//! A directory that is opened once, and files that are replaced in it as a whole.
//!
//! A name may be anything by the time that it is used: a link, a pipe, another user's file. So nothing is followed, what is
//! written first has a name that nothing had before, and a directory in which others could rename things is not used at all.

use devgate_types::{Mutex, escape};
use rustix::fs::{AtFlags, FsWord, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Before and after the number of what is written first.
const BEFORE: &str = ".devgate-";
const AFTER: &str = ".new";
/// Names that are tried before it is given up.
const TRIES: usize = 1_024;
/// The number of the next file that is written.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Whether a name is one of what is written first, and of nothing else.
pub(crate) fn is_temporary(name: &str) -> bool {
    let number = name.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(AFTER));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    mode: u32,
    durable: bool,
}

impl Style {
    /// For its owner alone; on the disk when it has been written.
    pub const KEPT: Self = Self { mode: 0o600, durable: true };
    /// For everybody to read; on the disk when it has been written.
    pub const SHOWN: Self = Self { mode: 0o644, durable: true };
    /// For its owner alone, and passing as the next one.
    pub const PASSING_OWN: Self = Self { mode: 0o600, durable: false };
    /// For everybody to read; a restart of the node may take it, so that nothing is forced to the disk.
    pub const PASSING: Self = Self { mode: 0o644, durable: false };
}

/// A directory that only root and this user can write in. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Dir(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    fd: OwnedFd,
    path: PathBuf,
    unsaved: Unsaved,
}

/// What could not be written the last time that it was tried, by its path, and why; of a directory and those beneath it together.
type Unsaved = Arc<Mutex<BTreeMap<PathBuf, String>>>;

impl Dir {
    /// Opens a directory, which is made for its owner alone where it is not there, and removes what was not finished there. Fails where it
    /// cannot be made, opened or written in; where it is another user's, or others can write in it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let dir = Self::of(rustix::fs::open(path, AS_DIR, Mode::empty())?, path, Unsaved::default())?;
        dir.tidy()?;
        dir.is_writable()?;
        Ok(dir)
    }

    /// Opens a directory to look at what is in it; nothing where it is not there. Fails where it cannot be opened; where it is another
    /// user's, or others can write in it.
    pub fn look(path: &Path) -> io::Result<Option<Self>> {
        match rustix::fs::open(path, AS_DIR, Mode::empty()) {
            Ok(fd) => Self::of(fd, path, Unsaved::default()).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens one in this directory, in which others may be writing; nothing where it is not there and is not to be made.
    pub(crate) fn inner(&self, name: &str, make: bool) -> io::Result<Option<Self>> {
        let path = self.0.path.join(name);
        if make
            && let Err(error) = rustix::fs::mkdirat(&self.0.fd, name, Mode::from_raw_mode(0o700))
            && error != Errno::EXIST
        {
            return Err(named(name, error.into()));
        }
        let fd = match rustix::fs::openat(&self.0.fd, name, AS_DIR | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::NOENT) if !make => return Ok(None),
            opened => opened.map_err(|error| named(name, error.into()))?,
        };
        let inner = Self::of(fd, &path, Arc::clone(&self.0.unsaved));
        inner.map(Some).map_err(|error| named(name, error))
    }

    fn of(fd: OwnedFd, path: &Path, unsaved: Unsaved) -> io::Result<Self> {
        let look = rustix::fs::fstat(&fd)?;
        if let Some(problem) = problem(&look) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
        }
        Ok(Self(Arc::new(Opened { fd, path: path.to_owned(), unsaved })))
    }

    /// What could not be written here or beneath it the last time that it was tried, with the reason: text for people.
    pub(crate) fn unsaved(&self) -> Vec<String> {
        self.0.unsaved.lock().values().cloned().collect()
    }

    /// Keeps in mind whether something could be written, and why not.
    pub(crate) fn notes(&self, name: &str, problem: Option<&io::Error>) {
        let path = self.0.path.join(name);
        match problem {
            None => drop(self.0.unsaved.lock().remove(&path)),
            Some(error) => {
                let why = escape(&format!("{} could not be saved: {error}", path.display()), 512);
                self.0.unsaved.lock().insert(path, why);
            }
        }
    }

    /// Its path when it was opened, for people.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Found out now, not when something is to be kept.
    fn is_writable(&self) -> io::Result<()> {
        let (name, _) = create(&self.0.fd, Style::KEPT)?;
        rustix::fs::unlinkat(&self.0.fd, &name, AtFlags::empty())?;
        Ok(())
    }

    /// Removes what a host that was killed had not finished; and what is being written, so only before anything is.
    pub fn tidy(&self) -> io::Result<()> {
        for entry in rustix::fs::Dir::read_from(&self.0.fd)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_str().is_ok_and(is_temporary) {
                match rustix::fs::unlinkat(&self.0.fd, name, AtFlags::empty()) {
                    // A directory is nothing that a host made.
                    Ok(()) | Err(Errno::NOENT | Errno::ISDIR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// What is in a file; nothing where it is not there. Fails where it cannot be read, is a link or no file at all, or has more than
    /// `most` bytes.
    pub(crate) fn read(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.0.fd, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(io::Error::other(format!("{name} is a link; put the file itself there"))),
            Err(error) => return Err(named(name, error.into())),
        };
        let read = || {
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("is no file"));
            }
            let mut bytes = Vec::new();
            (&file).take(most.saturating_add(1)).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > most {
                return Err(io::Error::other(format!("has more than {most} bytes")));
            }
            Ok(bytes)
        };
        read().map(Some).map_err(|error| named(name, error))
    }

    /// Replaces a file as a whole, for its owner alone. Fails where it is not sure to be on the disk; the file is as it was then, but where
    /// only the last step failed.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_as(name, bytes, Style::KEPT)
    }

    /// The same in another style.
    pub(crate) fn write_as(&self, name: &str, bytes: &[u8], style: Style) -> io::Result<()> {
        let written = replace(&self.0.fd, name, bytes, style).and_then(|()| self.is_there());
        self.notes(name, written.as_ref().err());
        written
    }

    /// Fails where the directory was removed: what is written to it is gone with it.
    pub(crate) fn is_there(&self) -> io::Result<()> {
        if rustix::fs::fstat(&self.0.fd)?.st_nlink == 0 {
            return Err(io::Error::other("the directory was removed; restart devgate, which makes it again"));
        }
        Ok(())
    }

    /// The directory itself, whatever its path is by now.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.0.fd
    }

    /// Removes a file, so that it is not there after a crash either.
    pub(crate) fn remove_durably(&self, name: &str) -> io::Result<()> {
        rustix::fs::unlinkat(&self.0.fd, name, AtFlags::empty())?;
        rustix::fs::fsync(&self.0.fd)?;
        Ok(())
    }

    /// Gives a file another name, whatever had that.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        rustix::fs::renameat(&self.0.fd, from, &self.0.fd, to)?;
        rustix::fs::fsync(&self.0.fd)?;
        Ok(())
    }
}

/// What `fstatfs(2)` says of files that are memory.
const TMPFS_MAGIC: FsWord = 0x0102_1994;

/// Whether the next boot takes what is in a directory; not where that is not known.
#[must_use]
pub fn is_passing(dir: &Path) -> bool {
    let opened = rustix::fs::open(dir, AS_DIR, Mode::empty());
    opened.and_then(rustix::fs::fstatfs).is_ok_and(|stat| stat.f_type == TMPFS_MAGIC)
}

const AS_DIR: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Puts a file in place as a whole in a directory that others may have a part in, which is made for everybody to read where it
/// is not there.
pub fn put(file: &Path, bytes: &[u8], style: Style) -> io::Result<()> {
    let (Some(dir), Some(name)) = (file.parent(), file.file_name().and_then(|name| name.to_str())) else {
        return Err(io::Error::other("has no name"));
    };
    DirBuilder::new().recursive(true).mode(0o755).create(dir)?;
    let fd = rustix::fs::open(dir, AS_DIR, Mode::empty())?;
    replace(&fd, name, bytes, style)
}

fn replace(dir: &OwnedFd, name: &str, bytes: &[u8], style: Style) -> io::Result<()> {
    let (new, mut file) = create(dir, style)?;
    let mut fill = || {
        // Whatever the umask is.
        file.set_permissions(Permissions::from_mode(style.mode))?;
        file.write_all(bytes)?;
        // The content must be there before the name is.
        if style.durable {
            file.sync_all()?;
        }
        rustix::fs::renameat(dir, &new, dir, name)?;
        Ok(())
    };
    if let Err(error) = fill() {
        let _ = rustix::fs::unlinkat(dir, &new, AtFlags::empty());
        return Err(error);
    }
    if style.durable {
        rustix::fs::fsync(dir)?;
    }
    Ok(())
}

/// A new file under a name that nothing had: no link is followed, and nothing that is there is written to.
fn create(dir: &OwnedFd, style: Style) -> io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..TRIES {
        let name = format!("{BEFORE}{:x}{AFTER}", NEXT.fetch_add(1, Ordering::Relaxed));
        match rustix::fs::openat(dir, &name, flags, Mode::from_raw_mode(style.mode)) {
            Ok(fd) => return Ok((name, File::from(fd))),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other(format!("{TRIES} names such as {BEFORE}0{AFTER} are taken; remove what has them")))
}

/// Why a directory is not to be trusted, if so.
fn problem(look: &Stat) -> Option<String> {
    let (owner, us) = (look.st_uid, rustix::process::geteuid().as_raw());
    if owner != 0 && owner != us {
        return Some(format!(
            "it is user {owner}'s, who could put anything there; make it root's or this user's (chown {us})"
        ));
    }
    (look.st_mode & 0o022 != 0).then(|| {
        "others than its owner can write there, and could put anything there; take that from them (chmod go-w)"
            .to_owned()
    })
}

fn named(name: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}

#[cfg(test)]
mod tests;
