//! Telling which device an id is, before it is handed out.

use super::{LOOK_PATIENCE, Resource};
use crate::calls::Calls;
use crate::device_info::{self, NotWritten, Tells};
use crate::offer::AllocateError;
use crate::replica::split_replica;
use crate::unit_table::Snapshot;
use crate::units::UnitRecord;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Resource {
    /// Writes a file for each of these ids, where the policy asks for it (`containers.device-info`) and the host has a place
    /// for it. `ids` are as they are offered. Fails where one is not written: the plugin that makes the pod's network would take another
    /// device, or none.
    pub(super) async fn tell(
        &self,
        calls: &Calls,
        snapshot: &Snapshot,
        units: &[Arc<UnitRecord>],
        ids: &[String],
    ) -> Result<(), AllocateError> {
        let policy = &calls.grants.policy;
        let Some(files) = self.core.allocations.files().filter(|_| policy.containers.device_info) else {
            return Ok(());
        };
        let (grants, files) = (Arc::clone(&calls.grants), files.clone());
        let (resource, ids, replicas) = (self.name.clone(), ids.to_vec(), policy.replicas);
        let (units, shared) = (units.to_vec(), snapshot.pool.shared_nodes.clone());
        // However this ends: what has not begun by then would be written in vain.
        let stop = CancellationToken::new();
        let _waiting = stop.clone().drop_guard();
        let write = move || {
            let mut all = Vec::with_capacity(ids.len());
            for unit in &units {
                let text = device_info::of_unit(&grants.node, unit, &shared);
                let text = text.map_err(|why| Problem::Refused(format!("device {}: {why}", unit.id)))?;
                let is_of =
                    |id: &&String| split_replica(id, replicas).is_some_and(|(base, _)| base == unit.id.as_str());
                let tells = |id: &String| Tells::new(&resource, id.clone(), &unit.id, text.clone());
                all.extend(ids.iter().filter(is_of).map(tells));
            }
            files.write(&all, &stop).map_err(Problem::Host)
        };
        let patience = policy.limits.deadline.max(LOOK_PATIENCE);
        let written = calls.block(patience, write).await;
        match written.map_err(|error| self.failed(&error))? {
            Ok(()) => Ok(()),
            Err(Problem::Refused(why)) => Err(self.refused(&why)),
            Err(Problem::Host(why)) => Err(AllocateError::Host(self.says(&format!("device-info: {why}")))),
        }
    }
}

enum Problem {
    Refused(String),
    Host(NotWritten),
}
