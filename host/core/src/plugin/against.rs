//! What speaks against another policy, or another component, of one plugin.

use super::LoadFailure;
use devgate_types::{CallError, PluginName, UnitId};
use std::time::Duration;

/// Why a plugin is not reloaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Against {
    #[error(transparent)]
    Load(#[from] LoadFailure),
    #[error("plugin {name}: {call} {error}")]
    Call {
        name: PluginName,
        call: &'static str,
        error: CallError,
    },
    /// What pods would lose.
    #[error(
        "plugin {name}: device {id}, which a pod may hold, {what}{more}; wait until its pods are gone, or force it"
    )]
    Lost {
        name: String,
        id: UnitId,
        what: &'static str,
        more: String,
    },
    #[error(
        "plugin {name}: is back, and device {id}, which a pod may hold since it was taken out, would not be offered as it was; \
         wait until its pods are gone, or restart devgate"
    )]
    Another { name: PluginName, id: UnitId },
    #[error("plugin {name}: {what} within {patience:?}")]
    Late {
        name: PluginName,
        what: &'static str,
        patience: Duration,
    },
    #[error("plugin {0}: its task has ended")]
    Ended(PluginName),
    #[error("plugin {0}: host fault: an earlier reload still gets, reads or compiles a component of this plugin")]
    Busy(PluginName),
    #[error("plugin {name}: host fault: loading panicked: {panic}")]
    Panicked {
        name: PluginName,
        panic: tokio::task::JoinError,
    },
}
