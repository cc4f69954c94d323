//! What was handed out, held against what is there now: whether an id still means what it meant, and what a write would act on.

use super::record::AllocatedUnit;
use super::{Allocations, key};
use crate::units::{HeldByOther, PoolRecord, UnitRecord};
use devgate_node::DevicePath;
use devgate_policy::PluginPolicy;
use devgate_types::{ResourceName, UnitId, escape};
use std::collections::BTreeSet;

impl Allocations {
    /// Whether an id was handed out, and is for who has it what it was then.
    pub(crate) fn is_as_handed_out(
        &self,
        resource: &ResourceName,
        pool: &PoolRecord,
        unit: &UnitRecord,
        policy: &PluginPolicy,
    ) -> bool {
        let (known, key) = (self.lock(), key(resource, unit));
        let Some(then) = known.book.contents().record(&key) else {
            return false;
        };
        let now = AllocatedUnit::of(unit, &pool.shared_nodes, policy);
        then.other_hardware(&now, known.keeps_paths(&key)).is_none()
    }

    /// What a kept answer of the kubelet would do now that it did not do then, if anything: this id's hardware is another, or
    /// another id had this hardware.
    pub(crate) fn drift(
        &self,
        resource: &ResourceName,
        pool: &PoolRecord,
        unit: &UnitRecord,
        policy: &PluginPolicy,
    ) -> Option<String> {
        let (key, now) = (key(resource, unit), AllocatedUnit::of(unit, &pool.shared_nodes, policy));
        let known = self.lock();
        let then = known.book.contents().record(&key);
        let difference = then.and_then(|then| then.difference(&now, known.keeps_paths(&key)));
        if difference.is_some() {
            return difference;
        }
        let clash = known.past.clash(&key, &now)?;
        let (resource, id) = clash.of;
        Some(format!(
            "its {} was handed out as {} of {}, which a pod may still have; see docs/operate.md",
            clash.what,
            escape(id, 80),
            escape(resource, 80)
        ))
    }

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
            let place = unit.own_places().find(|at| devices.iter().any(|device| touch(at, device.location())))?;
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
