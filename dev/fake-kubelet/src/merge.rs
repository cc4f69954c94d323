//! What a container starts with: the replies of all its resources as one (`pod_devices.go`, deviceRunContainerOptions).

use std::collections::{BTreeMap, BTreeSet};

use super::KubeletVersion;
use devgate_kubelet::api;

/// What the container runtime gets. Where two resources say something about the same key, path or name, the first seen
/// wins and the conflict is only logged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOptions {
    /// Environment variables.
    pub envs: BTreeMap<String, String>,
    /// Mounts by container path.
    pub mounts: BTreeMap<String, api::Mount>,
    /// Device nodes by container path.
    pub devices: BTreeMap<String, api::DeviceSpec>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// CDI device names.
    pub cdi_devices: BTreeSet<String>,
    /// What a later resource wanted otherwise: key, path or name.
    pub conflicts: Vec<String>,
}

impl RunOptions {
    /// Adds a resource's reply. The kubelet goes through the resources in random order.
    pub(super) fn add(&mut self, reply: &api::ContainerAllocateResponse, version: KubeletVersion) {
        let Self { envs, mounts, devices, annotations, cdi_devices, conflicts } = self;
        for (key, value) in &reply.envs {
            first(envs, key, value, conflicts);
        }
        for device in &reply.devices {
            first(devices, &device.container_path, device, conflicts);
        }
        for mount in &reply.mounts {
            first(mounts, &mount.container_path, mount, conflicts);
        }
        for (key, value) in &reply.annotations {
            first(annotations, key, value, conflicts);
        }
        if version.passes_cdi() {
            cdi_devices.extend(reply.cdi_devices.iter().map(|device| device.name.clone()));
        }
    }
}

fn first<T: Clone + PartialEq>(map: &mut BTreeMap<String, T>, key: &str, value: &T, conflicts: &mut Vec<String>) {
    match map.get(key) {
        Some(seen) if seen == value => {}
        Some(_) => {
            tracing::warn!(key, "two resources disagree; the first is used");
            conflicts.push(key.to_owned());
        }
        None => {
            map.insert(key.to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_seen_wins_and_the_conflict_is_kept() {
        let reply = |value: &str| api::ContainerAllocateResponse {
            envs: [("A".to_owned(), value.to_owned()), (format!("B_{value}"), String::new())].into(),
            ..Default::default()
        };
        let mut options = RunOptions::default();
        options.add(&reply("1"), KubeletVersion::default());
        options.add(&reply("1"), KubeletVersion::default());
        assert_eq!(options.conflicts, Vec::<String>::new());
        options.add(&reply("2"), KubeletVersion::default());
        assert_eq!(options.envs["A"], "1");
        assert!(options.envs.contains_key("B_2"));
        assert_eq!(options.conflicts, ["A"]);
    }

    #[test]
    fn cdi_names_reach_the_runtime_once_each_and_from_1_29_on() {
        let name = |name: &str| api::CdiDevice { name: name.to_owned() };
        let reply = api::ContainerAllocateResponse {
            cdi_devices: vec![name("vendor.com/gpu=0"), name("vendor.com/gpu=0")],
            ..Default::default()
        };
        for (minor, count) in [(28, 0), (29, 1)] {
            let mut options = RunOptions::default();
            options.add(&reply, KubeletVersion::minor(minor));
            assert_eq!(options.cdi_devices.len(), count);
        }
    }
}
