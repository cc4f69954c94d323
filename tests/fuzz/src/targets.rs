//! The targets, by what writes their input.

pub mod cdi;
pub mod compile;
pub mod journal;
pub mod kubelet;
pub mod load;
pub mod oci;
pub mod policy;
pub mod recording;
pub mod runner;
pub mod state;

use tempfile::TempDir;

/// A directory in memory, where there is one: what is synced there costs nothing.
fn dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}
