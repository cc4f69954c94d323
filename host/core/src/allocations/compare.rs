//! Whether an id still means what it meant when it was handed out.

use super::record::AllocatedUnit;
use super::{Allocations, key};
use crate::units::{PoolRecord, UnitRecord};
use devgate_policy::PluginPolicy;
use devgate_types::{ResourceName, escape};

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
}
