//! Leases: devices of a machine without a kubelet, for who asks for them by a name and says when that is over. None has what a pod, a
//! claim or another lease has.

use crate::give::{Wanted, give};
use crate::keep::Keeper;
use crate::lease::{Lease, LeaseError, LeaseRequest, MOST};
use crate::name::LeaseName;
use crate::named::Named;
use devgate_core::{Consumer, Devices, Granted, Released};
use devgate_types::{ResourceName, escape};
use std::sync::Arc;
use std::time::Duration;

/// What releasing may take before it goes on in the background.
const RELEASE_PATIENCE: Duration = Duration::from_secs(10);

/// The leases of a host, whose files somebody keeps.
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

    /// Leases devices. The same asked again is the same lease.
    ///
    /// # Errors
    /// Where there are no such devices, or the file that says what they are could not be written; then nothing is leased.
    pub async fn lease(&self, request: &LeaseRequest) -> Result<Lease, LeaseError> {
        let name = LeaseName::try_new(&request.name)?;
        let resource = ResourceName::try_new(&request.resource)?;
        let mut request = request.clone();
        request.ids.sort();
        request.ids.dedup();
        let count = request.count.unwrap_or_else(|| request.ids.len().max(1));
        if !(1..=MOST).contains(&count) || count < request.ids.len() {
            return Err(LeaseError::Count(request.name, count));
        }
        let who = consumer(name.as_str());
        let _turn = self.keeper.turns.lock(&[who.to_string()]).await;
        let held = self.devices().held(&who).into_iter().next();
        let is_new = held.is_none();
        let granted = match held {
            Some(held) => self.again(&who, held, &request, count).await?,
            None => self.give(&who, &resource, &request, count).await?,
        };
        let lease = shown(name.as_str(), &granted, None);
        if let Some(named) = Named::new(who.clone(), granted)
            && let Err(why) = self.keeper.put(named).await
        {
            let mut then = "it lasts, and the file is written as soon as that can be";
            if is_new {
                // What could not be written is not there; what of it is noted is tried to be removed with the next look.
                self.devices().release(&who, RELEASE_PATIENCE).await;
                then = "it was given back";
            }
            return Err(LeaseError::File(request.name, why, then));
        }
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
            let ids = escape(&held.ids.join(", "), 160);
            return Err(LeaseError::Taken(request.name.clone(), ids, held.resource));
        }
        let granted = self.ask(who, &held.resource, &held.ids, count, request).await?;
        if let Some(ttl) = request.ttl.map(Duration::from_secs) {
            self.devices().renew(who, Some(ttl));
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
        let offers = Arc::clone(&self.devices().offers().borrow());
        if !offers.iter().any(|offer| offer.resource() == resource) {
            let names: Vec<_> = offers.iter().map(|offer| offer.resource().as_str()).collect();
            let there = match names.as_slice() {
                [] => "none is offered yet; `devgate status` says why".to_owned(),
                names => format!("there are {}", names.join(", ")),
            };
            return Err(LeaseError::Unknown(resource.clone(), there));
        }
        self.ask(who, resource, &request.ids, count, request).await
    }

    async fn ask(
        &self,
        who: &Consumer,
        resource: &ResourceName,
        ids: &[String],
        count: usize,
        request: &LeaseRequest,
    ) -> Result<Granted, LeaseError> {
        let wanted = Wanted {
            who,
            resource,
            count,
            ids,
            numa: &[],
            ttl: request.ttl.map(Duration::from_secs),
        };
        Ok(give(self.devices(), &wanted).await?)
    }

    /// Ends a lease: its file goes first, so that no container gets what may be another's. Whether there was one, and which of its
    /// devices are still to be released by their components; that is tried until it works.
    ///
    /// # Errors
    /// Where its file cannot be removed.
    pub async fn release(&self, name: &str) -> Result<Option<Vec<String>>, LeaseError> {
        let name = LeaseName::try_new(name)?;
        let who = consumer(name.as_str());
        let _turn = self.keeper.turns.lock(&[who.to_string()]).await;
        let held = self.devices().held(&who).into_iter();
        for named in held.filter_map(|granted| Named::new(who.clone(), granted)) {
            let removed = self.keeper.take_away(&named);
            removed.map_err(|why| LeaseError::File(name.as_str().to_owned(), why.into(), "it is not released"))?;
        }
        Ok(match self.devices().release(&who, RELEASE_PATIENCE).await {
            Released::Nothing | Released::Refused => None,
            Released::Clean => Some(Vec::new()),
            Released::Dirty(dirty) => Some(dirty.iter().map(|(_, id)| id.to_string()).collect()),
        })
    }

    /// Has a lease last so long from now on, or until it is released.
    ///
    /// # Errors
    /// Where there is none of this name.
    pub fn renew(&self, name: &str, ttl: Option<Duration>) -> Result<Lease, LeaseError> {
        let name = LeaseName::try_new(name)?;
        let (who, none) = (consumer(name.as_str()), || LeaseError::None(name.as_str().to_owned()));
        if !self.devices().renew(&who, ttl) {
            return Err(none());
        }
        let held = self.devices().held(&who);
        Ok(shown(name.as_str(), held.first().ok_or_else(none)?, None))
    }

    /// All leases, by their names.
    #[must_use]
    pub fn list(&self) -> Vec<Lease> {
        let leases = Named::all(self.devices()).into_iter();
        let leases = leases.filter(|named| matches!(named.who, Consumer::Lease { .. }));
        let lease = |named: Named| shown(&named.device, &named.granted, self.keeper.problem(&named));
        leases.map(lease).collect()
    }
}

fn shown(name: &str, granted: &Granted, problem: Option<String>) -> Lease {
    let own = Named::new(consumer(name), granted.clone()).and_then(|named| named.name(&granted.reply));
    Lease {
        name: name.to_owned(),
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
