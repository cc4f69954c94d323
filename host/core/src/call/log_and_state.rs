//! The part of a call's capabilities that outlasts it: the kernel's log, and the state that survives restarts.

use super::CallHost;
use crate::component_state::{MAX_BYTES, NotStored};
use devgate_types::component::{Answered, CallKind};
use devgate_types::{Again, Failure, FailureKind};
use std::sync::Arc;
use std::time::Instant;

impl CallHost {
    /// Its calls may come to nothing: what is stored in them is a copy's.
    pub(crate) fn on_trial(&mut self) {
        self.services = Arc::new(self.services.on_trial(&self.grants.policy));
    }

    pub(super) fn store_state(&mut self, bytes: &[u8]) -> Answered<()> {
        // Of these calls one is under way at a time: see `ComponentState::write_turn`.
        if !matches!(self.kind, CallKind::Enumerate | CallKind::Health | CallKind::Release) {
            let message = format!("state: stored in enumerate, health and release only, not in {}", self.moment());
            return Err(Failure::new(FailureKind::Unsupported, message).into());
        }
        let stored = self.services.component_state.store(&self.given_up, bytes);
        stored.map_err(|why| match why {
            NotStored::TooLarge => {
                let message = format!("state: {} bytes; at most {MAX_BYTES} are stored", bytes.len());
                Failure::new(FailureKind::Limit, message).into()
            }
            NotStored::Late => {
                let message = "state: this call has taken too long, and is not waited for any more";
                Failure::new(FailureKind::Busy, message).into()
            }
            NotStored::Disk(error) => self.disk_failed("stored", &error).into(),
        })
    }

    /// The admin is told what the disk says, the component only that.
    pub(super) fn disk_failed(&self, what: &str, error: &std::io::Error) -> Failure {
        let plugin = self.grants.policy.name.as_str();
        let line = format!(
            "plugin {plugin}: its state could not be {what}: {error}; look at the state directory (--state-dir)"
        );
        let mut refusals = self.grants.refusals.lock();
        if refusals.line(&line, Again::Never, Instant::now()).is_some() {
            tracing::error!(plugin, family = "host", "{line}");
        }
        Failure::new(FailureKind::Io, format!("state: could not be {what}"))
    }
}
