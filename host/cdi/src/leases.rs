//! Leases: devices of a machine without a kubelet, for who asks for them by a name and says when that is over. None has what a pod, a
//! claim or another lease has.

use crate::give::{Wanted, give};
use crate::keep::Keeper;
use crate::lease::{Lease, LeaseError, LeaseRequest, MAX_DEVICES};
use crate::name::LeaseName;
use crate::named::Named;
use devgate_core::{Consumer, Devices, Granted, Released};
use devgate_types::{ResourceName, escape};
use std::sync::Arc;
use std::time::Duration;

/// What releasing may take before it goes on in the background.
pub(crate) const RELEASE_PATIENCE: Duration = Duration::from_secs(10);

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
        let name = LeaseName::try_new(&request.name)?;
        let resource = ResourceName::try_new(&request.resource)?;
        let mut request = request.clone();
        request.ids.sort();
        request.ids.dedup();
        let count = request.count.unwrap_or_else(|| request.ids.len().max(1));
        if !(1..=MAX_DEVICES).contains(&count) || count < request.ids.len() {
            return Err(LeaseError::Count(request.name, count));
        }
        let who = consumer(name.as_str());
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
        let name = LeaseName::try_new(name)?;
        let who = consumer(name.as_str());
        let _turn = self.keeper.turns.lock(&[who.to_string()]).await;
        for granted in self.devices().held(&who) {
            let removed = self.keeper.take_away(&Named::new(who.clone(), granted));
            removed.map_err(|why| LeaseError::File(name.as_str().to_owned(), why.into(), "it is not released"))?;
        }
        Ok(match self.devices().release(&who, RELEASE_PATIENCE).await {
            Released::Nothing | Released::Refused => None,
            Released::Clean => Some(Vec::new()),
            Released::Dirty(dirty) => Some(dirty.iter().map(|(_, id)| id.to_string()).collect()),
        })
    }

    /// Has a lease last so long from now on, or until it is released.
    pub fn renew(&self, name: &str, ttl: Option<Duration>) -> Result<Lease, LeaseError> {
        let name = LeaseName::try_new(name)?;
        let who = consumer(name.as_str());
        let held = self.devices().renew(&who, ttl).then(|| self.devices().held(&who));
        let held = held.into_iter().flatten().next();
        let none = || LeaseError::None(name.as_str().to_owned());
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

pub(crate) fn consumer(name: &str) -> Consumer {
    Consumer::Lease { name: name.to_owned() }
}
