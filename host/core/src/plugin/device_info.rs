//! Telling again what pods have, where a restart of the node took the files that told it.

use super::Plugin;
use crate::device_info::{self, Tells};
use crate::units::Cause;
use std::sync::Arc;

impl Plugin {
    /// Writes the files anew that were written before the host started and are gone: the kubelet does not ask again for what
    /// it has given away, and a pod's network is made anew after a restart of the node. In the background.
    pub(super) fn write_device_info_again(&self) {
        let files = self.core.allocations.files().filter(|files| !files.has_seen_all());
        let Some(files) = files.filter(|_| self.policy().containers.device_info) else {
            return;
        };
        // One that is another by now is not told of before it is again what it was.
        let units = self.units.inventory().all().filter(|(.., unit)| !self.units.has(&unit.id, Cause::HeldAsOther));
        for (resource, pool, unit) in units {
            let ids = files.lost(resource, &unit.id);
            if ids.is_empty() {
                continue;
            }
            let (files, grants, core) = (files.clone(), Arc::clone(&self.calls.grants), Arc::clone(&self.core));
            let (resource, unit, shared) = (resource.clone(), Arc::clone(unit), pool.shared_nodes.clone());
            tokio::spawn(async move {
                let (name, id) = (grants.policy.name.clone(), [unit.id.clone()]);
                // An allocation in between tells of it, too.
                let _turn = core.held_units.locks.lock(&id).await;
                let write = move || {
                    let text = device_info::of_unit(&grants.node, &unit, &shared).map_err(|why| why.to_string())?;
                    let tells = |id| Tells::new(&resource, id, &unit.id, text.clone());
                    let again = files.write_again(&ids.into_iter().map(tells).collect::<Vec<_>>());
                    again.map_err(|why| why.to_string())
                };
                let written = tokio::task::spawn_blocking(write).await;
                if let Err(why) = written.unwrap_or_else(|error| Err(error.to_string())) {
                    let [id] = &id;
                    tracing::error!(
                        plugin = name.as_str(),
                        family = "host",
                        "plugin {name}: device-info of {id}, which a pod may have, was not written again: {why}"
                    );
                }
            });
        }
    }
}
