//! Files outside the device tree, such as `/proc/driver/acme/version`, by their absolute paths.

use crate::ReadError;
use crate::device::{shown, within};
use crate::node::Node;
use crate::path::below_root;
use crate::tree::{Kind, MAX_READ_BYTES, NOT_FOR_ALL, Readers};

impl Node {
    /// A whole file that everybody may read, at most `most` bytes (and never more than 16 MiB). No link is followed, so the
    /// path as written is the path that is read. Fails as [`Self::attribute`] does; with [`ReadError::Denied`] also where not everybody can
    /// reach it.
    pub fn file(&self, path: &str, most: usize) -> Result<Vec<u8>, ReadError> {
        let most = most.min(MAX_READ_BYTES - 1);
        within(self.file_at(path, 0, most + 1)?, most)
    }

    /// At most `length` bytes (and never more than 16 MiB) of a file from `offset`; fewer only at its end.
    pub fn file_at(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>, ReadError> {
        let relative = below_root(path)?;
        self.all_may_reach(relative)?;
        self.tree().read(relative, offset, length, Readers::World)
    }

    /// The names in a directory that everybody may list, sorted, without those that start with a dot. Fails as [`Self::file`] does; with
    /// [`ReadError::TooLarge`] beyond 262,144 entries.
    pub fn file_entries(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let relative = below_root(path)?;
        self.all_may_reach(relative)?;
        if !self.tree().look(relative)?.all_may_read() {
            return Err(NOT_FOR_ALL);
        }
        Ok(shown(self.tree().list(relative)?))
    }

    /// Whether everybody can go down to what a path names: a file that everybody may read in a directory that is root's
    /// alone is a file for root. The node's root itself is the admin's word.
    fn all_may_reach(&self, relative: &str) -> Result<(), ReadError> {
        for (end, _) in relative.match_indices('/') {
            let directory = relative.get(..end).unwrap_or_default();
            let look = self.tree().look(directory)?;
            // What is no directory is refused in its own words.
            if look.kind == Kind::Directory && !look.all_may_pass() {
                return Err(NOT_FOR_ALL);
            }
        }
        Ok(())
    }
}
