//! What others know of a reload, and how they ask for one.

use devgate_core::Fewer;
use devgate_core::status::{PluginStatus, ResourceStatus, When};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// The policy that is in force, as `devgate reload` is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InForce {
    /// Since when it is.
    pub(crate) since: When,
    /// Another one that was refused, and is tried again.
    pub(crate) refused: Option<Refused>,
    /// The resources that had more devices before it was put in force, until they have as many again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) fewer: Vec<Fewer>,
}

impl InForce {
    /// One that nothing is said about yet.
    pub(crate) fn new(since: When) -> Self {
        Self { since, ..Self::default() }
    }

    /// The same with what there is fewer of as it is now, and without what there is as much of as before.
    pub(crate) fn with(mut self, plugins: &[PluginStatus]) -> Self {
        self.fewer.retain_mut(|fewer| {
            let resources = plugins.iter().flat_map(|plugin| &plugin.resources);
            let same = resources.filter(|resource| resource.name == fewer.resource);
            // One that is there for its pod alone is none that others could get.
            let listed = |resource: &ResourceStatus| resource.devices.iter().filter(|device| !device.unlisted).count();
            fewer.now = same.map(listed).sum();
            fewer.now < fewer.before
        });
        self
    }
}

/// A policy that is not in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    /// Everything that speaks against it.
    pub(crate) why: String,
    /// Since when it is refused for that.
    pub(crate) since: When,
}

/// Why nothing was reloaded, for the client that asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReloaded {
    /// Everything that speaks against the policy.
    #[error("{0}")]
    Refused(String),
    /// The host does not serve yet; with what it waits for.
    #[error("{0}")]
    Waits(Arc<str>),
    /// It ends.
    #[error("the host is stopping")]
    Stopping,
}

/// A client asks for a reload.
pub(crate) struct Asked {
    /// Even where a pod loses a device by it.
    pub(super) forced: bool,
    /// What became of it.
    pub(super) answer: oneshot::Sender<Result<String, NotReloaded>>,
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

    /// Asks for a reload and waits for what becomes of it. Fails with why it was refused, or that the host is stopping.
    pub(crate) async fn ask(&self, forced: bool) -> Result<String, NotReloaded> {
        let (answer, answered) = oneshot::channel();
        // Where the reloader is gone, so is its end of the answer.
        let _ = self.asked.send(Asked { forced, answer }).await;
        answered.await.unwrap_or(Err(NotReloaded::Stopping))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitoring::tests::one;

    #[test]
    fn what_is_back_is_not_told_any_more() {
        let plugins = one().plugins;
        let in_force = |before| InForce {
            since: When::now(),
            refused: None,
            fewer: vec![Fewer { resource: "devgate.dev/fuse".into(), before, now: 0, look: "check".into() }],
        };
        let told = |before, plugins| in_force(before).with(plugins).fewer.first().map(ToString::to_string);
        assert_eq!(told(8, &plugins).unwrap(), "resource devgate.dev/fuse: 8 devices before, 2 now (check)");
        assert_eq!(told(2, &plugins), None);
        let mut held = plugins.clone();
        held[0].resources[0].devices[0].unlisted = true;
        assert_eq!(
            told(2, &held).unwrap(),
            "resource devgate.dev/fuse: 2 devices before, 1 now (check)",
            "what only its pod has"
        );
        assert_eq!(told(2, &[]).unwrap(), "resource devgate.dev/fuse: 2 devices before, none now (check)");
    }
}
