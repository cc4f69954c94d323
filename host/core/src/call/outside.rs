//! The part of a call's capabilities that is outside the device tree: files, mounts, and the state that survives restarts.

use super::{CallHost, failure, number};
use crate::component_state::{MAX_BYTES, NotStored};
use crate::grants::{Grants, NotGranted};
use crate::status::RefusalKind;
use devgate_policy::MountGrant;
use devgate_types::component::{Answered, CallKind, Denied, LogLevel};
use devgate_types::{Again, Failure, FailureKind, MountHandle, escape};
use std::sync::Arc;
use std::time::Instant;

impl CallHost {
    /// The handle of a mount in this call.
    pub(super) fn hold_mount(&mut self, mount: Arc<MountGrant>) -> MountHandle {
        MountHandle(number(self.mounts.insert_full(mount.name.clone(), mount).0))
    }

    /// The mount that a handle stands for, if this call holds it.
    pub(crate) fn held_mount(&self, handle: MountHandle) -> Option<&Arc<MountGrant>> {
        let (_, mount) = self.mounts.get_index(usize::try_from(handle.0).ok()?)?;
        Some(mount)
    }

    pub(super) fn ask_file<T>(
        &self,
        path: &str,
        kind: &str,
        question: impl FnOnce(&Grants, &str) -> Result<T, NotGranted>,
    ) -> Answered<T> {
        let answer = question(&self.grants, path);
        let what = format!("{kind} \"{}\"", escape(path, 160));
        answer.map_err(|why| self.not_given(&what, why))
    }

    /// What a component is told of what it does not get. The admin is told as well.
    pub(super) fn not_given(&self, what: &str, why: NotGranted) -> Denied {
        let full = why.to_string();
        let (kind, told) = match why {
            NotGranted::Read(error) => return failure(what, &error).into(),
            NotGranted::Missing(told) => (FailureKind::NotFound, told),
            NotGranted::Refused(told, _) => (FailureKind::Denied, told),
            NotGranted::Unlisted(_) => (FailureKind::Denied, full.clone()),
        };
        self.refused(what, &full);
        Failure::new(kind, format!("{what}: {told}")).into()
    }

    /// Tells the admin what the component asked for and does not get: once each.
    fn refused(&self, what: &str, why: &str) {
        let plugin = self.grants.policy.name.as_str();
        let said = format!("the component asked for {what}: {why}");
        self.grants.hear(LogLevel::Warn, true, &said);
        let line = format!("plugin {plugin}: {said}");
        self.grants.recorder.record_refusal(RefusalKind::Capability, &line);
        match self.grants.refusals.lock().line(&line, Again::Never, Instant::now()) {
            Some(0) => tracing::warn!(plugin, family = "refused", "{line}"),
            Some(left_out) => tracing::warn!(
                plugin,
                family = "refused",
                left_out,
                "{line}; before it {left_out} other refusals were not logged"
            ),
            None => {}
        }
    }

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
