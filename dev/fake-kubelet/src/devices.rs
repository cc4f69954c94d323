//! What the kubelet knows of devices and of who has them.

use std::collections::{BTreeMap, BTreeSet};

use devgate_kubelet::api;

/// The devices of one resource: two sets, as in the kubelet, so that an id listed with both healths is in both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Devices {
    pub(super) healthy: BTreeSet<String>,
    pub(super) unhealthy: BTreeSet<String>,
    pub(super) numa: BTreeMap<String, BTreeSet<i64>>,
}

impl Devices {
    pub(super) fn from_list(list: &api::ListAndWatchResponse) -> Self {
        let (healthy, unhealthy) = super::split(list);
        let nodes = |d: &api::Device| d.topology.iter().flat_map(|t| &t.nodes).map(|n| n.id).collect();
        Self { healthy, unhealthy, numa: list.devices.iter().map(|d| (d.id.clone(), nodes(d))).collect() }
    }

    pub(super) fn all_unhealthy(&mut self) {
        self.unhealthy.append(&mut self.healthy);
    }

    pub(super) fn by_id(&self) -> BTreeMap<String, (bool, BTreeSet<i64>)> {
        let ids = self.healthy.iter().map(|id| (id, true)).chain(self.unhealthy.iter().map(|id| (id, false)));
        ids.map(|(id, healthy)| (id.clone(), (healthy, self.numa.get(id).cloned().unwrap_or_default()))).collect()
    }
}

/// What one container has of one resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Allocation {
    pub(super) ids: BTreeSet<String>,
    /// The plugin's reply, which every start of the container uses again.
    pub(super) reply: api::ContainerAllocateResponse,
}

/// Pod, container and resource of an allocation.
pub(super) type Allocations = BTreeMap<String, BTreeMap<String, BTreeMap<String, Allocation>>>;

/// The node's devices and pods. All but `advertised` and `active` is what the checkpoint keeps.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Node {
    pub(super) devices: BTreeMap<String, Devices>,
    pub(super) pods: Allocations,
    /// Capacity and allocatable as the API server has them. Never removed, only set to 0.
    pub(super) advertised: BTreeMap<String, (usize, usize)>,
    /// Pods that are there; the others' devices are freed when a pod asks for devices.
    pub(super) active: BTreeSet<String>,
}

impl Node {
    /// The plugin of a resource has been away for too long.
    pub(super) fn forget(&mut self, resource: &str) {
        self.devices.remove(resource);
        self.advertised.insert(resource.to_owned(), (0, 0));
    }

    pub(super) fn advertise(&mut self) {
        for (resource, devices) in &self.devices {
            let healthy = devices.healthy.len();
            self.advertised.insert(resource.clone(), (healthy + devices.unhealthy.len(), healthy));
        }
    }

    pub(super) fn allocated(&self, resource: &str) -> BTreeSet<String> {
        let containers = self.pods.values().flat_map(BTreeMap::values);
        containers.filter_map(|c| c.get(resource)).flat_map(|a| a.ids.iter().cloned()).collect()
    }

    /// Frees what pods have that are gone. There is no call to a plugin for this.
    pub(super) fn free_removed(&mut self) {
        self.pods.retain(|pod, _| self.active.contains(pod));
    }
}
