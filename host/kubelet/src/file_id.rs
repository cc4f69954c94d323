//! Which file a name stands for.

use std::os::linux::fs::MetadataExt as _;
use std::path::Path;

/// Which file a name stands for. Inode numbers are used again at once on some file systems, so the time belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl FileId {
    /// The file at `path` now, not followed if it is a link.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::symlink_metadata(path).ok()?;
        Some(Self { device: meta.st_dev(), inode: meta.st_ino(), modified: (meta.st_mtime(), meta.st_mtime_nsec()) })
    }

    /// Whether this is at `path`, whatever its time says: for a file that is held open, whose inode is used by no other.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        Self::of(path).is_some_and(|there| (there.device, there.inode) == (self.device, self.inode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_time_makes_no_other_file_of_one_that_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let file = std::fs::File::create(&path).unwrap();
        let id = FileId::of(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_ne!(FileId::of(&path), Some(id), "it may be another one, for who does not hold it");
        assert!(id.is_at(&path));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(!id.is_at(&path));
    }
}
