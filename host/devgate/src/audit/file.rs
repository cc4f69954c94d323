//! A file that is only ever added to, and opened anew once it has been moved away.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The most bytes of it: a file that nothing moves away must not fill the node's disk.
const MAX_SIZE: u64 = 256 << 20;

pub(super) struct AppendOnly {
    path: PathBuf,
    file: File,
    size: u64,
    /// Whether it may end in the middle of a line: the next one must not go on with that.
    torn: bool,
}

impl AppendOnly {
    /// Opens or makes it: for its owner alone, and never through a link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true);
        let file = options.mode(0o600).custom_flags(no_link).open(path)?;
        let size = file.metadata()?.len();
        let mut last = [b'\n'];
        if let Some(at) = size.checked_sub(1) {
            // What cannot be read may end anywhere.
            last = [0];
            let _ = file.read_exact_at(&mut last, at);
        }
        Ok(Self { path: path.to_owned(), file, size, torn: last != [b'\n'] })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Goes on in the file that is at its path now; where that cannot be opened, in the one before.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        *self = Self::open(&self.path)?;
        Ok(())
    }

    /// Adds a line, in one write.
    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX).saturating_add(2);
        let size = self.size.saturating_add(length);
        if size > MAX_SIZE {
            let why = "it is full at 256MiB; move it away and send devgate SIGHUP, as logrotate does (docs/operate.md)";
            return Err(io::Error::new(ErrorKind::FileTooLarge, why));
        }
        let end_of_last = if self.torn { "\n" } else { "" };
        // Of what fails a part may be there.
        (self.size, self.torn) = (size, true);
        self.file.write_all(format!("{end_of_last}{line}\n").as_bytes())?;
        self.torn = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_full_grows_no_further_until_it_is_moved_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        let mut file = AppendOnly::open(&path).unwrap();
        file.line("one").unwrap();
        file.file.set_len(MAX_SIZE - 8).unwrap();
        file.reopen().unwrap();
        file.line("two").unwrap();
        let full = file.line("three").unwrap_err().to_string();
        assert!(full.contains("send devgate SIGHUP"), "{full}");
        let size = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert!(size(&path) <= MAX_SIZE);
        std::fs::rename(&path, dir.path().join("audit.log.1")).unwrap();
        assert!(file.line("three").is_err(), "it is not known yet that it was moved");
        file.reopen().unwrap();
        file.line("three").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
    }

    #[test]
    fn what_cannot_be_opened_anew_goes_on_where_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let (path, moved) = (dir.path().join("audit.log"), dir.path().join("audit.log.1"));
        let mut file = AppendOnly::open(&path).unwrap();
        file.line("one").unwrap();
        std::fs::rename(&path, &moved).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(file.reopen().is_err());
        file.line("two").unwrap();
        assert_eq!(std::fs::read_to_string(&moved).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_line_never_goes_on_with_a_half_written_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        std::fs::write(&path, "{\"half").unwrap();
        let mut file = AppendOnly::open(&path).unwrap();
        file.line("one").unwrap();
        file.line("two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"half\none\ntwo\n");
        let mut full = AppendOnly::open(Path::new("/dev/full")).unwrap();
        assert!(!full.torn);
        assert!(full.line("one").is_err());
        assert!(full.torn);
    }

    #[test]
    fn what_was_there_is_kept_and_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        AppendOnly::open(&path).unwrap().line("one").unwrap();
        AppendOnly::open(&path).unwrap().line("two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(AppendOnly::open(&link).is_err());
    }
}
