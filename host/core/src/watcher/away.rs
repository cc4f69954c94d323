//! Which units went away while something was done to them, however short it was and whatever is there now.

use super::takes_away;
use crate::units::UnitRecord;
use devgate_node::NodeEvent;
use devgate_types::{Mutex, UnitId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The units of one plugin that are watched now: a few, each under its turn.
#[derive(Default)]
pub(crate) struct Away(Mutex<BTreeMap<UnitId, Watched>>);

struct Watched {
    unit: Arc<UnitRecord>,
    /// Whether it was seen or said to be away since it is watched.
    away: bool,
}

/// Watches units until it is asked or dropped.
pub(crate) struct Watching<'a> {
    away: &'a Away,
    ids: Vec<UnitId>,
}

impl Away {
    /// Watches these from now on.
    pub(crate) fn watch(&self, units: &[Arc<UnitRecord>]) -> Watching<'_> {
        let mut watched = self.0.lock();
        for unit in units {
            let unit = Arc::clone(unit);
            watched.insert(unit.id.clone(), Watched { unit, away: false });
        }
        let ids = units.iter().map(|unit| unit.id.clone()).collect();
        Watching { away: self, ids }
    }

    /// A look found that these are not there.
    pub(crate) fn seen<'a>(&self, ids: impl IntoIterator<Item = &'a UnitId>) {
        let mut watched = self.0.lock();
        for id in ids {
            if let Some(watched) = watched.get_mut(id) {
                watched.away = true;
            }
        }
    }

    /// What an event says may have gone is taken for gone: by the time that anybody looks it may be back.
    pub(super) fn tell(&self, event: &NodeEvent) {
        for watched in self.0.lock().values_mut() {
            watched.away |= takes_from(event, &watched.unit);
        }
    }
}

/// Whether a unit may have been without something that it is made of when this happened.
fn takes_from(event: &NodeEvent, unit: &UnitRecord) -> bool {
    let mut nodes = unit.nodes.iter().map(|granted| granted.node.path.as_str());
    match event {
        NodeEvent::Device(event) if takes_away(event.action) => {
            let gone = &event.device;
            let owners = unit.nodes.iter().filter_map(|granted| granted.owner.as_ref());
            let mut parts = unit.backing.iter().chain(owners);
            parts.any(|part| part == gone || part.is_beneath(gone) || gone.is_beneath(part))
                || event.node.as_deref().is_some_and(|node| nodes.any(|own| own == node))
        }
        NodeEvent::Path(path) => nodes.any(|own| {
            let rest = own.strip_prefix(path.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }),
        NodeEvent::Lost => true,
        _ => false,
    }
}

impl Watching<'_> {
    /// Those of these that were there all the time as far as anybody knows, and those that were not.
    pub(crate) fn end(self) -> (Vec<UnitId>, Vec<UnitId>) {
        let watched = self.away.0.lock();
        let there = |id: &UnitId| watched.get(id).is_some_and(|watched| !watched.away);
        self.ids.iter().cloned().partition(there)
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let mut watched = self.away.0.lock();
        for id in &self.ids {
            watched.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Inventory;
    use crate::testing::{Fake, call_host, node};
    use devgate_node::{DeviceAction, DeviceEvent};

    /// The two GPUs of the node.
    fn units() -> Vec<Arc<UnitRecord>> {
        let (inventory, _) = Inventory::ask(&Fake::gpus(), &mut call_host()).unwrap();
        inventory.units().cloned().collect()
    }

    fn device(action: DeviceAction, subsystem: &str, name: &str) -> NodeEvent {
        NodeEvent::Device(DeviceEvent {
            action,
            device: node().device(subsystem, name).unwrap(),
            subsystem: subsystem.to_owned(),
            node: None,
            words: Vec::new(),
        })
    }

    #[test]
    fn what_was_seen_or_said_to_go_was_away_whatever_comes_after() {
        let (away, units) = (Away::default(), units());
        let (first, second) = (units[0].id.clone(), units[1].id.clone());
        let back = device(DeviceAction::Add, "drm", "card0");
        let events = [
            device(DeviceAction::Remove, "drm", "card0"),
            device(DeviceAction::Unbind, "pci", first.as_str()),
            NodeEvent::Path("/dev/dri/card0".into()),
        ];
        for event in events {
            let watching = away.watch(&units);
            away.tell(&event);
            away.tell(&back);
            assert_eq!(watching.end(), (vec![second.clone()], vec![first.clone()]), "{event:?}");
        }
        let watching = away.watch(&units);
        away.tell(&back);
        away.tell(&device(DeviceAction::Remove, "misc", "kvm"));
        away.tell(&NodeEvent::Path("/dev/dri/card".into()));
        assert_eq!(watching.end(), (vec![first.clone(), second.clone()], vec![]));
        let watching = away.watch(&units);
        away.seen([&first]);
        assert_eq!(watching.end(), (vec![second.clone()], vec![first.clone()]));
        for event in [NodeEvent::Lost, NodeEvent::Path("/dev".into())] {
            let watching = away.watch(&units);
            away.tell(&event);
            assert_eq!(watching.end(), (vec![], vec![first.clone(), second.clone()]));
        }
        // What is not watched is not kept.
        away.seen([&first]);
        assert!(away.0.lock().is_empty());
    }
}
