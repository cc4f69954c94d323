//! The end of what a consumer has, where it says so and where its time is over: it is so at once, and what its components have to do goes on
//! in the background.

use super::{AllDevices, Released};
use crate::allocations::Consumer;
use crate::resource::Core;
use devgate_types::{ResourceName, UnitId};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// A unit that is to be released, and the plugin that looks after it, if one does.
type Left = (Option<Arc<Core>>, ResourceName, UnitId);

impl AllDevices {
    /// Takes all that a consumer has from it. Waits until it is released, or until `bound`.
    pub(super) async fn let_go(&self, who: &Consumer, bound: Duration) -> Released {
        let ended = self.allocations.end(who);
        if !ended.any {
            return Released::Nothing;
        }
        tracing::info!(target: "audit", event = "release", consumer = %who, units = ended.units.len(), "{who}: has nothing any more");
        let plugins = self.registry.plugins();
        let of = |(resource, id): (ResourceName, UnitId)| -> Left {
            let core = plugins.iter().find(|core| core.held_units.get(&resource, &id).is_some());
            (core.map(Arc::clone), resource, id)
        };
        let left: Vec<Left> = ended.units.into_iter().map(of).collect();
        let mut releasing = JoinSet::new();
        for (core, resource, id) in left.clone() {
            match core {
                // On its own, so that it goes on where the caller has given up.
                Some(core) => drop(releasing.spawn(async move { core.release_left(&resource, &id).await })),
                // What no component has to release is clean; the rest cannot be released without its plugin.
                None => self.allocations.forget_clean(&resource, &id),
            }
        }
        let all = async { while releasing.join_next().await.is_some() {} };
        if tokio::time::timeout(bound.min(LONGEST), all).await.is_err() {
            releasing.detach_all();
        }
        let is_dirty = |(_, resource, id): &&Left| self.allocations.left_by(resource, id).is_some();
        let dirty: Vec<_> = left
            .iter()
            .filter(is_dirty)
            .map(|(core, _, id)| (core.as_ref().map(|core| core.plugin().clone()), id.clone()))
            .collect();
        for core in plugins {
            core.changed_hands();
        }
        match dirty.is_empty() {
            true => Released::Clean,
            false => Released::Dirty(dirty),
        }
    }
}

/// The longest time that is waited for.
const LONGEST: Duration = Duration::from_secs(3_600);

impl Core {
    /// Releases a unit that its consumer is done with, once nothing else is done to it. What fails is tried again later, with what fails
    /// of pods'.
    async fn release_left(&self, resource: &ResourceName, id: &UnitId) {
        let ids = std::slice::from_ref(id);
        let _turn = self.held_units.locks.lock(ids).await;
        // Another consumer may have got it meanwhile, for which it was released first.
        if self.allocations.left_by(resource, id).is_none() {
            return;
        }
        if let Some(held) = self.held_units.get(resource, id)
            && self.release(&held, None).await
        {
            self.free(resource, ids);
        }
    }
}

/// The longest time that nothing is looked at: a machine that slept was not counted by timers.
const AT_LEAST_EVERY: Duration = Duration::from_secs(60);
/// What a component may take before the next one's turn.
const BOUND: Duration = Duration::from_secs(60);

/// Releases what is over by itself, for as long as it is polled.
pub(crate) async fn expire(devices: Arc<AllDevices>) {
    loop {
        let (over, next) = devices.allocations.expired();
        for who in over {
            let _turn = devices.busy.lock(std::slice::from_ref(&who)).await;
            // It may have been renewed meanwhile.
            if devices.allocations.expired().0.contains(&who) {
                tracing::info!(target: "audit", event = "expire", consumer = %who, "{who}: its time is over");
                devices.let_go(&who, BOUND).await;
            }
        }
        let pause = next.unwrap_or(AT_LEAST_EVERY).min(AT_LEAST_EVERY);
        // What has just come to its end takes its turn at once.
        let pause = pause.max(Duration::from_millis(1));
        let _ = tokio::time::timeout(pause, devices.allocations.renewed()).await;
    }
}
