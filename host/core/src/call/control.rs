//! Writing an attribute: what the policy names, of what the call is about, and of nothing that somebody else has.

use super::{CallHost, Moment, failure};
use crate::claims::{HeldByOther, Intent, NotWritten};
use crate::grants::{Grants, Line};
use crate::means::Means;
use crate::status::RefusalKind;
use crate::waited::Waited;
use devgate_node::{DevicePath, ReadError};
use devgate_types::component::{Answered, LogLevel};
use devgate_types::{DeviceHandle, Failure, FailureKind, UnitId, escape};
use std::collections::BTreeSet;
use std::fmt;

/// The units that a call is about, and what they are made of.
#[derive(Debug, Clone, Default)]
pub(super) struct Lent {
    ids: BTreeSet<UnitId>,
    backing: BTreeSet<DevicePath>,
}

/// What a component asks to be written.
#[derive(Clone)]
struct Attempt {
    moment: Moment,
    lent: Lent,
    device: DevicePath,
    path: String,
    value: String,
}

/// Why an attribute was not written.
enum Refused {
    /// By the policy, or by what a component may ever write.
    Denied(String),
    /// Somebody else has something that it would act on.
    Held(HeldByOther),
    /// Nobody waits for the call any more.
    Late,
    /// The node cannot say what it would act on.
    Read(ReadError),
    /// The kernel does not take it.
    Failed(ReadError),
}

impl CallHost {
    /// Notes that the call is about a unit: where it may write, only to what that is made of.
    pub(crate) fn lends(&mut self, id: &UnitId, backing: &[DevicePath]) {
        if matches!(self.moment, Moment::Prepare | Moment::Release(_)) {
            self.lent.ids.insert(id.clone());
            self.lent.backing.extend(backing.iter().cloned());
        }
    }

    pub(super) fn write_attribute(&mut self, handle: DeviceHandle, path: &str, value: &str) -> Answered<()> {
        let device = self.device(handle)?;
        let what = format!(
            "writing \"{}\" to {} of {}",
            escape(value, 80),
            escape(path, 80),
            escape(device.name(), 80)
        );
        let attempt = Attempt {
            moment: self.moment,
            lent: self.lent.clone(),
            device,
            path: path.to_owned(),
            value: value.to_owned(),
        };
        let written = match self.may_write(&attempt) {
            Err(refused) => Err(refused),
            Ok(()) => attempt.clone().write(&self.grants, &self.means, &self.waited),
        };
        let Err(refused) = written else { return Ok(()) };
        let why = refused.to_string();
        self.refused_write(&attempt, &what, &why, &refused);
        Err(match refused {
            Refused::Denied(_) if self.is_no_moment() => {
                Failure::new(FailureKind::Unsupported, format!("{what}: {why}"))
            }
            Refused::Denied(_) => Failure::new(FailureKind::Denied, format!("{what}: {why}")),
            // Whose it is, is none of the component's business; that it may try again later is.
            Refused::Held(_) => {
                let why = "a container has another device that it would act on";
                Failure::new(FailureKind::Busy, format!("{what}: {why}"))
            }
            Refused::Late => Failure::new(FailureKind::Busy, format!("{what}: {why}")),
            Refused::Read(error) | Refused::Failed(error) => failure(&what, &error),
        }
        .into())
    }

    /// Counts what was not written, and tells the admin and the audit log: of each attribute and reason once, and again after
    /// a while. What the kernel refused has its lines already.
    fn refused_write(&self, attempt: &Attempt, what: &str, why: &str, refused: &Refused) {
        let plugin = self.grants.policy.name.as_str();
        let said = format!("the component asked for {what}: {why}");
        let line = format!("plugin {plugin}: {said}");
        self.grants.board.refuses(RefusalKind::Control, &line);
        if matches!(refused, Refused::Failed(_)) {
            return;
        }
        if let Some(heard) = &self.grants.heard {
            heard.line(Line {
                level: LogLevel::Warn,
                refusal: true,
                text: said,
            });
        }
        let Some(left_out) = self.grants.told.again(&format!("control {} {why}", attempt.path)) else {
            return;
        };
        let Attempt {
            moment,
            device,
            path,
            value,
            ..
        } = attempt;
        tracing::warn!(
            target: "audit",
            event = "control-write",
            family = "refused",
            plugin,
            %moment,
            device = device.location(),
            attribute = escape(path, 160),
            value = escape(value, 160),
            ids = attempt.lent.ids(),
            written = false,
            reason = why,
            left_out,
            "{line}"
        );
    }

    /// Whether nothing is written in calls of this kind at all.
    fn is_no_moment(&self) -> bool {
        !matches!(self.moment, Moment::Prepare | Moment::Release(_))
    }

    fn may_write(&self, attempt: &Attempt) -> Result<(), Refused> {
        let denied = |why: &str| Err(Refused::Denied(why.to_owned()));
        if self.is_no_moment() {
            return denied(&match self.moment {
                Moment::Start => "a container has the device already".to_owned(),
                moment => format!("attributes are written in prepare and release only, not in {moment}"),
            });
        }
        let control = &self.grants.policy.control;
        let named: Vec<_> = control.iter().filter(|entry| entry.attribute == attempt.path).collect();
        if named.is_empty() {
            return denied("the policy's control does not name that attribute");
        }
        let now: Vec<_> = named.into_iter().filter(|entry| self.moment.allows(entry)).collect();
        if now.is_empty() {
            return denied(&format!("the policy's control does not name it for {}", self.moment));
        }
        if !now.iter().any(|entry| entry.values.contains(&attempt.value)) {
            return denied("the policy's control does not name that value");
        }
        if !attempt.lent.backing.contains(&attempt.device) {
            return denied("no unit that this call is about is made of that device");
        }
        Ok(())
    }
}

impl Attempt {
    /// One write, while nobody else gets what it may act on. The audit log has a line before, as it may never come back, and one
    /// after, whoever still waits.
    fn write(self, grants: &Grants, means: &Means, waited: &Waited) -> Result<(), Refused> {
        let holder = grants.node.holder(&self.device, &self.path).map_err(Refused::Read)?;
        if holder != self.device {
            // What it would act on is what acts with that one, and another unit may be made of that one.
            let why = "it is in the directory of another device, and is written through that one alone";
            return Err(Refused::Denied(why.to_owned()));
        }
        let devices = grants.node.acts_on(&self.device).map_err(Refused::Read)?;
        let place = means
            .place()
            .ok_or_else(|| Refused::Denied("the plugin does not run yet".to_owned()))?;
        let writing = means.ledger.begin_write(Intent {
            place,
            ids: self.lent.ids.clone(),
            own: &self.lent.backing,
            devices,
            waited,
            memory: &means.memory,
        });
        let _writing = writing.map_err(|not| match not {
            NotWritten::Held(other) => Refused::Held(other),
            NotWritten::Late => Refused::Late,
        })?;
        let plugin = grants.policy.name.as_str();
        let (path, value) = (escape(&self.path, 160), escape(&self.value, 160));
        let said = |outcome: &str, written: Option<bool>, reason: &str| {
            tracing::info!(
                target: "audit",
                event = "control-write",
                plugin,
                moment = %self.moment,
                device = self.device.location(),
                attribute = path,
                value,
                ids = self.lent.ids(),
                outcome,
                written,
                reason,
            );
        };
        said("begins", None, "");
        let written = grants
            .node
            .write_attribute(&self.device, &self.path, self.value.as_bytes());
        match &written {
            Ok(()) => said("written", Some(true), ""),
            Err(error) => said("failed", Some(false), &error.to_string()),
        }
        written.map_err(Refused::Failed)
    }
}

impl Lent {
    fn ids(&self) -> String {
        let ids: Vec<_> = self.ids.iter().map(UnitId::as_str).collect();
        ids.join(",")
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(why) => f.write_str(why),
            Self::Held(HeldByOther { of, id, device }) => {
                write!(f, "it would act on {device}, and {id} of {of} is given to a container")
            }
            Self::Late => f.write_str("nobody waits for this call any more"),
            Self::Read(error) | Self::Failed(error) => write!(f, "{error}"),
        }
    }
}
