//! The other side: what a child is, whatever it is called by. Which sandbox is in it, its program says.

pub mod compile;
mod remote;
pub mod run;

use devgate_confine::{Error, Landlock, Network, drop_files};
use std::ffi::OsString;
use std::io;

/// Why a child ends before it has begun.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// People call it, or another version.
    #[error("is devgate's own, and not called by people")]
    NotCalled,
    /// The kernel, or a filter of the container or the service.
    #[error(transparent)]
    Confined(#[from] Error),
    /// What it was handed is not what it needs.
    #[error("{0}")]
    Handed(#[from] io::Error),
    /// An upgrade that is not complete.
    #[error("is of another build than devgate; install all programs of one release")]
    OtherBuild,
    /// What it is told is not in the protocol.
    #[error("{0}")]
    Told(String),
}

/// What a child is called with, after its own name: its parent's number, and two that say what it may use.
pub fn numbers() -> Result<(u32, [u64; 2]), ChildError> {
    let number = |arg: OsString| arg.to_str().and_then(|text| text.parse::<u64>().ok());
    let numbers: Option<Vec<_>> = std::env::args_os().skip(1).map(number).collect();
    match numbers.as_deref() {
        Some([parent, numbers @ ..]) => u32::try_from(*parent).ok().zip(numbers.try_into().ok()),
        _ => None,
    }
    .ok_or(ChildError::NotCalled)
}

/// Gives up files by Landlock, and networks where that is said. Where the kernel lacks it, or a filter around the host forbids it, seccomp
/// holds without, and the host has said so.
pub fn fence(network: Network) -> Result<(), ChildError> {
    match drop_files(network) {
        Ok(Landlock::Enforced { .. } | Landlock::Missing) | Err(Error::Forbidden { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Refuses to work for a host of another build.
pub fn check_build(build: &str) -> Result<(), ChildError> {
    if build == crate::BUILD {
        return Ok(());
    }
    Err(ChildError::OtherBuild)
}

/// Whether this program was called by this name.
#[must_use]
pub fn is_called(name: &str) -> bool {
    std::env::args_os().next().is_some_and(|called| called == name)
}
