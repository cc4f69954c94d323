//! In the background: what no pod has any more is released, what failed is tried again.

use super::Core;
use crate::allocations::{Consumer, Giving, State};
use crate::held_units::Reclaimable;
use crate::holders::HoldersFeed;
use crate::watcher::Asked;
use devgate_types::UnitId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// When to try again what another task has just now.
const TAKEN: Duration = Duration::from_secs(1);
/// How long nothing happens where nothing is to be tried again.
const IDLE: Duration = Duration::from_secs(3_600);

/// Units that are released before they are settled: an allocation that wants one of them waits for the others.
const RELEASED_TOGETHER: usize = 4;
/// The same where nothing is released.
const FREED_TOGETHER: usize = 1_024;

/// Runs until it is dropped.
pub(crate) async fn sweep(core: Arc<Core>, feed: HoldersFeed) {
    let mut forgotten = core.allocations.forgotten();
    loop {
        let (due, mut next) = core.held_units.due_retries();
        for id in due {
            let ids = std::slice::from_ref(&id);
            let Some(_turn) = core.held_units.locks.try_lock(ids) else {
                let again = Instant::now() + TAKEN;
                next = Some(next.map_or(again, |next| next.min(again)));
                continue;
            };
            if let Some((held, failed)) = core.held_units.failed_call(&id)
                && core.release(&held, Some(failed)).await
            {
                core.free(&held.resource, ids);
            }
        }
        let mut first = core.held_units.first_look();
        if first.is_some_and(|at| at <= Instant::now()) {
            core.held_units.record_look();
            feed.ask();
            first = core.held_units.first_look();
        }
        let idle = Instant::now() + IDLE;
        let next = next.unwrap_or(idle).min(first.unwrap_or(idle));
        tokio::select! {
            // Some other unit may be what it was again.
            _ = forgotten.changed() => core.wake.ask(Asked::HEALTH),
            () = core.held_units.news.notified() => {}
            () = tokio::time::sleep_until(next.into()) => {}
        }
    }
}

impl Core {
    /// What consumers have of it that never say when they are done with that.
    pub(crate) fn held(&self) -> Vec<Reclaimable> {
        self.held_units.held(self.index, self.calls().has_lifecycle())
    }

    /// Takes note of units that pods are seen to have and that were not known to be handed out.
    pub(crate) fn adopt(&self, is_seen: &dyn Fn(&str, &str) -> bool) {
        let calls = self.calls();
        let policy = &calls.grants.policy;
        for (resource, snapshot) in &self.shown.all() {
            let units = self.held_units.adopt(resource, snapshot, is_seen);
            if units.is_empty() {
                continue;
            }
            // No other consumer gets them, now and after a restart. Where another unit has its hardware, that is said with the device.
            for unit in &units {
                drop(self.ledger.hold(self.index, vec![unit.footprint(&snapshot.pool, policy)]));
            }
            let giving = Giving::whole(resource, &snapshot.pool.shared_nodes, &units, policy, calls.has_lifecycle());
            self.allocations.note(&Consumer::Pods, State::Active, None, &[giving]);
            self.allocations.save_soon();
        }
    }

    /// Lets go of these, unless something happened to them since they were read.
    pub(crate) async fn reclaim(&self, held: &[Reclaimable]) {
        let (plugin, mut freed) = (self.name(), 0_usize);
        // Where there is nothing to release, many are settled at once.
        let lifecycle = self.calls().has_lifecycle();
        let together = if lifecycle { RELEASED_TOGETHER } else { FREED_TOGETHER };
        for held in held.chunks(together) {
            freed += self.free_together(held).await;
        }
        if freed > 0 {
            tracing::info!(plugin, freed, "plugin {plugin}: {freed} devices that no pod has any more are free again");
        }
    }

    /// How many of these are free now.
    async fn free_together(&self, held: &[Reclaimable]) -> usize {
        let (mut turns, mut free) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
        for held in held {
            let (Ok(id), Some((_, version))) = (UnitId::try_new(&held.id), held.version) else {
                continue;
            };
            let ids = std::slice::from_ref(&id);
            // The task that has the turn hands it out.
            let Some(turn) = self.held_units.locks.try_lock(ids) else {
                continue;
            };
            // Nothing was handed out since the look began: that is what the version says, and the turn keeps it so.
            let Some(held) = self.held_units.get_version(&id, version) else {
                continue;
            };
            // Another slot of it has a consumer that says itself when that is over.
            if self.allocations.is_with_others(&held.resource, &id) {
                self.held_units.record_left_by_pods(ids);
                self.allocations.forget(&held.resource, ids);
            } else if self.release(&held, None).await {
                free.entry(held.resource).or_default().push(id);
                turns.push(turn);
            }
        }
        for (resource, ids) in &free {
            self.free(resource, ids);
        }
        free.values().map(Vec::len).sum()
    }
}
