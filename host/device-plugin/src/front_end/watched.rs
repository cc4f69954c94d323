//! What is known of every resource's registration, for the status.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use devgate_core::status::When;
use devgate_types::{Mutex, ResourceName, words};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::presence::Presence;
use devgate_kubelet::gauge::Count;

/// What the front end may be late: a node that pages, a machine that was suspended.
const SLACK: Duration = Duration::from_secs(60);

/// Where a resource is with the kubelet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// There is no kubelet.
    #[default]
    Waiting,
    /// The kubelet is asked, or will be asked again.
    Registering,
    /// The kubelet said no, and will say so again.
    Refused,
    /// The kubelet said yes.
    Registered,
}

words!(Phase: Waiting "waiting", Registering "registering", Refused "refused", Registered "registered");

/// One resource's registration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistrationStatus {
    /// The resource.
    pub resource: String,
    /// Where it is.
    pub phase: Phase,
    /// Since when.
    pub since: When,
    /// How many times the kubelet said yes since the host started.
    pub registrations: u64,
    /// How many sockets there have been.
    pub incarnations: u64,
    /// The streams of lists that the kubelet has open.
    pub streams: u64,
    /// Lists that were sent.
    pub lists: u64,
    /// Why the last attempt failed, until one does not; escaped.
    pub error: Option<String>,
    /// What the kubelet is shown as unhealthy although it is healthy, because it comes and goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<Hidden>,
    /// Why the newest list is not sent and an older one stands, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsent: Option<String>,
}

/// A device that comes and goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    /// Its id as the kubelet knows it: one of the replicas, where there are several.
    pub id: String,
    /// When it is shown healthy, if it stays so.
    pub until: When,
}

/// All registrations of a front end. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct FrontEndWatch(Arc<Mutex<Noted>>, Arc<Presence>);

#[derive(Debug, Default)]
struct Noted {
    /// When the front end must have come by again; nothing before it began.
    due: Option<Instant>,
    resources: BTreeMap<ResourceName, Known>,
}

#[derive(Debug)]
struct Known {
    /// But for what is counted.
    status: RegistrationStatus,
    streams: Option<watch::Receiver<Count>>,
    lists: Arc<AtomicU64>,
}

impl Known {
    fn new(resource: &ResourceName) -> Self {
        Self {
            status: RegistrationStatus { resource: resource.to_string(), ..RegistrationStatus::default() },
            streams: None,
            lists: Arc::default(),
        }
    }

    fn status(&self) -> RegistrationStatus {
        RegistrationStatus {
            streams: self.streams.as_ref().map_or(0, |streams| streams.borrow().live),
            lists: self.lists.load(Ordering::Relaxed),
            ..self.status.clone()
        }
    }
}

impl FrontEndWatch {
    /// What was said of the kubelet.
    pub(crate) fn presence(&self) -> &Presence {
        &self.1
    }

    /// Every resource that is served.
    #[must_use]
    pub fn status(&self) -> Vec<RegistrationStatus> {
        self.0.lock().resources.values().map(Known::status).collect()
    }

    /// By how long the front end is late in looking at the kubelet's directory, if it is: it hangs.
    #[must_use]
    pub fn late(&self) -> Option<Duration> {
        let late = Instant::now().checked_duration_since(self.0.lock().due?)?;
        (!late.is_zero()).then_some(late)
    }

    /// The front end came by, and will again after `pause` at the latest.
    pub(crate) fn comes_by(&self, pause: Duration) {
        self.0.lock().due = Some(Instant::now() + pause.saturating_add(SLACK));
    }

    /// A resource's registration is there now; nothing else is to be said of it.
    pub(crate) fn phase(&self, resource: &ResourceName, phase: Phase) {
        self.note(resource, |Known { status, .. }| {
            if status.phase != phase {
                (status.phase, status.since) = (phase, When::now());
            }
            if phase == Phase::Registered {
                status.registrations += 1;
                status.error = None;
            }
        });
    }

    /// An attempt failed.
    pub(crate) fn fails(&self, resource: &ResourceName, error: String) {
        self.note(resource, |known| known.status.error = Some(error));
    }

    /// Another socket is served; where to count the lists that it sends.
    pub(crate) fn incarnation(&self, resource: &ResourceName, streams: watch::Receiver<Count>) -> Arc<AtomicU64> {
        self.note(resource, |known| {
            known.status.incarnations += 1;
            known.streams = Some(streams);
            Arc::clone(&known.lists)
        })
    }

    /// These ids are hidden, each until then, and no others. Nothing is noted of a resource that is not served.
    pub(crate) fn hides(&self, resource: &ResourceName, ids: &[(String, tokio::time::Instant)]) {
        let (now, wall) = (tokio::time::Instant::now(), When::now());
        let hidden = |(id, until): &(String, tokio::time::Instant)| Hidden {
            id: id.clone(),
            until: When(wall.0 + until.saturating_duration_since(now)),
        };
        if let Some(known) = self.0.lock().resources.get_mut(resource) {
            known.status.hidden = ids.iter().map(hidden).collect();
        }
    }

    /// The newest list is sent, or is not for this reason.
    pub(crate) fn sends(&self, resource: &ResourceName, problem: Option<String>) {
        if problem.is_some() || self.0.lock().resources.contains_key(resource) {
            self.note(resource, |known| known.status.unsent = problem);
        }
    }

    /// A resource is no longer served.
    pub(crate) fn ends(&self, resource: &ResourceName) {
        self.0.lock().resources.remove(resource);
    }

    fn note<T>(&self, resource: &ResourceName, note: impl FnOnce(&mut Known) -> T) -> T {
        let mut noted = self.0.lock();
        let known = noted.resources.entry(resource.clone());
        note(known.or_insert_with_key(Known::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_kubelet::gauge::Gauge;

    #[test]
    fn a_registration_is_told_as_it_is() {
        let (front_end, gauge) = (FrontEndWatch::default(), Gauge::default());
        let name = ResourceName::try_new("vendor.com/gpu").unwrap();
        let lists = front_end.incarnation(&name, gauge.subscribe());
        front_end.phase(&name, Phase::Registering);
        front_end.fails(&name, "kubelet refused: no".into());
        let status = |front_end: &FrontEndWatch| front_end.status().pop().unwrap();
        let now = status(&front_end);
        assert_eq!((now.phase, now.error.as_deref()), (Phase::Registering, Some("kubelet refused: no")));
        front_end.phase(&name, Phase::Registered);
        let _stream = gauge.count();
        lists.fetch_add(3, Ordering::Relaxed);
        let now = status(&front_end);
        assert_eq!((now.phase, now.error), (Phase::Registered, None));
        assert_eq!((now.registrations, now.incarnations, now.streams, now.lists), (1, 1, 1, 3));
        front_end.ends(&name);
        assert_eq!(front_end.status(), []);
    }

    #[test]
    fn what_is_hidden_is_told_for_as_long_as_it_is() {
        let front_end = FrontEndWatch::default();
        let name = ResourceName::try_new("vendor.com/gpu").unwrap();
        let hidden = [("gpu-0".to_owned(), tokio::time::Instant::now() + Duration::from_secs(20))];
        front_end.hides(&name, &hidden);
        assert_eq!(front_end.status(), [], "it is not served");
        front_end.phase(&name, Phase::Registering);
        front_end.hides(&name, &hidden);
        let now = When::now();
        let told = front_end.status().remove(0).hidden.remove(0);
        let left = now.ago(told.until);
        assert!(told.id == "gpu-0" && left > Duration::from_secs(10) && left <= Duration::from_secs(21), "{left:?}");
        front_end.hides(&name, &[]);
        assert_eq!(front_end.status()[0].hidden, []);
    }

    #[test]
    fn a_list_that_is_not_sent_is_told_until_one_is() {
        let (front_end, name) = (FrontEndWatch::default(), ResourceName::try_new("vendor.com/gpu").unwrap());
        front_end.sends(&name, None);
        assert_eq!(front_end.status(), [], "it is not served");
        front_end.sends(&name, Some("too large".into()));
        assert_eq!(front_end.status()[0].unsent.as_deref(), Some("too large"));
        front_end.sends(&name, None);
        assert_eq!(front_end.status()[0].unsent, None);
    }

    #[test]
    fn a_front_end_that_hangs_is_late_and_one_that_has_not_begun_is_not() {
        let front_end = FrontEndWatch::default();
        assert_eq!(front_end.late(), None);
        front_end.comes_by(Duration::from_secs(1));
        assert_eq!(front_end.late(), None);
        front_end.0.lock().due = Instant::now().checked_sub(Duration::from_secs(5));
        assert!(front_end.late() >= Some(Duration::from_secs(5)));
    }
}
