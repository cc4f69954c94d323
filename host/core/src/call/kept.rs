//! The part of a call's capabilities that reaches beyond the moment: the kernel's log, and the blob that survives restarts.

use super::{CallHost, Moment};
use crate::blob::{MOST_BYTES, NotStored, Ticket};
use devgate_types::component::Answered;
use devgate_types::{Again, Failure, FailureKind};
use std::sync::Arc;
use std::time::Instant;

impl CallHost {
    /// The same as [`CallHost::during`] for a call that may come to nothing: what it stores is a copy's.
    pub(crate) fn on_trial(&mut self, moment: impl FnOnce(Ticket) -> Moment) {
        self.means = Arc::new(self.means.on_trial(&self.grants.policy));
        self.during(moment(self.ticket()));
    }

    /// A turn to store, where no other call has one.
    pub(crate) fn ticket(&self) -> Ticket {
        self.means.blob.ticket()
    }

    pub(super) fn store_blob(&mut self, bytes: &[u8]) -> Answered<()> {
        let Some(ticket) = self.moment.ticket() else {
            let message = format!(
                "state: stored in enumerate, health and release only, not in {}",
                self.moment
            );
            return Err(Failure::new(FailureKind::Unsupported, message).into());
        };
        let stored = self.means.blob.store(ticket, bytes);
        stored.map_err(|why| match why {
            NotStored::TooLarge => {
                let message = format!("state: {} bytes; at most {MOST_BYTES} are stored", bytes.len());
                Failure::new(FailureKind::Limit, message).into()
            }
            NotStored::Late => {
                let message = "state: this call has taken too long, and another one has begun";
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
