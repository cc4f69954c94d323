//! Files outside the device tree, such as `/proc/driver/nvidia/version`, by their absolute paths.

use crate::ReadError;
use crate::node::Node;
use crate::path::problem;
use crate::tree::{MOST_READ_BYTES, Readers};

impl Node {
    /// A whole file, at most `most` bytes (and never more than 16 MiB). No link is followed, so the path as written is
    /// the path that is read.
    ///
    /// # Errors
    /// As [`Self::attribute`].
    pub fn file(&self, path: &str, most: usize) -> Result<Vec<u8>, ReadError> {
        let most = most.min(MOST_READ_BYTES - 1);
        let bytes = self.file_at(path, 0, most + 1)?;
        if bytes.len() > most {
            Err(ReadError::TooLarge { most })
        } else {
            Ok(bytes)
        }
    }

    /// At most `length` bytes (and never more than 16 MiB) of a file from `offset`; fewer only at its end.
    ///
    /// # Errors
    /// As [`Self::attribute`].
    pub fn file_at(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>, ReadError> {
        self.tree().read(relative(path)?, offset, length, Readers::World)
    }

    /// The names in a directory, sorted, without those that start with a dot.
    ///
    /// # Errors
    /// As [`Self::entries`].
    pub fn file_entries(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let listed = self.tree().list(relative(path)?)?;
        let mut names: Vec<_> = listed
            .into_iter()
            .map(|(name, _)| name)
            .filter(|n| !n.starts_with('.'))
            .collect();
        names.sort_unstable();
        Ok(names)
    }
}

/// A plain absolute path below the node's root.
fn relative(path: &str) -> Result<&str, ReadError> {
    let relative = path
        .strip_prefix('/')
        .ok_or(ReadError::Invalid("path must be absolute"))?;
    match problem(relative) {
        Some(problem) => Err(ReadError::Invalid(problem)),
        None => Ok(relative),
    }
}
