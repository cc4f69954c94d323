//! That the kubelet went and is back: one line each, however many resources notice.

use std::time::Duration;

use devgate_types::{Mutex, ResourceName};
use tokio::time::Instant;

/// What was said of the kubelet last.
#[derive(Debug, Default)]
pub(crate) struct Presence(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    /// Since when it is away, if that was said.
    gone: Option<Instant>,
    /// Whether it was said that it stays away.
    stays: bool,
}

impl Presence {
    /// A resource noticed that the kubelet went, or is not there.
    pub(crate) fn gone(&self, why: &str) {
        let mut said = self.0.lock();
        if said.gone.is_none() {
            said.gone = Some(Instant::now());
            tracing::info!("kubelet: {why}; what is offered is registered as soon as it answers");
        } else {
            tracing::debug!("kubelet: {why}");
        }
    }

    /// An attempt to reach it failed: news only once it has been away for longer than a restart takes.
    pub(crate) fn stays_away(&self, why: &str, restart: Duration) {
        self.gone(why);
        let mut said = self.0.lock();
        if !said.stays && said.gone.is_some_and(|gone| gone.elapsed() >= restart) {
            said.stays = true;
            tracing::warn!(family = "host", "kubelet: stays away, will try again: {why}");
        }
    }

    /// A resource is registered with it.
    pub(crate) fn back(&self, resource: &ResourceName) {
        let said = std::mem::take(&mut *self.0.lock());
        if said.gone.is_some() {
            tracing::info!(%resource, "kubelet: answers; {resource} is registered, and so is what else is offered");
        }
    }
}
