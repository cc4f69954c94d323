//! A driver's devices as slices.

use super::amount::amount;
use super::name::of_slice;
use super::{DEVICES, Digest};
use devgate_agent_protocol as protocol;
use k8s_openapi::api::resource::v1::{
    Device, DeviceAttribute, DeviceCapacity, DeviceTaint, ResourcePool, ResourceSliceSpec,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// A slice as it shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    /// Its devices in JSON: a tenth of what they take in the API's types.
    devices: Box<[u8]>,
    pub(crate) digest: Digest,
    /// Of how many.
    pub(crate) count: i64,
}

impl Wanted {
    /// As it is sent.
    pub(crate) fn spec(&self, driver: &str, node: &str, generation: i64) -> ResourceSliceSpec {
        // They were written a moment ago from the same types.
        let devices = serde_json::from_slice(&self.devices).unwrap_or_default();
        spec(devices, driver, node, self.count, generation)
    }
}

/// The slices of a pool: 64 devices in each, and one that is empty where there are none.
pub(crate) fn cut(devices: &[protocol::Device], driver: &str, node: &str) -> Vec<Wanted> {
    let pieces: Vec<&[protocol::Device]> = match devices {
        [] => vec![&[]],
        devices => devices.chunks(DEVICES).collect(),
    };
    let count = i64::try_from(pieces.len()).unwrap_or(i64::MAX);
    let wanted = pieces.into_iter().enumerate().map(|(index, piece)| {
        let piece: Vec<Device> = piece.iter().map(device).collect();
        let json = serde_json::to_vec(&piece).unwrap_or_default();
        Wanted {
            name: of_slice(index, driver, node),
            devices: json.into(),
            digest: Digest::of_spec(spec(piece, driver, node, count, 0)),
            count,
        }
    });
    wanted.collect()
}

/// Of what should be known soon: which devices there are, what they have and what keeps pods away. Attributes alone can wait.
pub(crate) fn pressing(devices: &[protocol::Device]) -> Digest {
    let parts: Vec<_> = devices.iter().map(|device| (&device.name, &device.capacity, &device.taints)).collect();
    Digest::of(&serde_json::to_vec(&parts).unwrap_or_default())
}

fn spec(devices: Vec<Device>, driver: &str, node: &str, count: i64, generation: i64) -> ResourceSliceSpec {
    ResourceSliceSpec {
        devices: Some(devices),
        driver: driver.to_owned(),
        node_name: Some(node.to_owned()),
        pool: ResourcePool { generation, name: node.to_owned(), resource_slice_count: count },
        ..ResourceSliceSpec::default()
    }
}

fn device(of: &protocol::Device) -> Device {
    let attributes = of.attributes.iter().map(|(name, value)| (name.clone(), attribute(value)));
    let capacity = of.capacity.iter().map(|(name, value)| {
        (name.clone(), DeviceCapacity { value: Quantity(amount(*value)), ..DeviceCapacity::default() })
    });
    let taints = of.taints.iter().map(|taint| DeviceTaint {
        effect: effect(taint.effect).to_owned(),
        key: taint.key.clone(),
        time_added: None,
        // The API server leaves out an empty one.
        value: taint.value.clone().filter(|value| !value.is_empty()),
    });
    // A list of nothing is left out, as the API server leaves it out.
    Device {
        name: of.name.clone(),
        attributes: (!of.attributes.is_empty()).then(|| attributes.collect()),
        capacity: (!of.capacity.is_empty()).then(|| capacity.collect()),
        taints: (!of.taints.is_empty()).then(|| taints.collect()),
        ..Device::default()
    }
}

fn attribute(value: &protocol::Value) -> DeviceAttribute {
    let none = DeviceAttribute::default();
    match value {
        protocol::Value::Int(int) => DeviceAttribute { int: Some(*int), ..none },
        protocol::Value::Bool(bool) => DeviceAttribute { bool: Some(*bool), ..none },
        protocol::Value::String(text) => DeviceAttribute { string: Some(text.clone()), ..none },
        protocol::Value::Version(text) => DeviceAttribute { version: Some(text.clone()), ..none },
    }
}

fn effect(of: protocol::Effect) -> &'static str {
    match of {
        protocol::Effect::None => "None",
        protocol::Effect::NoSchedule => "NoSchedule",
        protocol::Effect::NoExecute => "NoExecute",
    }
}
