//! What a plugin may use up over time: names of resources, and ids.

use super::Plugin;
use crate::inventory::Inventory;
use crate::units::Rejection;
use std::time::Instant;

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
