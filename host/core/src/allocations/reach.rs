//! What of all that was handed out a write would act on.

use super::Allocations;
use crate::units::HeldByOther;
use devgate_node::DevicePath;
use devgate_types::{UnitId, escape};
use std::collections::BTreeSet;

impl Allocations {
    /// The first thing that was handed out and that one of these devices is, contains or is a part of; but for these ids where
    /// they are made of nothing else than `own`. A pod may have it whether or not a plugin looks after it: one that could not
    /// be loaded, or is not in the policy any more, claims nothing.
    pub(crate) fn reached_by(
        &self,
        devices: &[DevicePath],
        ids: &BTreeSet<UnitId>,
        own: &BTreeSet<DevicePath>,
    ) -> Option<HeldByOther> {
        let known = self.lock();
        known.book.contents().records().find_map(|((resource, id), unit)| {
            let is_own = |at: &str| own.iter().any(|device| device.location() == at);
            if ids.iter().any(|own| own.as_str() == id) && unit.backing().all(is_own) {
                return None;
            }
            let place = unit.places().find(|at| devices.iter().any(|device| touch(at, device.location())))?;
            Some(HeldByOther {
                of: format!("resource {}", escape(resource, 80)),
                id: escape(id, 80),
                device: escape(place.rsplit('/').next().unwrap_or_default(), 80),
            })
        })
    }
}

/// Whether two places are the same, or one is beneath the other.
fn touch(a: &str, b: &str) -> bool {
    let beneath = |low: &str, high: &str| low.strip_prefix(high).is_some_and(|rest| rest.starts_with('/'));
    a == b || beneath(a, b) || beneath(b, a)
}
