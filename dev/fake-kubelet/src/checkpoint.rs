//! The kubelet's checkpoint file (`pkg/kubelet/cm/devicemanager/checkpoint`): what it remembers over a restart.
//!
//! The same JSON but for the checksum, which is of Go's memory layout in the kubelet and of the text here.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;
use serde_json::{Map, Value, json};

use super::devices::{Allocation, Allocations, Devices, Node};
use devgate_kubelet::api;

/// Writes the checkpoint in one step, with a temporary file beside it as the kubelet does.
pub(super) fn write(path: &Path, node: &Node) -> io::Result<()> {
    let mut entries = Vec::new();
    for (pod, containers) in &node.pods {
        for (container, resources) in containers {
            for (resource, allocation) in resources {
                entries.push(json!({
                    "PodUID": pod,
                    "ContainerName": container,
                    "ResourceName": resource,
                    "DeviceIDs": by_numa(node, resource, &allocation.ids),
                    "AllocResp": STANDARD.encode(allocation.reply.encode_to_vec()),
                }));
            }
        }
    }
    let registered: BTreeMap<_, _> = node.devices.iter().map(|(name, devices)| (name, &devices.healthy)).collect();
    let data = json!({ "PodDeviceEntries": entries, "RegisteredDevices": registered });
    let checksum = fnv1a(data.to_string().as_bytes());
    let temporary = path.with_file_name(format!(".{}.tmp", super::CHECKPOINT));
    std::fs::write(&temporary, json!({ "Data": data, "Checksum": checksum }).to_string())?;
    std::fs::rename(&temporary, path)
}

/// Reads the checkpoint: pods with their allocations and cached replies, and the names of resources, without devices until
/// their plugins register again. No file is an empty node.
///
/// # Errors
/// When the file cannot be read, or is not a checkpoint.
pub(super) fn read(path: &Path) -> io::Result<Node> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Node::default()),
        Err(error) => return Err(error),
    };
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("checkpoint {}: {what}", path.display()));
    let file: Value = serde_json::from_slice(&text).map_err(|error| bad(&error.to_string()))?;
    let data = file.get("Data").ok_or_else(|| bad("no Data"))?;
    if file.get("Checksum") != Some(&json!(fnv1a(data.to_string().as_bytes()))) {
        return Err(bad("checkpoint is corrupted"));
    }
    let mut pods = Allocations::new();
    for entry in data.get("PodDeviceEntries").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let reply = STANDARD.decode(text("AllocResp")).map_err(|error| bad(&error.to_string()))?;
        let reply =
            api::ContainerAllocateResponse::decode(reply.as_slice()).map_err(|error| bad(&error.to_string()))?;
        let numa = entry.get("DeviceIDs").and_then(Value::as_object).into_iter().flat_map(Map::values);
        let ids = numa.filter_map(Value::as_array).flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let container = pods.entry(text("PodUID")).or_default().entry(text("ContainerName")).or_default();
        container.insert(text("ResourceName"), Allocation { ids, reply });
    }
    let registered = data.get("RegisteredDevices").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    Ok(Node { devices: registered.map(|name| (name.clone(), Devices::default())).collect(), pods, ..Node::default() })
}

/// The ids by NUMA node, `-1` for none.
fn by_numa(node: &Node, resource: &str, ids: &BTreeSet<String>) -> BTreeMap<String, Vec<String>> {
    let numa = node.devices.get(resource).map(|devices| &devices.numa);
    let mut nodes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for id in ids {
        let of = numa.and_then(|numa| numa.get(id)).into_iter().flatten().map(ToString::to_string);
        let mut of: Vec<String> = of.collect();
        if of.is_empty() {
            of.push("-1".to_owned());
        }
        for node in of {
            nodes.entry(node).or_default().push(id.clone());
        }
    }
    nodes
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Node {
        let reply =
            api::ContainerAllocateResponse { envs: [("A".to_owned(), "1".to_owned())].into(), ..Default::default() };
        let allocation = Allocation { ids: ["a".to_owned(), "b".to_owned()].into(), reply };
        let devices = Devices {
            healthy: ["a".to_owned(), "b".to_owned()].into(),
            unhealthy: ["c".to_owned()].into(),
            numa: [("a".to_owned(), [0, 1].into())].into(),
        };
        let resource = "vendor.com/gpu".to_owned();
        let container = [("main".to_owned(), [(resource.clone(), allocation)].into())];
        Node {
            devices: [(resource, devices)].into(),
            pods: [("pod".to_owned(), container.into())].into(),
            ..Node::default()
        }
    }

    #[test]
    fn what_is_written_is_the_kubelets_json_and_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(super::super::CHECKPOINT);
        assert_eq!(read(&path).unwrap(), Node::default());
        write(&path, &node()).unwrap();
        let file: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let entry = json!({
            "PodUID": "pod",
            "ContainerName": "main",
            "ResourceName": "vendor.com/gpu",
            "DeviceIDs": {"-1": ["b"], "0": ["a"], "1": ["a"]},
            "AllocResp": "CgYKAUESATE=",
        });
        let registered = json!({"vendor.com/gpu": ["a", "b"]});
        assert_eq!(file["Data"], json!({"PodDeviceEntries": [entry], "RegisteredDevices": registered}));
        let read = read(&path).unwrap();
        assert_eq!(read.pods, node().pods);
        assert_eq!(read.devices["vendor.com/gpu"], Devices::default());
    }

    #[test]
    fn a_file_that_is_no_checkpoint_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(super::super::CHECKPOINT);
        for bad in ["", "{}", r#"{"Data":{},"Checksum":1}"#] {
            std::fs::write(&path, bad).unwrap();
            assert_eq!(read(&path).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad}");
        }
    }
}
