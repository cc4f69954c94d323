//! Leases: devices of a machine without a kubelet, for who asks for them by a name and says when that is over. None has what a pod, a
//! claim or another lease has.

use crate::files::Unwritten;
use crate::give::{NotGiven, Wanted, give};
use crate::keep::Keeper;
use crate::name::{InvalidLeaseName, lease_consumer};
use crate::named::Named;
use devgate_core::{Consumer, Devices, Granted, Released};
use devgate_types::{InvalidName, ResourceName, escape};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// What releasing may take before it goes on in the background.
pub(crate) const RELEASE_PATIENCE: Duration = Duration::from_secs(10);
/// The most devices of one lease: a count is a number that a program may have made of anything.
const MAX_DEVICES: usize = 4_096;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// What it is for: the lease's name.
    pub name: String,
    /// Devices of which resource.
    pub resource: String,
    /// How many; as many as there are ids, or one, where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// Which, among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// For how many seconds; until it is released where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

/// A lease, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// What it was made for.
    pub name: String,
    /// The resource.
    pub resource: String,
    /// The ids of its devices.
    pub ids: Vec<String>,
    /// What a runtime is to be told, such as `podman run --device`; nothing where a container gets nothing by it.
    pub devices: Vec<String>,
    /// For how many seconds still; nothing where it lasts until it is released.
    pub left: Option<u64>,
    /// Why no container gets it, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Why there is no lease.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// It cannot be called so.
    #[error(transparent)]
    Name(#[from] InvalidLeaseName),
    /// The resource cannot be called so.
    #[error(transparent)]
    Resource(#[from] InvalidName),
    /// Nothing offers it.
    #[error("resource {0}: no plugin offers it; {1}")]
    Unknown(ResourceName, String),
    /// More than there ever can be, or none.
    #[error(
        "lease {0}: {1} devices cannot be leased at once; ask for 1 to {MAX_DEVICES}, at least as many as there are ids"
    )]
    Count(String, usize),
    /// The name is taken: by which lease, which has these ids of this resource.
    #[error(
        "lease {0}: has {1} of resource {2} already; release it first (devgate cdi release {0}), or take another name"
    )]
    Taken(String, String, ResourceName),
    /// There is no such lease.
    #[error("lease {0}: there is none of this name; `devgate cdi leases` shows those that there are")]
    None(String),
    /// They were not given.
    #[error(transparent)]
    NotGiven(#[from] NotGiven),
    /// The file could not be made or removed, and what becomes of the lease.
    #[error("lease {0}: {1}; {2}")]
    File(String, Unwritten, &'static str),
}

/// The leases of a host, whose files a keeper keeps.
pub struct Leases {
    keeper: Arc<Keeper>,
}

impl Leases {
    /// The leases that are recorded.
    #[must_use]
    pub const fn new(keeper: Arc<Keeper>) -> Self {
        Self { keeper }
    }

    fn devices(&self) -> &dyn Devices {
        &*self.keeper.devices
    }

    /// Leases devices. The same asked again is the same lease. Fails where there are no such devices, or the file that says what they are
    /// could not be written; then nothing is leased.
    pub async fn lease(&self, request: &LeaseRequest) -> Result<Lease, LeaseError> {
        let who = lease_consumer(&request.name)?;
        let resource = ResourceName::try_new(&request.resource)?;
        let mut request = request.clone();
        request.ids.sort();
        request.ids.dedup();
        let count = request.count.unwrap_or_else(|| request.ids.len().max(1));
        if !(1..=MAX_DEVICES).contains(&count) || count < request.ids.len() {
            return Err(LeaseError::Count(request.name, count));
        }
        let _turn = self.keeper.turns.lock(&[who.to_string()]).await;
        let held = self.devices().held(&who).into_iter().next();
        match &held {
            Some(held) => is_same(held, &request, count)?,
            None => self.is_offered(&resource)?,
        }
        let ttl = request.ttl.map(Duration::from_secs);
        let wanted = Wanted {
            who: &who,
            resource: &resource,
            count,
            ids: held.as_ref().map_or(&request.ids, |held| &held.ids),
            numa: &[],
            ttl,
        };
        let granted = give(self.devices(), &wanted).await?;
        if held.is_some() && ttl.is_some() {
            self.devices().renew(&who, ttl);
        }
        let named = Named::new(who.clone(), granted);
        let lease = shown(&named, None);
        if let Err(why) = self.keeper.put(named).await {
            let mut then = "it lasts, and the file is written as soon as that can be";
            if held.is_none() {
                // What could not be written is not there; what of it is noted is tried to be removed with the next look.
                self.devices().release(&who, RELEASE_PATIENCE).await;
                then = "it was given back";
            }
            return Err(LeaseError::File(request.name, why, then));
        }
        Ok(lease)
    }

    fn is_offered(&self, resource: &ResourceName) -> Result<(), LeaseError> {
        let offers = Arc::clone(&self.devices().offers().borrow());
        let names: Vec<_> = offers.iter().map(|offer| offer.resource().as_str()).collect();
        let there = match names.as_slice() {
            names if names.contains(&resource.as_str()) => return Ok(()),
            [] => "none is offered yet; `devgate status` says why".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        Err(LeaseError::Unknown(resource.clone(), there))
    }

    /// Ends a lease: its file goes first, so that no container gets what may be another's. Whether there was one, and which of its
    /// devices are still to be released by their components; that is tried until it works.
    pub async fn release(&self, name: &str) -> Result<Option<Vec<String>>, LeaseError> {
        let who = lease_consumer(name)?;
        let _turn = self.keeper.turns.lock(&[who.to_string()]).await;
        for granted in self.devices().held(&who) {
            let removed = self.keeper.take_away(&Named::new(who.clone(), granted));
            removed.map_err(|why| LeaseError::File(name.to_owned(), why.into(), "it is not released"))?;
        }
        Ok(match self.devices().release(&who, RELEASE_PATIENCE).await {
            Released::Nothing | Released::Refused => None,
            Released::Clean => Some(Vec::new()),
            Released::Dirty(dirty) => Some(dirty.iter().map(|(_, id)| id.to_string()).collect()),
        })
    }

    /// Has a lease last so long from now on, or until it is released.
    pub fn renew(&self, name: &str, ttl: Option<Duration>) -> Result<Lease, LeaseError> {
        let who = lease_consumer(name)?;
        let held = self.devices().renew(&who, ttl).then(|| self.devices().held(&who));
        let held = held.into_iter().flatten().next();
        let none = || LeaseError::None(name.to_owned());
        Ok(shown(&Named::new(who, held.ok_or_else(none)?), None))
    }

    /// All leases, by their names.
    #[must_use]
    pub fn list(&self) -> Vec<Lease> {
        let leases = Named::all(self.devices()).into_iter();
        let leases = leases.filter(|named| matches!(named.who, Consumer::Lease { .. }));
        let lease = |named: Named| shown(&named, self.keeper.problem(&named));
        leases.map(lease).collect()
    }
}

/// What a lease has already must be what is asked for.
fn is_same(held: &Granted, request: &LeaseRequest, count: usize) -> Result<(), LeaseError> {
    let has_it = |id: &String| held.ids.contains(id);
    if held.resource.as_str() == request.resource && held.ids.len() == count && request.ids.iter().all(has_it) {
        return Ok(());
    }
    let ids = escape(&held.ids.join(", "), 160);
    Err(LeaseError::Taken(request.name.clone(), ids, held.resource.clone()))
}

fn shown(named: &Named, problem: Option<String>) -> Lease {
    let granted = &named.granted;
    let own = named.names(&granted.reply);
    Lease {
        name: named.devices.concat(),
        resource: granted.resource.to_string(),
        ids: granted.ids.clone(),
        devices: own.into_iter().chain(granted.reply.cdi.iter().cloned()).collect(),
        left: granted.left.map(|left| left.as_secs()),
        problem,
    }
}
