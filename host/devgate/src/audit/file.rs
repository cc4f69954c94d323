//! A file that is put aside when it is full.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The most bytes of a file; what was before is in another one, of which there is one.
const MOST: u64 = 8 << 20;

pub(super) struct Rotating {
    path: PathBuf,
    file: File,
    size: u64,
    /// Whether it may end in the middle of a line: the next one must not go on with that.
    torn: bool,
    /// Whether it has been said that it cannot be put aside.
    said: bool,
}

impl Rotating {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        let size = file.metadata()?.len();
        let mut last = [b'\n'];
        if let Some(at) = size.checked_sub(1) {
            // What cannot be read may end anywhere.
            last = [0];
            let _ = file.read_exact_at(&mut last, at);
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            size,
            torn: last != [b'\n'],
            said: false,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line, in one write.
    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX).saturating_add(2);
        if self.size.saturating_add(length) > MOST && self.size > 0 {
            self.put_aside()?;
        }
        let end_of_last = if self.torn { "\n" } else { "" };
        let bytes = format!("{end_of_last}{line}\n").into_bytes();
        // Of what fails a part may be there.
        self.torn = true;
        self.size = self.size.saturating_add(length);
        self.file.write_all(&bytes)?;
        self.torn = false;
        Ok(())
    }

    /// Where that is not possible, what is in the file is given up: what happens now is worth more than what was, and nothing
    /// grows without end.
    fn put_aside(&mut self) -> io::Result<()> {
        let mut before = self.path.as_os_str().to_owned();
        before.push(".1");
        match std::fs::rename(&self.path, before) {
            Ok(()) => self.file = open(&self.path)?,
            // Somebody else has put it aside, or the last attempt got no further.
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.file = open(&self.path)?,
            Err(error) => {
                if !std::mem::replace(&mut self.said, true) {
                    tracing::error!(
                        family = "host",
                        "audit log {}: cannot be put aside now that it is full: {error}; it begins anew instead, each time",
                        self.path.display()
                    );
                }
                self.file.set_len(0)?;
            }
        }
        (self.size, self.torn) = (0, false);
        Ok(())
    }
}

/// For its owner alone, and never through a link.
fn open(path: &Path) -> io::Result<File> {
    let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    options
        .create(true)
        .read(true)
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
    fn what_cannot_be_put_aside_begins_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        std::fs::create_dir_all(dir.path().join("audit.log.1/in the way")).unwrap();
        let mut file = Rotating::open(&path).unwrap();
        let line = "x".repeat(1 << 20);
        for n in 0..30 {
            file.line(&format!("{n} {line}")).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() as u64 <= MOST && text.lines().last().unwrap().starts_with("29 "));
        // Somebody else's doing, and no reason to stop.
        std::fs::remove_file(&path).unwrap();
        for _ in 0..10 {
            file.line(&line).unwrap();
        }
        assert!(path.exists());
    }

    #[test]
    fn a_line_never_goes_on_with_a_half_written_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        std::fs::write(&path, "{\"half").unwrap();
        let mut file = Rotating::open(&path).unwrap();
        file.line("one").unwrap();
        file.line("two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"half\none\ntwo\n");
        let mut full = Rotating::open(Path::new("/dev/full")).unwrap();
        assert!(!full.torn);
        assert!(full.line("one").is_err());
        assert!(full.torn);
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
