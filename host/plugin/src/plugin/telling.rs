//! Telling again what pods have, where a restart of the node took the files that told it.

use super::Plugin;
use crate::device_info::{self, Tells};
use std::sync::Arc;

impl Plugin {
    /// Writes the files anew that were written before the host started and are gone: the kubelet does not ask again for what
    /// it has given away, and a pod's network is made anew after a restart of the node. In the background.
    pub(super) fn tell_again(&self) {
        let files = self.core.memory.files().filter(|files| !files.has_seen_all());
        let Some(files) = files.filter(|_| self.policy().containers.device_info()) else {
            return;
        };
        for (resource, pool) in &self.inventory.pools {
            for unit in &pool.units {
                let ids = files.lost(resource, &unit.id);
                if ids.is_empty() || self.drifted.contains_key(&unit.id) {
                    continue;
                }
                let (files, grants) = (files.clone(), Arc::clone(&self.calls.grants));
                let (resource, unit, shared) = (resource.clone(), Arc::clone(unit), pool.shared_nodes.clone());
                tokio::task::spawn_blocking(move || {
                    let written = device_info::of_unit(&grants.node, &unit, &shared).and_then(|text| {
                        let tells = |id| Tells {
                            resource: resource.clone(),
                            id,
                            unit: unit.id.clone(),
                            text: text.clone(),
                        };
                        files.write(&ids.into_iter().map(tells).collect::<Vec<_>>())
                    });
                    if let Err(why) = written {
                        let (name, id) = (&grants.policy.name, &unit.id);
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
}
