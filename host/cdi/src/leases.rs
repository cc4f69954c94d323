//! Leases: devices of a machine without a kubelet, for who asks for them by a name and says when that is over. None has what a pod, a
//! claim or another lease has.

use crate::choose::{choose, why_not_enough};
use crate::edits::{NodeUnread, spec};
use crate::files::Files;
use crate::keep::UNOFFERED;
use crate::lease::{Lease, LeaseError, LeaseRequest, MOST, Unwritten};
use crate::name::{Kind, LeaseName};
use crate::spec::Spec;
use devgate_core::offer::{AllocateError, Reply};
use devgate_core::state::Dir;
use devgate_core::{Ask, Consumer, Devices, Granted, Mode, Released};
use devgate_node::Node;
use devgate_types::{Mutex, ResourceName, escape};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often devices are chosen anew where pods got them first.
const TRIES: usize = 4;
/// What releasing may take before it goes on in the background.
const RELEASE_PATIENCE: Duration = Duration::from_secs(10);

/// What leases are made of.
pub struct LeasesConfig {
    /// All devices of the host.
    pub devices: Arc<dyn Devices>,
    /// The node that they are on.
    pub node: Node,
    /// Where files are written; made with the first.
    pub dir: PathBuf,
    /// Where they are noted.
    pub state: Option<Dir>,
}

/// What is known of a lease besides what is recorded.
pub(crate) struct Known {
    pub(crate) kind: Kind,
    /// What stands for it, as it was last told.
    pub(crate) reply: Arc<Reply>,
    /// When that was.
    pub(crate) restored: Instant,
    /// Why it has no file, if so.
    pub(crate) problem: Option<String>,
    /// Since when nothing offers its resource.
    pub(crate) unoffered: Option<Instant>,
}

/// The leases of a host.
pub struct Leases {
    pub(crate) devices: Arc<dyn Devices>,
    pub(crate) node: Node,
    pub(crate) files: Files,
    /// By their names. Those of before this start are in here once they were looked at.
    pub(crate) known: Mutex<BTreeMap<String, Known>>,
    /// How long a file stays whose resource nothing offers.
    pub(crate) unoffered: Duration,
    /// One thing at a time is done to them.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

impl Leases {
    /// The leases that are recorded. [`Leases::keep`] sees to their files.
    #[must_use]
    pub fn new(config: LeasesConfig) -> Self {
        Self {
            files: Files::open(&config.dir, config.state.as_ref()),
            devices: config.devices,
            node: config.node,
            known: Mutex::default(),
            unoffered: UNOFFERED,
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Leases devices. The same asked again is the same lease.
    ///
    /// # Errors
    /// Where there are no such devices, or the file that says what they are could not be written; then nothing is leased.
    pub async fn lease(&self, request: &LeaseRequest) -> Result<Lease, LeaseError> {
        let name = LeaseName::try_new(&request.name)?;
        let resource = ResourceName::try_new(&request.resource)?;
        let count = request.count.unwrap_or_else(|| request.ids.len().max(1));
        if !(1..=MOST).contains(&count) || count < request.ids.len() {
            return Err(LeaseError::Count(request.name.clone(), count));
        }
        let _turn = self.turn.lock().await;
        let who = consumer(name.as_str());
        let granted = match self.devices.held(&who).into_iter().next() {
            Some(held) => self.again(&who, held, request, count).await?,
            None => self.give(&who, &resource, request, count).await?,
        };
        let lease = self.shown(name.as_str(), &granted, None);
        let kind = Kind::of(&granted.resource);
        match self.write(name.as_str(), &kind, &granted.reply) {
            Ok(()) => self
                .known
                .lock()
                .insert(request.name.clone(), Known::of(kind, &granted)),
            Err(why) => {
                // What could not be written is not there; what of it is noted is tried to be removed with the next look.
                self.devices.release(&who, RELEASE_PATIENCE).await;
                return Err(LeaseError::File(request.name.clone(), why));
            }
        };
        Ok(lease)
    }

    /// What a lease has already, where that is what is asked for.
    async fn again(
        &self,
        who: &Consumer,
        held: Granted,
        request: &LeaseRequest,
        count: usize,
    ) -> Result<Granted, LeaseError> {
        let is_it = held.resource.as_str() == request.resource
            && held.ids.len() == count
            && request.ids.iter().all(|id| held.ids.contains(id));
        if !is_it {
            return Err(LeaseError::Taken {
                name: request.name.clone(),
                resource: held.resource,
                ids: escape(&held.ids.join(", "), 160).to_string(),
            });
        }
        let granted = self.ask(who, &held.resource, held.ids, request).await?;
        if let Some(ttl) = request.ttl() {
            self.devices.renew(who, Some(ttl));
        }
        Ok(granted)
    }

    async fn give(
        &self,
        who: &Consumer,
        resource: &ResourceName,
        request: &LeaseRequest,
        count: usize,
    ) -> Result<Granted, LeaseError> {
        let offers = Arc::clone(&self.devices.offers().borrow());
        if !offers.iter().any(|offer| offer.resource() == resource) {
            let names: Vec<_> = offers.iter().map(|offer| offer.resource().as_str()).collect();
            let there = match names.as_slice() {
                [] => "none is offered yet; `devgate status` says why".to_owned(),
                names => format!("there are {}", names.join(", ")),
            };
            return Err(LeaseError::Unknown(resource.clone(), there));
        }
        let mut tries = 1..=TRIES;
        loop {
            let ids = if request.ids.len() == count {
                request.ids.clone()
            } else {
                let available = self.devices.available(resource, who);
                let devices = &*self.devices;
                let Some(chosen) = choose(devices, resource, &available, &request.ids, count, &[]).await else {
                    let unavailable = devices.unavailable(resource, who).len();
                    return Err(LeaseError::NotEnough {
                        resource: resource.clone(),
                        asked: count,
                        free: available.len(),
                        all: available.len() + unavailable,
                        why: why_not_enough(devices, resource, who),
                    });
                };
                chosen
            };
            let is_chosen = ids != request.ids;
            match self.ask(who, resource, ids, request).await {
                // A pod may have got one of them meanwhile.
                Err(AllocateError::Refused(_) | AllocateError::Busy(_)) if is_chosen && tries.next().is_some() => {}
                answer => return Ok(answer?),
            }
        }
    }

    async fn ask(
        &self,
        who: &Consumer,
        resource: &ResourceName,
        ids: Vec<String>,
        request: &LeaseRequest,
    ) -> Result<Granted, AllocateError> {
        let ask = Ask {
            resource: resource.clone(),
            ids,
            share: None,
            mode: Mode::Hold,
            tag: String::new(),
        };
        let granted = self.devices.allocate(who, &[ask], request.ttl()).await?;
        let nothing = || AllocateError::Host(format!("{who}: nothing was given"));
        granted.into_iter().next().ok_or_else(nothing)
    }

    /// Ends a lease: its file goes first, so that no container gets what may be another's. Whether there was one, and which of its
    /// devices are still to be released by their components; that is tried until it works.
    ///
    /// # Errors
    /// Where its file cannot be removed.
    pub async fn release(&self, name: &str) -> Result<Option<Vec<String>>, LeaseError> {
        let name = LeaseName::try_new(name)?;
        let _turn = self.turn.lock().await;
        Ok(match self.end(name.as_str(), &consumer(name.as_str())).await? {
            Released::Nothing | Released::Refused => None,
            Released::Clean => Some(Vec::new()),
            Released::Dirty(dirty) => Some(dirty.iter().map(|(_, id)| id.to_string()).collect()),
        })
    }

    async fn end(&self, name: &str, who: &Consumer) -> Result<Released, LeaseError> {
        if let Some(held) = self.devices.held(who).first() {
            let removed = self.files.remove(&Kind::of(&held.resource).file(name));
            removed.map_err(|why| LeaseError::File(name.to_owned(), why.into()))?;
        }
        self.known.lock().remove(name);
        Ok(self.devices.release(who, RELEASE_PATIENCE).await)
    }

    /// Has a lease last so long from now on, or until it is released.
    ///
    /// # Errors
    /// Where there is none of this name.
    pub fn renew(&self, name: &str, ttl: Option<Duration>) -> Result<Lease, LeaseError> {
        let name = LeaseName::try_new(name)?;
        let (who, none) = (consumer(name.as_str()), || LeaseError::None(name.as_str().to_owned()));
        if !self.devices.renew(&who, ttl) {
            return Err(none());
        }
        let held = self.devices.held(&who);
        Ok(self.shown(name.as_str(), held.first().ok_or_else(none)?, None))
    }

    /// All leases, by their names.
    #[must_use]
    pub fn list(&self) -> Vec<Lease> {
        let known = self.known.lock();
        let lease = |name: String| {
            let held = self.devices.held(&consumer(&name));
            let problem = known.get(&name).and_then(|known| known.problem.clone());
            Some(self.shown(&name, held.first()?, problem))
        };
        self.names().filter_map(lease).collect()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.devices.consumers().into_iter().filter_map(|who| match who {
            Consumer::Lease { name } => Some(name),
            _ => None,
        })
    }

    fn shown(&self, name: &str, granted: &Granted, problem: Option<String>) -> Lease {
        let reply = &granted.reply;
        let is_empty = reply.nodes.is_empty() && reply.env.is_empty() && reply.mounts.is_empty();
        let own = (!is_empty).then(|| Kind::of(&granted.resource).device(name));
        Lease {
            name: name.to_owned(),
            resource: granted.resource.to_string(),
            ids: granted.ids.clone(),
            devices: own.into_iter().chain(reply.cdi.iter().cloned()).collect(),
            left: granted.left.map(|left| left.as_secs()),
            problem,
        }
    }

    /// Has the file of a lease say what stands for it.
    pub(crate) fn write(&self, name: &str, kind: &Kind, reply: &Reply) -> Result<(), Unwritten> {
        match self.spec(name, kind, reply)? {
            Some(spec) => drop(self.files.write(&kind.file(name), &spec)?),
            None => self.files.remove(&kind.file(name))?,
        }
        Ok(())
    }

    pub(crate) fn spec(&self, name: &str, kind: &Kind, reply: &Reply) -> Result<Option<Spec>, NodeUnread> {
        spec(kind, name, reply, &self.node)
    }
}

impl Known {
    pub(crate) fn of(kind: Kind, granted: &Granted) -> Self {
        Self {
            kind,
            reply: Arc::clone(&granted.reply),
            restored: Instant::now(),
            problem: None,
            unoffered: None,
        }
    }
}

pub(crate) fn consumer(name: &str) -> Consumer {
    Consumer::Lease { name: name.to_owned() }
}
