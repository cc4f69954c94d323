//! What others know of a reload, and how they ask for one.

use devgate_plugin::status::When;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};

/// The policy that is in force, as whoever asks is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InForce {
    /// Since when it is.
    pub(crate) since: When,
    /// Another one that was refused, and is tried again.
    pub(crate) refused: Option<Refused>,
}

/// A policy that is not in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    /// Everything that speaks against it.
    pub(crate) why: String,
    /// Since when it is refused for that.
    pub(crate) since: When,
}

/// Somebody asks for a reload.
pub(crate) struct Asked {
    /// Even where a pod loses a device by it.
    pub(super) forced: bool,
    /// What became of it.
    pub(super) answer: oneshot::Sender<Result<String, String>>,
}

/// The end of a reloader that others hold. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Reloads {
    pub(super) asked: mpsc::Sender<Asked>,
    pub(super) in_force: watch::Receiver<InForce>,
}

impl Reloads {
    /// What is in force now.
    pub(crate) fn in_force(&self) -> InForce {
        self.in_force.borrow().clone()
    }

    /// Asks for a reload and waits for what becomes of it.
    ///
    /// # Errors
    /// Why it was refused, or that the host is stopping.
    pub(crate) async fn ask(&self, forced: bool) -> Result<String, String> {
        let stopping = || "the host is stopping".to_owned();
        let (answer, answered) = oneshot::channel();
        let asked = Asked { forced, answer };
        self.asked.send(asked).await.map_err(|_| stopping())?;
        answered.await.map_err(|_| stopping())?
    }
}
