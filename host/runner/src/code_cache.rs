//! Machine code that was made before, in a directory that no other user can write in: who can runs in the host.

use crate::BUILD;
use devgate_types::Digest;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// What all of it may take together. What was used least recently goes.
const MAX_TOTAL: u64 = 256 << 20;
/// What a file's name ends with.
const ENDING: &str = ".code";
/// What is not finished is called as in all of the state directory (docs/operate.md): a number between these.
const UNFINISHED: (&str, &str) = (".devgate-", ".new");
/// For how many seconds another process may still be at it.
const UNFINISHED_FOR: i64 = 3600;

/// Why nothing is kept: the directory, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("directory {0}: {1}")]
pub struct NotCached(String, String);

/// A directory of machine code.
#[derive(Debug)]
pub struct CodeCache {
    dir: OwnedFd,
    path: PathBuf,
    most: u64,
    /// Whether another process counts on what it keeps there, so that nothing of it may be removed.
    is_of_another: AtomicBool,
}

impl CodeCache {
    /// Opens a directory, which is made where it is not there, and removes what was not finished in it.
    ///
    /// # Errors
    /// Where it cannot be opened or made, and where others than this user could write there.
    pub fn open(path: &Path) -> Result<Self, NotCached> {
        let kept = Self::beside(path)?;
        kept.own();
        Ok(kept)
    }

    /// Has it for this process alone from now on: what others did not finish is removed.
    pub(crate) fn own(&self) {
        self.is_of_another.store(false, Ordering::Relaxed);
        for entry in self.list().unwrap_or_default() {
            if is_unfinished(&entry.name) {
                self.remove(&entry.name);
            }
        }
    }

    /// The same for all processes of a user, each for a moment: what was used least recently goes, and what another one has not finished
    /// stays.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn among(path: &Path) -> Result<Self, NotCached> {
        let kept = Self::beside(path)?;
        kept.is_of_another.store(false, Ordering::Relaxed);
        Ok(kept)
    }

    /// The same beside another process that has it: code is added, and nothing removed.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn beside(path: &Path) -> Result<Self, NotCached> {
        let shown = path.display().to_string();
        let disk = |error: rustix::io::Errno| NotCached(shown.clone(), io::Error::from(error).to_string());
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Err(rustix::io::Errno::EXIST) | Ok(()) => {}
            Err(error) => return Err(disk(error)),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(disk)?;
        let look = rustix::fs::fstat(&dir).map_err(disk)?;
        if let Some(why) = foreign(&look) {
            // Who can write there runs in the host.
            return Err(NotCached(shown, format!("{why}; only who devgate runs as may write there")));
        }
        Ok(Self { dir, path: path.to_owned(), most: MAX_TOTAL, is_of_another: AtomicBool::new(true) })
    }

    /// The code that this build made of this component, whole as it was written. `None` if there is none.
    pub(crate) fn read(&self, component: &[u8; 32]) -> Option<Vec<u8>> {
        let name = name(component);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.dir, &name, flags, Mode::empty()).ok()?;
        let look = rustix::fs::fstat(&file).ok()?;
        let is_file = FileType::from_raw_mode(look.st_mode) == FileType::RegularFile;
        if !is_file || foreign(&look).is_some() || u64::try_from(look.st_size).ok()? > self.most {
            return None;
        }
        let (mut digest, mut code) = ([0; 32], Vec::new());
        let mut file = File::from(file);
        file.read_exact(&mut digest).ok()?;
        file.take(self.most).read_to_end(&mut code).ok()?;
        if sum(&name, &code) != digest {
            tracing::warn!(
                family = "host",
                "machine code {}: is not as it was written, and is made anew",
                self.path.join(&name).display()
            );
            return None;
        }
        let times = Timestamps { last_access: time(UTIME_OMIT), last_modification: time(UTIME_NOW) };
        let _ = rustix::fs::utimensat(&self.dir, &name, &times, AtFlags::SYMLINK_NOFOLLOW);
        Some(code)
    }

    /// Keeps code, and lets go what was used least recently where there is too much.
    ///
    /// # Errors
    /// Where it cannot be written; nothing is left of it then.
    pub(crate) fn write(&self, component: &[u8; 32], code: &[u8]) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if u64::try_from(code.len()).unwrap_or(u64::MAX) > self.most / 2 {
            return Ok(());
        }
        let name = name(component);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // In two pods both are process 1.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let number = (u64::from(std::process::id()) << 32) ^ u64::try_from(since.as_nanos()).unwrap_or(number) ^ number;
        let new = format!("{}{number:x}{}", UNFINISHED.0, UNFINISHED.1);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.dir, &new, flags, Mode::RUSR | Mode::WUSR)?);
        let mut write = || -> io::Result<()> {
            file.write_all(&sum(&name, code))?;
            file.write_all(code)?;
            Ok(rustix::fs::renameat(&self.dir, &new, &self.dir, &name)?)
        };
        let written = write();
        if written.is_err() {
            self.remove(&new);
        }
        written?;
        self.evict(&name);
        Ok(())
    }

    /// What is used in the future, by a clock that was set back, is the oldest.
    fn evict(&self, but: &str) {
        if self.is_of_another.load(Ordering::Relaxed) {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = (i64::try_from(now.as_secs()).unwrap_or(i64::MAX), i64::MAX);
        let is_over = |entry: &Entry| entry.name.ends_with(ENDING) || entry.used.0 < now.0 - UNFINISHED_FOR;
        let mut all = self.list().unwrap_or_default();
        all.sort_by_key(|entry| (entry.name == but, entry.used <= now, entry.used));
        let mut sum = 0_u64;
        for entry in all.into_iter().rev() {
            sum = sum.saturating_add(entry.size);
            if sum > self.most && is_over(&entry) {
                self.remove(&entry.name);
            }
        }
    }

    /// What is left is tried again with the next one that is written.
    fn remove(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
    }

    fn list(&self) -> io::Result<Vec<Entry>> {
        let mut all = Vec::new();
        for entry in Dir::read_from(&self.dir)? {
            let Ok(name) = entry?.file_name().to_owned().into_string() else {
                continue;
            };
            let Ok(look) = rustix::fs::statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            if name.ends_with(ENDING) || is_unfinished(&name) {
                all.push(Entry {
                    name,
                    size: u64::try_from(look.st_size).unwrap_or_default(),
                    used: (look.st_mtime, i64::try_from(look.st_mtime_nsec).unwrap_or_default()),
                });
            }
        }
        Ok(all)
    }
}

/// A file of the directory.
struct Entry {
    name: String,
    size: u64,
    /// When it was read or written, in seconds and nanoseconds.
    used: (i64, i64),
}

fn is_unfinished(name: &str) -> bool {
    name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1)
}

/// Of code and of whose it is.
fn sum(name: &str, code: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(name).chain_update(code).finalize().into()
}

fn name(component: &[u8; 32]) -> String {
    format!("{}-{BUILD}{ENDING}", Digest(*component).hex())
}

fn time(nanoseconds: impl Into<i64>) -> Timespec {
    Timespec { tv_sec: 0, tv_nsec: nanoseconds.into() }
}

/// Whether others could have put something there, and who.
fn foreign(look: &rustix::fs::Stat) -> Option<String> {
    let us = rustix::process::geteuid().as_raw();
    if look.st_uid != us {
        return Some(format!("it is user {}'s", look.st_uid));
    }
    let others = look.st_mode & 0o022 != 0;
    others.then(|| "others than its owner can write there".to_owned())
}

#[cfg(test)]
mod tests;
