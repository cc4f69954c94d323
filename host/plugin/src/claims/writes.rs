//! Writing to hardware that others may be touched by: never while one of them is held, and none is handed out meanwhile.

use super::{Ledger, Place};
use devgate_model::UnitId;
use devgate_node::DevicePath;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Writes that are under way. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Writes(Arc<Mutex<Vec<Arc<Area>>>>);

/// What a write may act on, and the units that it is about.
struct Area {
    place: Place,
    ids: BTreeSet<UnitId>,
    devices: Vec<DevicePath>,
}

/// A write under way; it is over when this is dropped.
pub(crate) struct Writing {
    writes: Writes,
    area: Arc<Area>,
}

/// Somebody else's unit that a write would act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldByOther {
    pub(crate) plugin: String,
    pub(crate) id: UnitId,
    /// The part of it that the write would act on.
    pub(crate) device: DevicePath,
}

impl Area {
    fn is_about(&self, place: Place, id: &UnitId) -> bool {
        self.place == place && self.ids.contains(id)
    }

    /// The first of these devices that the write may act on: one of the area, beneath one, or above one.
    fn reaches<'d>(&self, backing: &'d [DevicePath]) -> Option<&'d DevicePath> {
        let touches = |a: &DevicePath, b: &DevicePath| a == b || a.is_beneath(b) || b.is_beneath(a);
        backing
            .iter()
            .find(|device| self.devices.iter().any(|area| touches(device, area)))
    }
}

impl Writes {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Area>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a unit may be touched by a write that is under way and not about it.
    pub(super) fn reach(&self, place: Place, id: &UnitId, backing: &[DevicePath]) -> bool {
        let others = |area: &&Arc<Area>| !area.is_about(place, id);
        self.lock()
            .iter()
            .filter(others)
            .any(|area| area.reaches(backing).is_some())
    }
}

impl Ledger {
    /// Begins a write that is about these units of a plugin and may act on these devices; refused if a unit that somebody else
    /// holds is among what it acts on. Until it is over, no such unit is held.
    pub(crate) fn begin_write(
        &self,
        place: Place,
        ids: BTreeSet<UnitId>,
        devices: Vec<DevicePath>,
    ) -> Result<Writing, HeldByOther> {
        let area = Arc::new(Area { place, ids, devices });
        // Held while the write is noted: what is handed out before counts, what would be after sees the note.
        let plugins = self.lock();
        for (n, entry) in plugins.iter().enumerate() {
            // What was handed out before the host started may still be in a pod, whoever has not said otherwise.
            let remembered = entry.claims.iter().filter(|claim| claim.remembered);
            let held = entry.held.values().chain(remembered);
            for claim in held.filter(|claim| !area.is_about(Place(n), &claim.id)) {
                if let Some(device) = area.reaches(&claim.backing) {
                    return Err(HeldByOther {
                        plugin: entry.name.clone(),
                        id: claim.id.clone(),
                        device: device.clone(),
                    });
                }
            }
        }
        let writes = self.writes.clone();
        writes.lock().push(Arc::clone(&area));
        drop(plugins);
        Ok(Writing { writes, area })
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.writes.lock().retain(|area| !Arc::ptr_eq(area, &self.area));
    }
}
