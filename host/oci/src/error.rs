//! What can be wrong with getting a component, in the families of the host's errors.

use std::io::Read;
use std::path::Path;

/// Why there is no component. Complete text, the artifact named first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is not what the policy names: other bytes, no component, or not signed by a key that counts.
    #[error("{0}")]
    Refused(String),
    /// It could not be had: the registry, the network or the disk.
    #[error("{0}")]
    Host(String),
}

/// What is wrong with a file that an admin names; its name is said before it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Wrong(String),
}

/// The bytes of a file that an admin names; what is more than `most` is cut.
pub(crate) fn read_file(file: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let opened = std::fs::File::open(file)?;
    if !opened.metadata().is_ok_and(|at| at.is_file()) {
        return Err(FileError::Wrong("is no regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    opened.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
