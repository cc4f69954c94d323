//! Writing an attribute: what the policy names, of what the call is about, and of nothing that somebody else has.

use super::{CallHost, Moment, check_holder, failure};
use crate::claims::HeldByOther;
use crate::component::Answered;
use crate::grants::Grants;
use crate::means::Means;
use devgate_model::{DeviceHandle, Failure, FailureKind, UnitId, escape};
use devgate_node::{DevicePath, ReadError};
use std::collections::BTreeSet;

/// The units that a call is about, and what they are made of.
#[derive(Debug, Clone, Default)]
pub(super) struct Lent {
    ids: BTreeSet<UnitId>,
    backing: BTreeSet<DevicePath>,
}

/// Why an attribute was not written.
enum Refused {
    /// By the policy, or by what a component may ever write.
    Denied(String),
    /// Somebody else has something that it would act on.
    Held(HeldByOther),
    /// The node cannot say what it would act on, or the kernel does not take it.
    Read(ReadError),
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
        let written = match self.may_write(&device, path, value) {
            Err(refused) => Err(refused),
            Ok(()) => {
                let (means, lent, name) = (self.means.clone(), self.lent.clone(), device.clone());
                let (path, value) = (path.to_owned(), value.to_owned());
                self.ask(move |grants| write(grants, &means, lent, &name, &path, &value))?
            }
        };
        let problem = match &written {
            Ok(()) => None,
            Err(Refused::Denied(why)) => Some(why.clone()),
            Err(Refused::Held(other)) => Some(format!(
                "it would act on {}, and {} of plugin {} is given to a container",
                other.device.name(),
                other.id,
                other.plugin
            )),
            Err(Refused::Read(error)) => Some(error.to_string()),
        };
        self.audit(&device, path, value, problem.as_deref());
        let Err(refused) = written else { return Ok(()) };
        let why = problem.unwrap_or_default();
        if !matches!(refused, Refused::Read(_)) {
            self.refused(&what, &why);
        }
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
            Refused::Read(error) => failure(&what, &error),
        }
        .into())
    }

    /// Whether nothing is written in calls of this kind at all.
    fn is_no_moment(&self) -> bool {
        !matches!(self.moment, Moment::Prepare | Moment::Release(_))
    }

    fn may_write(&self, device: &DevicePath, path: &str, value: &str) -> Result<(), Refused> {
        let denied = |why: &str| Err(Refused::Denied(why.to_owned()));
        if self.is_no_moment() {
            return denied(&match self.moment {
                Moment::Start => "a container has the device already".to_owned(),
                moment => format!("attributes are written in prepare and release only, not in {moment}"),
            });
        }
        let control = &self.grants.policy.control;
        let named: Vec<_> = control.iter().filter(|entry| entry.attribute == path).collect();
        if named.is_empty() {
            return denied("the policy's control does not name that attribute");
        }
        let now: Vec<_> = named.into_iter().filter(|entry| self.moment.allows(entry)).collect();
        if now.is_empty() {
            return denied(&format!("the policy's control does not name it for {}", self.moment));
        }
        if !now.iter().any(|entry| entry.values.iter().any(|named| named == value)) {
            return denied("the policy's control does not name that value");
        }
        if !self.lent.backing.contains(device) {
            return denied("no unit that this call is about is made of that device");
        }
        Ok(())
    }

    /// One line for each write and each attempt, for whoever keeps them.
    fn audit(&self, device: &DevicePath, path: &str, value: &str, problem: Option<&str>) {
        let ids: Vec<_> = self.lent.ids.iter().map(UnitId::as_str).collect();
        tracing::info!(
            target: "audit",
            event = "control-write",
            plugin = self.grants.policy.name.as_str(),
            moment = %self.moment,
            device = device.location(),
            attribute = escape(path, 160),
            value = escape(value, 160),
            ids = ids.join(","),
            written = problem.is_none(),
            reason = problem.unwrap_or_default(),
        );
    }
}

/// One write, while nobody else gets what it may act on.
fn write(
    grants: &Grants,
    means: &Means,
    lent: Lent,
    device: &DevicePath,
    path: &str,
    value: &str,
) -> Result<(), Refused> {
    check_holder(grants, device, path).map_err(Refused::Read)?;
    let reach = grants.node.acts_on(device).map_err(Refused::Read)?;
    let place = means
        .place()
        .ok_or_else(|| Refused::Denied("the plugin does not run yet".to_owned()))?;
    let writing = means.ledger.begin_write(place, lent.ids, reach);
    let _writing = writing.map_err(Refused::Held)?;
    let written = grants.node.write_attribute(device, path, value.as_bytes());
    written.map_err(Refused::Read)
}
