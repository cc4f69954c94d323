//! Writing an attribute: what the policy names, of what the call is about, and of nothing that another consumer has.

use super::{CallHost, failure};
use crate::ledger::{Intent, NotWritten};
use crate::status::RefusalKind;
use devgate_node::{DevicePath, ReadError};
use devgate_policy::Control;
use devgate_types::component::{Answered, CallKind, LogLevel};
use devgate_types::{Again, DeviceHandle, Failure, FailureKind, UnitId, escape};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// When a write that is refused again and again is told of again.
const AGAIN: Again = Again::After(Duration::from_secs(600));

/// The units that a call is about, and what they are made of.
#[derive(Debug, Default)]
pub(super) struct Lent {
    ids: BTreeSet<UnitId>,
    backing: BTreeSet<DevicePath>,
}

/// What a component asks to be written.
#[derive(Clone, Copy)]
struct Asked<'a> {
    device: &'a DevicePath,
    path: &'a str,
    value: &'a str,
}

/// Why an attribute was not written.
#[derive(Debug, thiserror::Error)]
enum NotWritable {
    /// By the policy, or by what a component may ever write.
    #[error("{0}")]
    Denied(String),
    /// Another consumer has something that it would act on, or will have.
    #[error(transparent)]
    Held(#[from] NotWritten),
    /// The node cannot say what it would act on.
    #[error("{0}")]
    Read(ReadError),
    /// The kernel does not take it.
    #[error("{0}")]
    Failed(ReadError),
}

impl CallHost {
    /// Notes that the call is about a unit: where it may write, only to what that is made of.
    pub(crate) fn lends(&mut self, id: &UnitId, backing: &[DevicePath]) {
        if self.may_write() {
            self.lent.ids.insert(id.clone());
            self.lent.backing.extend(backing.iter().cloned());
        }
    }

    pub(super) fn write_attribute(&mut self, handle: DeviceHandle, path: &str, value: &str) -> Answered<()> {
        let device = &self.device(handle)?;
        let what =
            format!("writing \"{}\" to {} of {}", escape(value, 80), escape(path, 80), escape(device.name(), 80));
        let asked = Asked { device, path, value };
        let written = self.check_write(asked).and_then(|()| self.write(asked));
        let Err(refused) = written else { return Ok(()) };
        let why = refused.to_string();
        self.refused_write(asked, &what, &why, &refused);
        let (kind, why) = match refused {
            NotWritable::Denied(_) if !self.may_write() => (FailureKind::Unsupported, why),
            NotWritable::Denied(_) => (FailureKind::Denied, why),
            // Whose it is, is none of the component's business; that it may try again later is.
            NotWritable::Held(NotWritten::Held(_)) => {
                let why = "a container has another device that it would act on";
                (FailureKind::Busy, why.to_owned())
            }
            NotWritable::Held(NotWritten::Late) => (FailureKind::Busy, why),
            NotWritable::Read(error) | NotWritable::Failed(error) => return Err(failure(&what, &error).into()),
        };
        Err(Failure::new(kind, format!("{what}: {why}")).into())
    }

    /// Counts what was not written, and tells the admin and the audit log: of each attribute and reason once, and again after
    /// a while. What the kernel refused has its lines already.
    fn refused_write(&self, asked: Asked<'_>, what: &str, why: &str, refused: &NotWritable) {
        let plugin = self.grants.policy.name.as_str();
        let said = format!("the component asked for {what}: {why}");
        let line = format!("plugin {plugin}: {said}");
        self.grants.recorder.record_refusal(RefusalKind::Control, &line);
        if matches!(refused, NotWritable::Failed(_)) {
            return;
        }
        self.grants.hear(LogLevel::Warn, true, &said);
        let key = format!("control {} {why}", asked.path);
        let left_out = self.grants.refusals.lock().line(&key, AGAIN, Instant::now());
        let Some(left_out) = left_out else { return };
        tracing::warn!(
            target: "audit",
            event = "control-write",
            family = "refused",
            plugin,
            moment = self.moment(),
            device = asked.device.location(),
            attribute = escape(asked.path, 160),
            value = escape(asked.value, 160),
            ids = self.lent.ids(),
            written = false,
            reason = why,
            left_out,
            "{line}"
        );
    }

    /// Whether anything is written in calls of this kind.
    fn may_write(&self) -> bool {
        !self.is_start && matches!(self.kind, CallKind::Prepare | CallKind::Release)
    }

    fn check_write(&self, asked: Asked<'_>) -> Result<(), NotWritable> {
        let denied = |why: &str| Err(NotWritable::Denied(why.to_owned()));
        if !self.may_write() {
            return match self.is_start {
                true => denied("a container has the device already"),
                false => {
                    denied(&format!("attributes are written in prepare and release only, not in {}", self.moment()))
                }
            };
        }
        let control = &self.grants.policy.control;
        let is_now = |entry: &Control| if self.kind == CallKind::Release { entry.release } else { entry.prepare };
        let named: Vec<_> = control.iter().filter(|entry| entry.attribute == asked.path).collect();
        if named.is_empty() {
            return denied("the policy's control does not name that attribute");
        }
        let now: Vec<_> = named.into_iter().filter(|entry| is_now(entry)).collect();
        if now.is_empty() {
            return denied(&format!("the policy's control does not name it for {}", self.moment()));
        }
        if !now.iter().any(|entry| entry.values.iter().any(|value| value == asked.value)) {
            return denied("the policy's control does not name that value");
        }
        if !self.lent.backing.contains(asked.device) {
            return denied("no unit that this call is about is made of that device");
        }
        Ok(())
    }

    /// One write, while no other consumer gets what it may act on. The audit log has a line before, as it may never come back, and one
    /// after, even if the caller has given up.
    fn write(&self, asked: Asked<'_>) -> Result<(), NotWritable> {
        let Asked { device, path, value } = asked;
        let node = &self.grants.node;
        if node.holder(device, path).map_err(NotWritable::Read)? != *device {
            // What it would act on is what acts with that one, and another unit may be made of that one.
            let why = "it is in the directory of another device, and is written through that one alone";
            return Err(NotWritable::Denied(why.to_owned()));
        }
        let devices = node.acts_on(device).map_err(NotWritable::Read)?;
        let index = self.services.index();
        let index = index.ok_or_else(|| NotWritable::Denied("the plugin does not run yet".to_owned()))?;
        let writing = self.services.ledger.begin_write(Intent {
            index,
            ids: self.lent.ids.clone(),
            devices,
            given_up: &self.given_up,
            reached: &|devices| {
                let Lent { ids, backing } = &self.lent;
                self.services.allocations.reached_by(devices, ids, backing)
            },
        });
        let _writing = writing?;
        let said = |outcome: &str, written: Option<bool>, reason: &str| {
            tracing::info!(
                target: "audit",
                event = "control-write",
                plugin = self.grants.policy.name.as_str(),
                moment = self.moment(),
                device = device.location(),
                attribute = escape(path, 160),
                value = escape(value, 160),
                ids = self.lent.ids(),
                outcome,
                written,
                reason,
            );
        };
        said("begins", None, "");
        let written = node.write_attribute(device, path, value.as_bytes());
        match &written {
            Ok(()) => said("written", Some(true), ""),
            Err(error) => said("failed", Some(false), &error.to_string()),
        }
        written.map_err(NotWritable::Failed)
    }
}

impl Lent {
    fn ids(&self) -> String {
        let ids: Vec<_> = self.ids.iter().map(UnitId::as_str).collect();
        ids.join(",")
    }
}
