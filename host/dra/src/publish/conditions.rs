//! What components find of devices that work: taints that come at once, and go ever later from those to which they come again and again.

use crate::inventory::{Inventory, Listed};
use devgate_agent_protocol::{Effect, Taint};
use devgate_kubelet::flaps::Flaps;
use devgate_types as found;
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// The conditions that were shown last.
pub(super) struct Conditions {
    flaps: Flaps,
    shown: BTreeSet<String>,
}

impl Conditions {
    pub(super) fn new() -> Self {
        Self { flaps: Flaps::new(super::TAINTS_EVERY), shown: BTreeSet::new() }
    }

    /// Notes what devices have by now.
    pub(super) fn note(&mut self, now: &Inventory, at: Instant) {
        let there: BTreeSet<_> = now.devices.iter().flat_map(of).collect();
        let new = there.difference(&self.shown).map(String::as_str);
        self.flaps.note(|id| !there.contains(id), new, at);
        self.shown.retain(|id| self.flaps.hidden(id, at).is_some());
        self.shown.extend(there);
    }

    /// When the first goes that is shown although it is gone.
    pub(super) fn until(&self, at: Instant) -> Option<Instant> {
        self.shown.iter().filter_map(|id| Some(self.flaps.hidden(id, at)?.1)).min()
    }

    /// The taints of a device, each key once with its strongest effect; the strongest first. `driver` is whose keys they are.
    pub(super) fn taints(&self, device: &str, driver: &str) -> Vec<Taint> {
        let begin = format!("{device} ");
        let ids = self.shown.range(begin.clone()..).take_while(|id| id.starts_with(&begin));
        let mut strongest = BTreeMap::new();
        for (key, effect) in ids.filter_map(|id| id.strip_prefix(&begin)?.split_once(' ')) {
            let evicts = effect == found::Effect::Evict.as_str();
            *strongest.entry(key).or_insert(evicts) |= evicts;
        }
        let effect = |evicts| if evicts { Effect::NoExecute } else { Effect::NoSchedule };
        let taint = |(key, evicts)| Taint { key: format!("{driver}/{key}"), effect: effect(evicts) };
        let mut taints: Vec<_> = strongest.into_iter().map(taint).collect();
        taints.sort_by_key(|taint| taint.effect != Effect::NoExecute);
        taints
    }
}

/// Device, key and effect of each condition that keeps pods away. Names of devices are DNS labels, and have no space.
fn of(device: &Listed) -> impl Iterator<Item = String> {
    let conditions = device.facts.iter().flat_map(|facts| facts.conditions.iter());
    // Of the others no taint says it: older API servers refuse one without an effect.
    let keeps_away = conditions.filter(|condition| condition.effect > found::Effect::Inform);
    keeps_away.map(|condition| format!("{} {} {}", device.name, condition.key, condition.effect.as_str()))
}
