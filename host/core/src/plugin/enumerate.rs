//! Asks the component what there is, and takes over what it says.

use super::order::Order;
use super::{Plugin, load};
use crate::inventory::Inventory;
use crate::units::{Cause, Rejection, UnitRecord};
use devgate_types::component::Component;
use devgate_types::{CallError, UnitId};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// Rejections that are logged one by one; more at once are counted.
const LOGGED_REJECTIONS: usize = 16;

impl Plugin {
    #[tracing::instrument(name = "core.enumerate", level = "trace", skip_all)]
    pub(super) async fn enumerate(&mut self, component: &Arc<dyn Component>) -> Result<(), CallError> {
        load::matched_now(&self.calls).await?;
        let component = Arc::clone(component);
        let before = self.units.inventory().clone();
        let _turn = self.calls.services.component_state.write_turn().await?;
        let call = self.calls.call(component, move |component, host| Inventory::ask_again(component, host, &before));
        let (inventory, rejected) = call.await?;
        self.take_answer(inventory, rejected.into_iter().collect());
        Ok(())
    }

    /// Takes what passed the gate, as far as the plugin may have so much, and says what did not.
    pub(super) fn take_answer(&mut self, mut inventory: Inventory, mut rejected: BTreeSet<Rejection>) {
        rejected.extend(self.too_many_names(&mut inventory));
        rejected.extend(self.too_many_ids(&mut inventory));
        let name = self.policy().name.to_string();
        let new: Vec<_> = rejected.difference(&self.rejected).collect();
        for rejection in new.iter().take(LOGGED_REJECTIONS) {
            tracing::warn!(plugin = name, family = "refused", "plugin {name}: {rejection}");
        }
        if let Some(more) = new.len().checked_sub(LOGGED_REJECTIONS).filter(|more| *more > 0) {
            tracing::warn!(plugin = name, family = "refused", more, "plugin {name}: {more} more units are rejected");
        }
        self.core.recorder.set_rejected(&rejected, inventory.left.len(), inventory.unread.len());
        self.rejected = rejected;
        self.adopt(inventory);
    }

    /// Takes over a new inventory. What a pod holds stays as it was handed out.
    pub(super) fn adopt(&mut self, mut new: Inventory) {
        let held = self.core.ledger.held(self.core.index);
        let (mut changed, mut unlisted) = (HashMap::new(), HashMap::new());
        let moved = self.follow(&held, &new);
        for (resource, pool, old) in self.units.inventory().all().filter(|(.., unit)| held.contains(&unit.id)) {
            new.remove_elsewhere(resource, &old.id);
            let old = moved.get(&old.id).unwrap_or(old);
            let (id, kept) = (old.id.clone(), new.keep(resource, pool, old));
            match kept {
                None => {}
                Some(Cause::Unlisted) => drop(unlisted.insert(id, "the component does not list it any more".into())),
                Some(_) => drop(changed.insert(id, "its hardware is another than when it was handed out".into())),
            }
        }
        self.core.wake.away.seen(changed.keys().chain(unlisted.keys()));
        // A resource that lost its pool keeps its stream, with an empty list.
        for resource in self.resources.keys() {
            new.pools.entry(resource.clone()).or_default();
        }
        let news = new != *self.units.inventory();
        if news {
            self.log_difference(&new);
            self.units.replace(new);
            self.order = Order::default();
            self.relabel = true;
            self.watch_node();
            self.complete();
            self.compare_with_memory();
        }
        self.units.set(Cause::HardwareChanged, &changed);
        self.units.set(Cause::Unlisted, &unlisted);
        self.core.held_units.restore(self.units.inventory());
        self.write_device_info_again();
        self.core.breaker.retain(|id| self.units.contains(id));
        self.report();
    }

    /// The units that are held and are the same devices with other nodes now, where their consumer looks up what they are: it is these
    /// from now on that no other unit gets.
    fn follow(&self, held: &BTreeSet<UnitId>, new: &Inventory) -> HashMap<UnitId, Arc<UnitRecord>> {
        let (mut moved, mut footprints) = (HashMap::new(), Vec::new());
        for (resource, pool, old) in self.units.inventory().all().filter(|(.., unit)| held.contains(&unit.id)) {
            let now = new.get(resource, &old.id).and_then(|now| now.moved_from(old));
            let Some(now) = now.filter(|_| !self.core.allocations.is_kept_by_paths(resource, old)) else {
                continue;
            };
            let pool = new.pools.get(resource).unwrap_or(pool);
            footprints.push(now.footprint(pool, self.policy()));
            moved.insert(now.id.clone(), Arc::new(now));
        }
        if !moved.is_empty() {
            for refused in self.core.ledger.follow(self.core.index, footprints) {
                moved.remove(&refused);
            }
            self.core.held_units.follow(&moved);
            self.core.allocations.moves();
        }
        moved
    }

    /// Says of every unit whether it is what was handed out under its id before the host started.
    pub(super) fn compare_with_memory(&mut self) {
        let drifted = self.units.inventory().drifted(self.policy(), &self.core.allocations);
        self.units.set(Cause::HeldAsOther, &drifted);
    }

    /// Says what the units need for themselves.
    pub(super) fn report(&self) {
        let footprints = self.units.inventory().footprints(self.policy(), &self.core.allocations);
        self.core.ledger.report(self.core.index, footprints);
    }

    fn log_difference(&self, new: &Inventory) {
        let [before, after] =
            [self.units.inventory(), new].map(|all| all.units().map(|unit| &unit.id).collect::<HashSet<_>>());
        let (added, removed) = (after.difference(&before).count(), before.difference(&after).count());
        let left = new.left.len();
        if added == 0 && removed == 0 && left == self.units.inventory().left.len() {
            return;
        }
        let name = self.policy().name.as_str();
        let total = after.len();
        tracing::info!(
            plugin = name,
            total,
            added,
            removed,
            left,
            "plugin {name}: {total} devices (+{added}, -{removed}){}",
            match left {
                0 => String::new(),
                left => format!(", {left} left out by the policy (only, except)"),
            }
        );
    }
}

/// The most resources of one plugin over the process's life: the kubelet never forgets one (it stays in the node's
/// capacity, with 0, until the node object is made anew).
const MAX_RESOURCES: usize = 16;

impl Plugin {
    /// Takes out the resources that are one new name too many; a policy that grants a pattern does not say how many there
    /// will be.
    pub(super) fn too_many_names(&self, inventory: &mut Inventory) -> Vec<Rejection> {
        let mut room = MAX_RESOURCES.saturating_sub(self.resources.len());
        let mut rejected = Vec::new();
        inventory.pools.retain(|name, _| {
            if self.resources.contains_key(name) {
                return true;
            }
            if room > 0 {
                room -= 1;
                return true;
            }
            rejected.push(Rejection {
                what: format!("resource {name}"),
                why: format!(
                    "the plugin has offered {MAX_RESOURCES} resources already, and the kubelet never forgets one; restart devgate to begin anew"
                ),
            });
            false
        });
        rejected
    }

    /// Takes out the units whose ids are one new id too many.
    pub(super) fn too_many_ids(&mut self, inventory: &mut Inventory) -> Option<Rejection> {
        let beyond = self.id_rate_limit.beyond(inventory.units().map(|unit| &unit.id), Instant::now());
        let first = beyond.iter().min()?;
        let rejection = Rejection {
            what: match beyond.len() - 1 {
                0 => format!("id {first}"),
                more => format!("id {first} and {more} more"),
            },
            why: "the component has made up too many new ids within an hour; an id must stay the same as long as its \
                  hardware does"
                .into(),
        };
        for pool in inventory.pools.values_mut() {
            pool.units.retain(|unit| !beyond.contains(&unit.id));
        }
        Some(rejection)
    }
}
