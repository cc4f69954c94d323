//! What is read of a state directory besides allocations, and how a journal is written: what `tests/fuzz` calls, and nothing else.

use crate::component_state::ComponentState;
use crate::device_info::Files;
use crate::health_store::HealthStore;
use crate::state::Dir;
use devgate_types::PluginName;
use std::io;
use std::path::Path;

pub use crate::allocations::fuzz::{Line, journal};

/// Reads the records of a state directory as a host does that starts. What was stored for the plugin of this name. Fails where the
/// directory, or what was stored, cannot be read.
pub fn records(state: &Path, name: &PluginName) -> io::Result<Vec<u8>> {
    let dir = Dir::open(state)?;
    let _store = HealthStore::open(Some(&dir), None);
    let _files = Files::open(&state.join("none"), Some(&dir));
    ComponentState::new(Some(&dir), name).load().map(|bytes| bytes.to_vec())
}
