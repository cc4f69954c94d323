//! What front ends see of the host: who gets which devices, and when that is over. One per host, so that an end works where a plugin is
//! gone. Pods come by [`crate::offer::Offer`], as they do not say when they are over; all other consumers come here and do. So do pods
//! that look up by a name what they have: what they were told is kept here, as that of all others.

mod held;
mod release;

pub(crate) use release::expire;

use crate::allocations::{AllocationId, Allocations, Consumer, Mode};
use crate::keyed_lock::KeyedLock;
use crate::offer::{AllocateError, BoxFuture, Offers, Reply};
use crate::registry::Registry;
use crate::resource::{Part, Resource, allocate};
use devgate_types::{PluginName, ResourceName, Setting, UnitId, escape};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// What a consumer asks for of one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The resource, as it is offered.
    pub resource: ResourceName,
    /// Ids of it, as they are offered.
    pub ids: Vec<String>,
    /// Which share of each it is, where a scheduler counts how much of one is left. Others may have other shares.
    pub share: Option<String>,
    /// Whether others are kept from it.
    pub mode: Mode,
    /// What the consumer calls it, among several.
    pub tag: String,
    /// What its component is told of it besides: at most 64, of 10 KiB each. One that takes none is not asked.
    pub settings: Vec<Setting>,
}

impl Ask {
    /// Each id once.
    fn sorted_ids(&self) -> Vec<String> {
        self.ids.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// What a consumer has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// Names the allocation; no other one ever has this, also not after a restart.
    pub id: AllocationId,
    /// As in the ask.
    pub tag: String,
    /// As in the ask.
    pub resource: ResourceName,
    /// As in the ask, sorted.
    pub ids: Vec<String>,
    /// What a container needs to use them.
    pub reply: Arc<Reply>,
    /// How long it lasts still, where it is over by itself.
    pub left: Option<Duration>,
    /// Whether its consumer was told, and what it was told is still so: what is only noted for it, or what a component made ready for it
    /// in an earlier boot, is to be asked for again.
    pub told: bool,
    /// Whether it is known to be of an earlier boot: no process of this one was started with it.
    pub earlier_boot: bool,
}

/// A consumer has something no more that it had: the hardware, or the policy's leave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("allocation {allocation} of resource {}: {why}", escape(resource, 160))]
pub struct Gone {
    /// Which.
    pub allocation: AllocationId,
    /// The resource, as it was offered.
    pub resource: String,
    /// Why: escaped text for people.
    pub why: String,
    /// Whether only its plugin is not there, which may come: so it is when the host has just started.
    pub may_come: bool,
}

/// What became of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Released {
    /// No consumer has it, and it is clean.
    Clean,
    /// The consumer is done with it, and no other gets these until their plugins have released them. It is tried again.
    Dirty(Vec<(Option<PluginName>, UnitId)>),
    /// The consumer had nothing; also where it has been released before.
    Nothing,
    /// This consumer does not say when it is over.
    Refused,
}

/// All devices of a host, for consumers that say themselves when they are done, and for pods that look up what they have.
pub trait Devices: Send + Sync + 'static {
    /// The resources, each with its list of devices as pods see it.
    fn offers(&self) -> Offers;

    /// The ids of a resource that this consumer could have at this moment; and the others, each with why not: escaped text for people.
    fn available(&self, resource: &ResourceName, who: &Consumer) -> (Vec<String>, Vec<(String, String)>);

    /// How many ids of a resource work, given away or not.
    fn working(&self, resource: &ResourceName) -> usize;

    /// All consumers that have something and say themselves when they are done with it.
    fn consumers(&self) -> BTreeSet<Consumer>;

    /// Gives all of these, or nothing. Who has just these already is told of them again; who has others is refused. With `ttl` it is over
    /// by itself after that time, unless it is renewed. Pods may have any number, and get anew what they ask for.
    fn allocate<'a>(
        &'a self,
        who: &'a Consumer,
        asks: &'a [Ask],
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Result<Vec<Granted>, AllocateError>>;

    /// What a consumer has, as it was told then; of pods' what they look up.
    fn held(&self, who: &Consumer) -> Vec<Granted>;

    /// One thing that a consumer has, with what stands for it today: after a restart of the host or of the node. Never more than it had; what
    /// would be less is gone. Nothing where the consumer has it no more.
    fn restore<'a>(&'a self, who: &'a Consumer, id: AllocationId) -> BoxFuture<'a, Option<Result<Granted, Gone>>>;

    /// How often something that a consumer has was found behind another node: what was restored before is not so any more.
    fn times_moved(&self) -> u64;

    /// What a consumer has is over by itself after this time from now on, or never. Whether it has anything.
    fn renew(&self, who: &Consumer, ttl: Option<Duration>) -> bool;

    /// A consumer is done with all that it has, whatever comes of releasing it: that is waited for until `bound`, and goes on after it.
    fn release<'a>(&'a self, who: &'a Consumer, bound: Duration) -> BoxFuture<'a, Released>;
}

/// The devices of all plugins.
pub(crate) struct AllDevices {
    registry: Registry,
    allocations: Allocations,
    /// Whom something is being done for.
    busy: KeyedLock<Consumer>,
}

impl AllDevices {
    pub(crate) fn new(registry: Registry, allocations: Allocations) -> Self {
        let busy = KeyedLock::default();
        Self { registry, allocations, busy }
    }

    fn resource<T: Default>(&self, name: &ResourceName, of: impl FnOnce(&Resource) -> T) -> T {
        self.registry.resource(name).map(|resource| of(&resource)).unwrap_or_default()
    }

    async fn give(&self, who: &Consumer, asks: &[Ask], ttl: Option<Duration>) -> Result<Vec<Granted>, AllocateError> {
        let pods = *who == Consumer::Pods;
        if !pods && !who.ends_itself() {
            return Err(AllocateError::Refused(format!("{who} cannot be given devices here")));
        }
        let mut turn = None;
        if !pods {
            turn = Some(self.busy.lock(std::slice::from_ref(who)).await);
            match self.again(who, asks).await? {
                Some(granted) => return Ok(granted),
                // What was noted for it and never reached it.
                None => drop(self.let_go(who, Duration::MAX).await),
            }
        }
        let resource = |ask: &Ask| {
            let unknown = || AllocateError::Unknown(format!("resource {}: no plugin offers it", ask.resource));
            self.registry.resource(&ask.resource).ok_or_else(unknown)
        };
        let resources = asks.iter().map(resource).collect::<Result<Vec<_>, _>>()?;
        let parts = asks.iter().zip(&resources).map(|(ask, resource)| Part {
            resource,
            ids: &ask.ids,
            share: ask.share.as_deref(),
            mode: ask.mode,
            tag: &ask.tag,
            settings: &ask.settings,
            is_kept: true,
        });
        let parts: Vec<_> = parts.collect();
        let given = allocate(who, ttl, &parts).await;
        resources.iter().for_each(|resource| resource.core.changed_hands());
        drop(turn);
        let granted = asks.iter().zip(given?).map(|(ask, (id, reply))| Granted {
            id,
            tag: ask.tag.clone(),
            resource: ask.resource.clone(),
            ids: ask.sorted_ids(),
            reply,
            left: ttl,
            told: true,
            earlier_boot: false,
        });
        Ok(granted.collect())
    }
}

impl Devices for AllDevices {
    fn offers(&self) -> Offers {
        self.registry.offers()
    }

    fn available(&self, resource: &ResourceName, who: &Consumer) -> (Vec<String>, Vec<(String, String)>) {
        self.resource(resource, |resource| resource.available_to(who))
    }

    fn working(&self, resource: &ResourceName) -> usize {
        self.resource(resource, Resource::working)
    }

    fn consumers(&self) -> BTreeSet<Consumer> {
        self.allocations.consumers()
    }

    fn allocate<'a>(
        &'a self,
        who: &'a Consumer,
        asks: &'a [Ask],
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Result<Vec<Granted>, AllocateError>> {
        Box::pin(self.give(who, asks, ttl))
    }

    fn held(&self, who: &Consumer) -> Vec<Granted> {
        let held = self.allocations.held(who);
        held.iter().filter_map(|(id, of)| self.granted(*id, of)).collect()
    }

    fn restore<'a>(&'a self, who: &'a Consumer, id: AllocationId) -> BoxFuture<'a, Option<Result<Granted, Gone>>> {
        Box::pin(async move {
            let _turn = self.busy.lock(std::slice::from_ref(who)).await;
            let of = self.allocations.held(who).into_iter().find(|(held, _)| *held == id)?.1;
            Some(self.restored(id, &of).await)
        })
    }

    fn times_moved(&self) -> u64 {
        self.allocations.times_moved()
    }

    fn renew(&self, who: &Consumer, ttl: Option<Duration>) -> bool {
        self.allocations.renew(who, ttl)
    }

    fn release<'a>(&'a self, who: &'a Consumer, bound: Duration) -> BoxFuture<'a, Released> {
        Box::pin(async move {
            if !who.ends_itself() {
                return Released::Refused;
            }
            let _turn = self.busy.lock(std::slice::from_ref(who)).await;
            self.let_go(who, bound).await
        })
    }
}
