//! The part of a call's capabilities that is outside the device tree: files and mounts.

use super::{CallHost, failure, number};
use crate::grants::{FileRefused, Grants};
use crate::status::RefusalKind;
use devgate_policy::MountGrant;
use devgate_types::component::{Answered, Denied, LogLevel};
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
        question: impl FnOnce(&Grants, &str) -> Result<T, FileRefused>,
    ) -> Answered<T> {
        let answer = question(&self.grants, path);
        let what = format!("{kind} \"{}\"", escape(path, 160));
        answer.map_err(|refused| match refused {
            FileRefused::Denied(told, full) => {
                self.refused(&what, full.as_deref().unwrap_or(&told));
                denied(&what, &told)
            }
            FileRefused::Read(error) => failure(&what, &error).into(),
        })
    }

    /// Tells the admin what the component asked for and does not get: once each.
    pub(super) fn refused(&self, what: &str, why: &str) {
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
}

pub(super) fn denied(what: &str, why: &str) -> Denied {
    Denied::Failure(Failure::new(FailureKind::Denied, format!("{what}: {why}")))
}
