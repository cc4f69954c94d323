//! The CDI specification that `nvidia-ctk cdi generate` writes on the node: by which names a container runtime knows GPUs and MIG
//! instances. It is the only text on a node that has the UUIDs of instances.
//!
//! Read are the devices' names and their nodes. JSON is read as such; of YAML what that program writes: block style, keys in
//! alphabetical order, two spaces for each level.

use devgate_sdk::{Error, files};
use serde_json::Value;
use std::collections::BTreeSet;

/// The most that is read of a specification. One of 8 GPUs with 56 instances has some 100 KiB.
const MAX_BYTES: u32 = 1 << 20;
/// Nodes of this directory open instances.
const CAPABILITIES: &str = "/dev/nvidia-caps/";

/// What the specification has.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Specification {
    devices: Vec<Device>,
}

#[derive(Debug, Default, PartialEq)]
struct Device {
    name: String,
    nodes: BTreeSet<String>,
}

impl Specification {
    /// Reads a specification.
    ///
    /// # Errors
    /// The host's, and `invalid` for one without devices.
    pub(crate) fn read(path: &str) -> Result<Self, Error> {
        let bytes = files::read(path, 0, MAX_BYTES)?;
        let specification = Self::parse(&String::from_utf8_lossy(&bytes));
        specification.ok_or_else(|| Error::invalid(format!("file {path}: has no devices of a CDI specification")))
    }

    fn parse(text: &str) -> Option<Self> {
        let devices = match text.parse::<Value>() {
            Ok(json) => json.get("devices")?.as_array()?.iter().filter_map(of_json).collect(),
            Err(_) => of_yaml(text),
        };
        let devices: Vec<Device> = devices;
        (!devices.is_empty()).then_some(Self { devices })
    }

    /// The name of what is opened by exactly these nodes of GPUs and instances, the common ones aside: the UUID where it has one.
    pub(crate) fn name_of(&self, nodes: &[String]) -> Option<&str> {
        let wanted: BTreeSet<&str> = nodes.iter().map(String::as_str).collect();
        let is_it = |device: &&Device| device.own_nodes().collect::<BTreeSet<_>>() == wanted;
        let names = || self.devices.iter().filter(is_it).map(|device| device.name.as_str());
        // `all` is one GPU where there is only one.
        let named = || names().filter(|name| *name != "all");
        named().find(|name| is_uuid(name)).or_else(|| named().next())
    }
}

/// Whether a name is that of a GPU or an instance for good.
pub(crate) fn is_uuid(name: &str) -> bool {
    name.starts_with("GPU-") || name.starts_with("MIG-")
}

impl Device {
    /// The nodes that only this device, or its parts, need.
    fn own_nodes(&self) -> impl Iterator<Item = &str> {
        let is_own = |path: &&str| {
            let gpu = path.strip_prefix("/dev/nvidia");
            path.starts_with(CAPABILITIES) || gpu.is_some_and(|minor| minor.parse::<u32>().is_ok())
        };
        self.nodes.iter().map(String::as_str).filter(is_own)
    }
}

fn of_json(device: &Value) -> Option<Device> {
    let nodes = device.pointer("/containerEdits/deviceNodes").and_then(Value::as_array);
    let path = |node: &Value| Some(node.get("path")?.as_str()?.to_owned());
    Some(Device {
        name: device.get("name")?.as_str()?.to_owned(),
        nodes: nodes.into_iter().flatten().filter_map(path).collect(),
    })
}

fn of_yaml(text: &str) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    let lines = text.lines().skip_while(|line| *line != "devices:").skip(1);
    for line in lines.take_while(|line| line.starts_with(['-', ' '])) {
        if line.starts_with('-') {
            devices.push(Device::default());
        }
        let Some(device) = devices.last_mut() else { continue };
        let indented = line.len() - line.trim_start_matches(['-', ' ']).len();
        let Some((key, value)) = line.trim_start_matches(['-', ' ']).split_once(": ") else {
            continue;
        };
        let value = value.trim().trim_matches(['"', '\'']);
        match (key, indented) {
            ("name", 2) => value.clone_into(&mut device.name),
            ("path", 6) => {
                device.nodes.insert(value.to_owned());
            }
            _ => {}
        }
    }
    devices.retain(|device| !device.name.is_empty());
    devices
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "\
---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  env:
  - NVIDIA_VISIBLE_DEVICES=void
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/nvidia-caps/nvidia-cap21
    - path: /dev/nvidia-caps/nvidia-cap22
    hooks:
    - args:
      - nvidia-cdi-hook
      hookName: createContainer
      path: /usr/bin/nvidia-cdi-hook
  name: \"0:0\"
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/nvidia-caps/nvidia-cap21
    - path: /dev/nvidia-caps/nvidia-cap22
  name: MIG-27f1e4f5-8b6c-5a3d-9f02-1c4e6a8b0d21
- containerEdits:
    deviceNodes:
    - path: /dev/dri/card1
    - path: /dev/nvidia1
  name: GPU-1c9f602b-7d4e-4f83-8a21-3b5c7d9e1f23
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia1
  name: all
kind: nvidia.com/gpu
";

    fn caps(numbers: [u32; 2]) -> Vec<String> {
        let caps = numbers.map(|number| format!("/dev/nvidia-caps/nvidia-cap{number}"));
        std::iter::once("/dev/nvidia0".to_owned()).chain(caps).collect()
    }

    fn check(specification: &Specification) {
        let instance = specification.name_of(&caps([21, 22]));
        assert_eq!(instance, Some("MIG-27f1e4f5-8b6c-5a3d-9f02-1c4e6a8b0d21"));
        let whole = specification.name_of(&["/dev/nvidia1".to_owned()]);
        assert_eq!(whole, Some("GPU-1c9f602b-7d4e-4f83-8a21-3b5c7d9e1f23"));
        assert_eq!(specification.name_of(&["/dev/nvidia0".to_owned()]), None, "cut into instances");
        assert_eq!(specification.name_of(&caps([21, 23])), None);
    }

    #[test]
    fn what_opens_a_device_has_its_name() {
        let yaml = Specification::parse(YAML).unwrap();
        check(&yaml);
        let device = |device: &Device| {
            let nodes: Vec<Value> = device.nodes.iter().map(|path| serde_json::json!({"path": path})).collect();
            serde_json::json!({"name": device.name, "containerEdits": {"deviceNodes": nodes}})
        };
        let devices: Vec<Value> = yaml.devices.iter().map(device).collect();
        let json = serde_json::json!({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices});
        check(&Specification::parse(&json.to_string()).unwrap());
        let by_index = YAML.replace("MIG-27f1e4f5-8b6c-5a3d-9f02-1c4e6a8b0d21", "\"another\"");
        let by_index = Specification::parse(&by_index).unwrap();
        assert_eq!(by_index.name_of(&caps([21, 22])), Some("0:0"));
    }

    #[test]
    fn what_is_no_specification_has_no_devices() {
        for text in
            ["", "{}", "[]", "devices:\n", "devices: []\n", "- name: x\n", "devices:\n- path: /dev/x\nname: y\n"]
        {
            assert_eq!(Specification::parse(text), None, "{text}");
        }
    }
}
