//! What speaks against another policy, or another component, of one plugin.

use crate::loader::LoadFailure;

/// Why a plugin is not reloaded; complete text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Against(pub(crate) String);

impl From<LoadFailure> for Against {
    fn from(failure: LoadFailure) -> Self {
        Self(failure.to_string())
    }
}
