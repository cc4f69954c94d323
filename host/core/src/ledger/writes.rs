//! Writing to hardware that others may be touched by: never while one of them is held, and none is handed out meanwhile.

use super::{Ledger, PluginIndex};
use crate::units::HeldByOther;
use devgate_node::DevicePath;
use devgate_types::{Mutex, UnitId};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Writes that are under way. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Writes(Arc<Mutex<Vec<Arc<Area>>>>);

/// What a write may act on, and the units that it is about.
struct Area {
    index: PluginIndex,
    ids: BTreeSet<UnitId>,
    devices: Vec<DevicePath>,
}

/// A write under way; it is over when this is dropped.
pub(crate) struct Writing {
    writes: Writes,
    area: Arc<Area>,
}

/// A write that is to begin.
pub(crate) struct Intent<'a> {
    /// Whose.
    pub(crate) index: PluginIndex,
    /// The units that it is about.
    pub(crate) ids: BTreeSet<UnitId>,
    /// What it may act on.
    pub(crate) devices: Vec<DevicePath>,
    /// Cancelled when it is not waited for any more.
    pub(crate) given_up: &'a CancellationToken,
    /// Whose else's such devices are, though no plugin holds them now.
    pub(crate) reached: &'a dyn Fn(&[DevicePath]) -> Option<HeldByOther>,
}

/// Why nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotWritten {
    /// Another consumer's unit is among what the write would act on.
    #[error("it would act on {}, and {} of {} is given to a container", .0.device, .0.id, .0.of)]
    Held(HeldByOther),
    /// The call is not waited for any more: what it is about may be another consumer's by now.
    #[error("this call is not waited for any more")]
    Late,
}

impl Area {
    fn is_about(&self, index: PluginIndex, id: &UnitId) -> bool {
        self.index == index && self.ids.contains(id)
    }

    /// The first of these devices that the write may act on: one of the area, beneath one, or above one.
    fn reaches<'d>(&self, backing: &'d [DevicePath]) -> Option<&'d DevicePath> {
        backing.iter().find(|device| self.devices.iter().any(|area| device.touches(area)))
    }
}

impl Writes {
    /// Whether a unit may be touched by a write that is under way, be it about that very unit: the caller of one that
    /// hangs has given up, or it would not ask for the unit.
    pub(super) fn reach(&self, backing: &[DevicePath]) -> bool {
        self.0.lock().iter().any(|area| area.reaches(backing).is_some())
    }
}

impl Ledger {
    /// Begins a write; refused if a unit that another consumer holds is among what it may act on. Until it is over, no unit among
    /// that is handed out.
    pub(crate) fn begin_write(&self, intent: Intent<'_>) -> Result<Writing, NotWritten> {
        let Intent { index, ids, devices, given_up, reached } = intent;
        let area = Arc::new(Area { index, ids, devices });
        // Held while the write is noted: what is handed out before counts, what would be after sees the note. Who gives up
        // waiting and hands the unit out does so before, and is seen here, or after.
        let plugins = self.lock();
        if given_up.is_cancelled() {
            return Err(NotWritten::Late);
        }
        for (n, entry) in plugins.iter().enumerate() {
            // What was handed out before the host started may still be in a pod.
            let remembered = entry.footprints.iter().filter(|footprint| footprint.remembered);
            let held = entry.held.values().chain(remembered);
            for footprint in held.filter(|footprint| !area.is_about(PluginIndex(n), &footprint.id)) {
                if let Some(device) = area.reaches(&footprint.backing) {
                    return Err(NotWritten::Held(HeldByOther {
                        of: format!("plugin {}", entry.name),
                        id: footprint.id.to_string(),
                        device: device.name().to_owned(),
                    }));
                }
            }
        }
        if let Some(other) = reached(&area.devices) {
            return Err(NotWritten::Held(other));
        }
        let writes = self.writes.clone();
        writes.0.lock().push(Arc::clone(&area));
        drop(plugins);
        Ok(Writing { writes, area })
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.writes.0.lock().retain(|area| !Arc::ptr_eq(area, &self.area));
    }
}
