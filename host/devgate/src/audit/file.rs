//! A file that is put aside when it is full.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The most bytes of a file; what was before is in another one, of which there is one.
const MOST: u64 = 8 << 20;

pub(super) struct Rotating {
    path: PathBuf,
    file: File,
    size: u64,
}

impl Rotating {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        let size = file.metadata()?.len();
        Ok(Self {
            path: path.to_owned(),
            file,
            size,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line, in one write.
    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        let bytes = format!("{line}\n").into_bytes();
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if self.size.saturating_add(length) > MOST && self.size > 0 {
            let mut before = self.path.as_os_str().to_owned();
            before.push(".1");
            std::fs::rename(&self.path, before)?;
            self.file = open(&self.path)?;
            self.size = 0;
        }
        self.file.write_all(&bytes)?;
        self.size = self.size.saturating_add(length);
        Ok(())
    }
}

/// For its owner alone, and never through a link.
fn open(path: &Path) -> io::Result<File> {
    let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    options
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(no_link)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_full_is_put_aside_once_and_nothing_grows_beyond() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        let mut file = Rotating::open(&path).unwrap();
        let line = "x".repeat(1 << 20);
        for _ in 0..30 {
            file.line(&line).unwrap();
        }
        let names = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(names, 2, "the file and the one before it");
        for name in ["audit.log", "audit.log.1"] {
            let size = std::fs::metadata(dir.path().join(name)).unwrap().len();
            assert!((1..=MOST).contains(&size), "{name}: {size}");
        }
    }

    #[test]
    fn what_was_there_is_kept_and_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        Rotating::open(&path).unwrap().line("one").unwrap();
        Rotating::open(&path).unwrap().line("two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Rotating::open(&link).is_err());
    }
}
