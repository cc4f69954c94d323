//! A list of devices as the bytes of a `ListAndWatchResponse`: encoded once per change, compared, measured and sent as
//! bytes, which all streams share.

use bytes::{BufMut, Bytes, BytesMut};
use devgate_core::offer::{Device, DeviceList};

use devgate_kubelet::api;

/// The largest list that is sent. The kubelet drops the stream, and with it the resource, at 4 MiB.
pub(crate) const LARGEST_LIST: usize = 3_670_016;

/// What gRPC puts before a message: whether it is compressed, and its length in four bytes.
const HEAD: usize = 5;

/// A `ListAndWatchResponse` that is encoded already, with gRPC's head. Clones are the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EncodedList(Bytes);

impl Default for EncodedList {
    /// No devices.
    fn default() -> Self {
        Self(Bytes::from_static(&[0; HEAD]))
    }
}

/// A list that the kubelet would not receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "list of {devices} devices takes {bytes} bytes, more than the {LARGEST_LIST} that are sent to the kubelet, which \
     drops the resource at 4 MiB; offer fewer devices or replicas, or use shorter ids"
)]
pub(crate) struct ListTooLarge {
    devices: usize,
    bytes: usize,
}

impl EncodedList {
    /// Encodes a list. Fails when it takes more than [`LARGEST_LIST`] bytes.
    pub(crate) fn try_new(list: &DeviceList) -> Result<Self, ListTooLarge> {
        let mut bytes = BytesMut::with_capacity(HEAD + list.devices.len() * 64);
        bytes.put_bytes(0, HEAD);
        for device in each_once(&list.devices) {
            prost::encoding::message::encode(1, &message(device), &mut bytes);
        }
        let too_large = ListTooLarge { devices: list.devices.len(), bytes: bytes.len() - HEAD };
        let length = u32::try_from(too_large.bytes).map_err(|_| too_large)?;
        if too_large.bytes > LARGEST_LIST {
            return Err(too_large);
        }
        if let Some(head) = bytes.get_mut(1..HEAD) {
            head.copy_from_slice(&length.to_be_bytes());
        }
        Ok(Self(bytes.freeze()))
    }

    /// The message's length on the wire.
    pub(crate) fn len(&self) -> usize {
        self.0.len() - HEAD
    }

    /// The message with gRPC's head: the same bytes for all who ask.
    pub(crate) fn framed(&self) -> Bytes {
        self.0.clone()
    }
}

/// The devices with each id once. Lists come sorted, so a repeated id stands beside itself; the kubelet would count it
/// twice if its health differs, so the unhealthy one wins.
fn each_once(devices: &[Device]) -> impl Iterator<Item = &Device> {
    devices
        .chunk_by(|a, b| a.id == b.id)
        .filter_map(|same| same.iter().find(|d| d.unhealthy.is_some()).or(same.first()))
}

fn message(device: &Device) -> api::Device {
    let node = |&node: &u32| api::NumaNode { id: i64::from(node) };
    let health = if device.unhealthy.is_none() { api::HEALTHY } else { api::UNHEALTHY };
    api::Device {
        id: device.id.clone(),
        health: health.to_owned(),
        // No node is no topology: an empty one would say the same, node -1 would not.
        topology: (!device.numa_nodes.is_empty())
            .then(|| api::TopologyInfo { nodes: device.numa_nodes.iter().map(node).collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message as _;
    use std::collections::BTreeSet;

    fn device(id: &str, unhealthy: Option<&str>, numa: &[u32]) -> Device {
        Device {
            id: id.to_owned(),
            unhealthy: unhealthy.map(Into::into),
            numa_nodes: BTreeSet::from_iter(numa.iter().copied()),
            ..Device::default()
        }
    }

    fn decoded(devices: Vec<Device>) -> Vec<api::Device> {
        let encoded = EncodedList::try_new(&DeviceList { devices }).unwrap();
        api::ListAndWatchResponse::decode(encoded.framed().slice(HEAD..)).unwrap().devices
    }

    #[test]
    fn a_device_says_its_health_and_its_nodes() {
        let devices = decoded(vec![device("a", None, &[0]), device("b", Some("hot"), &[]), device("c", None, &[0, 3])]);
        let nodes = |d: &api::Device| d.topology.as_ref().map(|t| t.nodes.iter().map(|n| n.id).collect::<Vec<_>>());
        assert_eq!(devices.iter().map(|d| d.health.as_str()).collect::<Vec<_>>(), ["Healthy", "Unhealthy", "Healthy"]);
        assert_eq!(devices.iter().map(nodes).collect::<Vec<_>>(), [Some(vec![0]), None, Some(vec![0, 3])]);
    }

    #[test]
    fn the_head_of_grpc_says_the_length() {
        let list = DeviceList { devices: vec![device("a", None, &[])] };
        let framed = EncodedList::try_new(&list).unwrap().framed();
        assert_eq!(framed[..HEAD], [0, 0, 0, 0, 14]);
        assert_eq!(framed.len(), HEAD + 14);
    }

    #[test]
    fn an_id_is_sent_once_and_unhealthy_wins() {
        let devices = decoded(vec![device("a", None, &[]), device("a", Some("hot"), &[]), device("b", None, &[])]);
        assert_eq!(devices.len(), 2);
        assert_eq!(devices[0].health, api::UNHEALTHY);
    }

    #[test]
    fn an_empty_list_is_an_empty_message() {
        assert_eq!(EncodedList::try_new(&DeviceList::default()).unwrap(), EncodedList::default());
    }

    #[test]
    fn a_list_that_the_kubelet_would_drop_is_refused() {
        // 8 byte ids: 21 bytes each, and 2 of framing.
        let list = |n: usize| DeviceList { devices: (0..n).map(|i| device(&format!("{i:08}"), None, &[])).collect() };
        let most = LARGEST_LIST / 21;
        let encoded = EncodedList::try_new(&list(most)).unwrap();
        assert!(encoded.len() <= LARGEST_LIST && encoded.len() > LARGEST_LIST - 21);
        let error = EncodedList::try_new(&list(most + 1)).unwrap_err();
        assert!(error.to_string().contains("drops the resource at 4 MiB"), "{error}");
    }
}
