//! Where components come from.

use devgate_policy::PluginPolicy;
use devgate_types::component::Component;
use std::sync::Arc;

/// Makes a component ready to be called. Implemented over `devgate-sandbox` by the binary; blocks while it compiles.
pub trait Loader: Send + Sync + 'static {
    /// Loads what the policy names. The error says why not, and what to do: complete text for people.
    fn load(&self, policy: &PluginPolicy) -> Result<Arc<dyn Component>, LoadFailure>;

    /// The digest of what would be loaded now, as a component's profile has it; nothing where the policy's own words tell whether it
    /// is another. Blocks. The error says why a component cannot be had, as from [`Loader::load`].
    fn digest(&self, policy: &PluginPolicy) -> Result<Option<[u8; 32]>, LoadFailure>;

    /// What a load that is under way waits for, where that is outside of the node, and how far it is; for people. Does not
    /// block.
    fn progress(&self, _policy: &PluginPolicy) -> Option<String> {
        None
    }

    /// Something that is another number once a load may end otherwise than the last one: a file came, or is another. Cheap enough to be
    /// asked several times a second; may block.
    fn stamp(&self, _policy: &PluginPolicy) -> u64 {
        0
    }
}

/// Why a component was not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub enum LoadFailure {
    /// It asks for more than the policy grants, or is not what the policy names.
    Refused(String),
    /// It is not a component that can run.
    Guest(String),
    /// It could not be read, or the host failed.
    Host(String),
}
